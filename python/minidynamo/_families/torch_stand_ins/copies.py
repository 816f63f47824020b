"""Copies of views, and copies with one view replaced."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites import registry
from ..._composites.copies import VIEWS
from .table import TABLE, StandIn, both, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _copied(name: str) -> Callable[..., Any]:
    """The function of that name without out=, whose memory torch may resize."""
    whole = registry.functions[name]

    def copy(input: Tensor, *args: Any, **keywords: Any) -> Any:
        if "out" in keywords:
            decline(f"{name} with out=")
        if name == "view_copy" and isinstance([*args, *keywords.values()][0], minidynamo.dtype):
            decline("view_copy in another dtype")
        return whole(input, *args, **keywords)

    return copy


TABLE.extend(StandIn(f"{name}_copy", _copied(f"{name}_copy")) for name in VIEWS if not name.startswith("view_as_"))
TABLE.append(StandIn("Tensor.narrow_copy", _copied("narrow_copy")))


def _in_a_copy(name: str) -> Callable[..., Any]:
    """The function of that name, which writes into a copy: torch's has the strides of its input, gaps included."""

    def replaced(input: Tensor, src: Tensor, *args: Any, **keywords: Any) -> Any:
        if input.clone().stride() != input.stride():
            decline(f"{name} of a tensor with gaps or overlaps")
        return registry.functions[name](input, src, *args, **keywords)

    return replaced


TABLE.extend(StandIn(both(name), _in_a_copy(name)) for name in ("select_scatter", "slice_scatter", "diagonal_scatter"))


@stands_in("constant_pad_nd")
def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    return minidynamo.nn.functional.pad(input, pad, "constant", value)


@stands_in(both("resolve_neg"))
def itself(input: Tensor) -> Tensor:
    """Of a real tensor without the bit of a lazy negation."""
    return input


@stands_in(both("rot90"))
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The transposed of a tensor that lies as input does."""
    turned = minidynamo.rot90(input, k, dims)
    place = minidynamo.empty_like(input)
    return (place.transpose(*dims) if k % 2 else place).copy_(turned)


@stands_in("nn.functional.pad")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    if mode == "circular" and input.dim() > 3 and not input.is_contiguous():
        decline("circular padding in another memory format")
    if mode in ("reflect", "replicate") and input.dtype == minidynamo.bool:
        decline("bools padded with their neighbours")
    return minidynamo.nn.functional.pad(input, pad, mode, value)
