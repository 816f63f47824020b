"""Other forms of functions that we have: in place, and at the places where torch's own code calls them."""

from __future__ import annotations

import operator

import minidynamo

from ..._C import Tensor
from ..._composites import registry
from . import pointwise, scattering, series, special
from .table import TABLE, StandIn, decline, in_place, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_COMPOSITES = "addbmm addmv addr baddbmm deg2rad heaviside logit nan_to_num rad2deg sgn sinc xlogy"
_OURS: dict[str, Any] = {
    **{"digamma": special.digamma, "erfinv": pointwise.erfinv, "float_power": pointwise.float_power, "i0": special.i0},
    **{"index_reduce": scattering.index_reduce, "ldexp": pointwise.ldexp, "lgamma": special.lgamma},
    **{"masked_scatter": scattering.masked_scatter, "mvlgamma": special.mvlgamma},
    **{"polygamma": special.polygamma_of, "put": scattering.put, "renorm": series.renorm},
    **{"scatter_reduce": scattering.scatter_reduce, "true_divide": pointwise.true_divide},
}
TABLE.extend(StandIn(f"Tensor.{name}_ {name}_", in_place(registry.methods[name])) for name in _COMPOSITES.split())
TABLE.extend(StandIn(f"Tensor.{name}_ {name}_", in_place(function)) for name, function in _OURS.items())

# Of torch._C._nn and torch, with the parameters of ours or the first of them.
_FUNCTIONAL = "celu glu hardsigmoid hardswish hardtanh leaky_relu mish relu6 rms_norm selu silu threshold"
TABLE.extend(StandIn(f"_C._nn.{name} {name}", getattr(minidynamo.nn.functional, name)) for name in _FUNCTIONAL.split())
TABLE.extend(StandIn(f"special.{name} special_{name}", registry.functions[name]) for name in ("logit", "sinc", "xlogy"))


@stands_in("nn.functional.embedding_bag")
def embedding_bag(input: Tensor, weight: Tensor, *others: Any, **keywords: Any) -> Tensor:
    if not weight.is_floating_point():
        decline("embedding_bag of whole numbers")
    return minidynamo.nn.functional.embedding_bag(input, weight, *others, **keywords)


@stands_in("as_tensor")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return minidynamo.tensor(data, dtype=dtype, device=device)


@stands_in("Tensor.new_tensor")
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    if requires_grad or pin_memory or isinstance(data, Tensor):
        decline("new_tensor of a leaf or a tensor")
    return minidynamo.tensor(data, dtype=self.dtype if dtype is None else dtype)


@stands_in("is_same_size Tensor.is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    return input.shape == other.shape


def _indices(keeps: Callable[[int, int], bool]) -> Callable[..., Tensor]:
    """tril_indices or triu_indices; keeps(j - i, offset): whether (i, j) is among them."""

    def indices(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
    ) -> Tensor:
        places = [(i, j) for i in range(row) for j in range(col) if keeps(j - i, offset)]
        both = [[i for i, _ in places], [j for _, j in places]]
        return minidynamo.tensor(both, dtype=minidynamo.int64 if dtype is None else dtype)

    return indices


TABLE.append(StandIn("tril_indices", _indices(operator.le)))
TABLE.append(StandIn("triu_indices", _indices(operator.ge)))
