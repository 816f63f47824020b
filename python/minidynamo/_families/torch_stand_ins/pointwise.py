"""Element-wise functions and what makes tensors of numbers."""

from __future__ import annotations

import math

import minidynamo

from ..._C import Tensor
from .table import TABLE, StandIn, both, decline, in_place, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@stands_in("tensor")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    if requires_grad or pin_memory:
        decline("torch.tensor of a leaf, or in pinned memory")
    return minidynamo.tensor(data, dtype=dtype, device=device)


@stands_in("scalar_tensor")
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    if isinstance(s, Tensor):
        decline("scalar_tensor of a tensor")
    return minidynamo.full((), s, dtype=minidynamo.get_default_dtype() if dtype is None else dtype, device=device)


@stands_in(both("rsub"))
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return minidynamo.sub(other, input, alpha=alpha)


@stands_in("Tensor.__rsub__")
def reflected_sub(self: Tensor, other: Any) -> Tensor:
    return minidynamo.sub(other, self)


@stands_in("Tensor.__rpow__")
def reflected_pow(self: Tensor, other: Any) -> Tensor:
    return minidynamo.pow(other, self)


@stands_in(both("true_divide"))
def true_divide(input: Tensor, other: Any) -> Tensor:
    return minidynamo.div(input, other)


TABLE.append(StandIn("Tensor.true_divide_", in_place(true_divide)))


@stands_in(both("angle"))
def angle(input: Tensor) -> Tensor:
    if not input.is_floating_point():
        return minidynamo.where(input < 0, math.pi, 0.0)
    return minidynamo.where(input.isnan(), input, minidynamo.where(input < 0, math.pi, minidynamo.zeros_like(input)))


@stands_in("logspace")
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    dtype = minidynamo.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point or requires_grad or dtype.itemsize == 2:
        decline("logspace of integers or 16-bit floats")
    return minidynamo.pow(base, evenly_spaced("logspace", start, end, steps, dtype))


def evenly_spaced(op: str, start: Any, end: Any, steps: int, dtype: Any) -> Tensor:
    """As linspace, of 0-d tensors as well."""
    if not isinstance(start, Tensor) and not isinstance(end, Tensor):
        return minidynamo.linspace(start, end, steps, dtype=dtype)
    first, last = [each.to(dtype) if isinstance(each, Tensor) else each for each in (start, end)]
    if any(isinstance(each, Tensor) and each.dim() != 0 for each in (start, end)):
        decline(f"{op} between tensors with dims")
    at = minidynamo.arange(steps, dtype=dtype)
    if steps == 1:
        return at + first
    step = (last - first) / (steps - 1)
    return minidynamo.where(at < steps // 2, first + step * at, last - step * (steps - 1 - at))


@stands_in("linspace")
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    if requires_grad:
        decline("linspace of a leaf")
    dtype = minidynamo.get_default_dtype() if dtype is None else dtype
    of_tensors = isinstance(start, Tensor) or isinstance(end, Tensor)
    if of_tensors and (not dtype.is_floating_point or dtype.itemsize == 2):
        decline("linspace of integers or 16-bit floats between tensors")
    return evenly_spaced("linspace", start, end, steps, dtype)
