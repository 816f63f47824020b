"""Copies of views, and copies with one view replaced."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites import registry
from .table import TABLE, StandIn, both, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _copied(view: Callable[..., Tensor]) -> Callable[..., Any]:
    def copy(*args: Any, **keywords: Any) -> Any:
        return view(*args, **keywords).clone(memory_format=minidynamo.contiguous_format)

    return copy


def _all_copied(views: Callable[..., Any]) -> Callable[..., Any]:
    def copy(*args: Any, **keywords: Any) -> Any:
        return tuple([view.clone(memory_format=minidynamo.contiguous_format) for view in views(*args, **keywords)])

    return copy


def _alias(self: Tensor) -> Tensor:
    return self


def _as_strided(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    return self.as_strided(size, stride, storage_offset)


def _diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return self.diagonal(offset, dim1, dim2)


def _expand(self: Tensor, size: Any, *, implicit: bool = False) -> Tensor:
    return self.expand(size)


def _narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    return self.narrow(dim, start, length)


def _permute(self: Tensor, dims: Any) -> Tensor:
    return self.permute(dims)


def _select(self: Tensor, dim: int, index: int) -> Tensor:
    return self.select(dim, index)


def _squeeze(self: Tensor, dim: Any = None) -> Tensor:
    return self.squeeze() if dim is None else self.squeeze(dim)


def _t(self: Tensor) -> Tensor:
    return self.t()


def _transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return self.transpose(dim0, dim1)


def _unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return self.unfold(dimension, size, step)


def _unsqueeze(self: Tensor, dim: int) -> Tensor:
    return self.unsqueeze(dim)


def _view(self: Tensor, size: Any) -> Tensor:
    if not isinstance(size, (tuple, list)):
        decline("view_copy in another dtype")
    return self.reshape(size)


def _unbind(self: Tensor, dim: int = 0) -> Any:
    return self.unbind(dim)


def _split(self: Tensor, split_size: int, dim: int = 0) -> Any:
    return self.split(split_size, dim)


def _split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    return self.split(split_sizes, dim)


TABLE.extend(
    StandIn(f"{view.__name__[1:]}_copy", _copied(view))
    for view in (
        *(_alias, _as_strided, _diagonal, _expand, _narrow, _permute, _select, _squeeze, _t, _transpose, _unfold),
        *(_unsqueeze, _view),
    )
)
TABLE.append(StandIn("detach_copy", _copied(_alias)))
TABLE.append(StandIn("Tensor.narrow_copy", _copied(_narrow)))
TABLE.extend(
    StandIn(f"{views.__name__[1:]}_copy", _all_copied(views)) for views in (_unbind, _split, _split_with_sizes)
)


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
