"""Element-wise functions and what makes tensors of numbers."""

from __future__ import annotations

import math

import minidynamo

from ..._C import Tensor
from .table import both, decline, stands_in

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
    return minidynamo.full((), s, dtype=minidynamo.float32 if dtype is None else dtype, device=device)


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


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) else float(value)


@stands_in(both("float_power"))
def float_power(input: Any, exponent: Any) -> Tensor:
    return minidynamo.pow(_double(input), _double(exponent))


@stands_in(both("ldexp"))
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    return input * minidynamo.pow(2.0, other)


def floats(op: str, *tensors: Any) -> tuple[Any, ...]:
    """In the dtype of their result, float32 for integers; 16-bit floats are torch's."""
    given = [each for each in tensors if isinstance(each, Tensor)]
    dtype = given[0].dtype
    if any(each.dtype != dtype for each in given):
        decline(f"{op} of two dtypes")
    if not dtype.is_floating_point:
        dtype = minidynamo.float32
    if dtype.itemsize == 2:
        decline(f"{op} of 16-bit floats")
    return tuple([each.to(dtype) if isinstance(each, Tensor) else each for each in tensors])


@stands_in(both("angle"))
def angle(input: Tensor) -> Tensor:
    if not input.is_floating_point():
        return minidynamo.where(input < 0, math.pi, 0.0)
    return minidynamo.where(input.isnan(), input, minidynamo.where(input < 0, math.pi, minidynamo.zeros_like(input)))


@stands_in(both("logaddexp2"))
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    a, b = floats("logaddexp2", input, other)
    larger = minidynamo.maximum(a, b)
    added = larger + (-(a - b).abs()).exp2().log1p() * (1 / math.log(2))
    return minidynamo.where(a.isinf() & (a == b), a, added)


@stands_in("special.xlog1py special_xlog1py _C._special.special_xlog1py")
def xlog1py(input: Any, other: Any) -> Tensor:
    x, y = floats("xlog1py", input, other)
    product = x * (y.log1p() if isinstance(y, Tensor) else math.log1p(y))
    zero = minidynamo.where((x == 0) if isinstance(x, Tensor) else minidynamo.tensor(x == 0), 0.0, product)
    return minidynamo.where(y.isnan(), y, zero) if isinstance(y, Tensor) else zero


@stands_in("special.entr special_entr")
def entr(input: Tensor) -> Tensor:
    (x,) = floats("entr", input)
    below = minidynamo.where(x == 0, 0.0, -math.inf)
    return minidynamo.where(x.isnan(), x, minidynamo.where(x > 0, -x * x.log(), below.to(x.dtype)))


@stands_in("special.ndtr special_ndtr")
def ndtr(input: Tensor) -> Tensor:
    (x,) = floats("ndtr", input)
    scaled = x * math.sqrt(0.5)
    return minidynamo.where(scaled < -1.0, 0.5 * (-scaled).erfc(), 0.5 * (1 + scaled.erf()))


@stands_in(both("erfinv") + " special.erfinv")
def erfinv(input: Tensor) -> Tensor:
    (y,) = floats("erfinv", input)
    square = y * y
    middle = y * _ratio(square, _ERFINV_A, _ERFINV_B)
    tail = (-((1.0 - y.abs()) / 2.0).log()).sqrt()
    outer = minidynamo.copysign(_ratio(tail, _ERFINV_C, _ERFINV_D), y)
    x = minidynamo.where(y.abs() <= 0.7, middle, outer)
    for _ in range(2):
        x = x - (x.erf() - y) / ((2.0 / math.sqrt(math.pi)) * (-x * x).exp())
    edge = minidynamo.where(y.abs() == 1.0, minidynamo.copysign(minidynamo.full_like(y, math.inf), y), math.nan)
    return minidynamo.where(y.abs() < 1.0, x, edge)


# Rational approximations for |y| <= 0.7 and for the tail, from the constant term on; the denominators begin with 1.
_ERFINV_A = (0.886226899, -1.645349621, 0.914624893, -0.140543331)
_ERFINV_B = (-2.118377725, 1.442710462, -0.329097515, 0.012229801)
_ERFINV_C = (-1.970840454, -1.624906493, 3.429567803, 1.641345311)
_ERFINV_D = (3.543889200, 1.637067800)


def _ratio(x: Tensor, above: tuple[float, ...], below: tuple[float, ...]) -> Tensor:
    return _power_series(x, above) / (_power_series(x, below) * x + 1.0)


def _power_series(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    total = minidynamo.full_like(x, factors[-1])
    for factor in factors[-2::-1]:
        total = total * x + factor
    return total


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
    dtype = minidynamo.float32 if dtype is None else dtype
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
    dtype = minidynamo.float32 if dtype is None else dtype
    of_tensors = isinstance(start, Tensor) or isinstance(end, Tensor)
    if of_tensors and (not dtype.is_floating_point or dtype.itemsize == 2):
        decline("linspace of integers or 16-bit floats between tensors")
    return evenly_spaced("linspace", start, end, steps, dtype)
