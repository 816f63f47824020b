"""Element-wise functions made of simpler ones."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .._tensor.dtype_info import kind_of
from .registry import (
    as_floating,
    composite,
    in_place,
    is_inexact,
    is_narrow,
    prims,
    require_real,
    require_tensor,
    widened,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _require_alike(op: str, input: Any, tensor1: Any, tensor2: Any) -> None:
    require_tensor(op, input)
    require_tensor(op, tensor1, "tensor1")
    require_tensor(op, tensor2, "tensor2")


def _is_wide(tensor: Tensor) -> bool:
    return tensor.dtype is minidynamo.float32 or tensor.dtype is minidynamo.float64


def _scaled(tensor: Tensor, value: float) -> Tensor:
    """tensor * value in the dtype of tensor; an integer dtype must hold the value, whose fraction is dropped."""
    if value == 1:
        return tensor
    if is_inexact(tensor):
        return tensor * value
    return tensor * minidynamo.full((), value, dtype=tensor.dtype)


@composite("function method")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    _require_alike("addcmul", input, tensor1, tensor2)
    input, tensor1, tensor2 = in_one_dtype(input, tensor1, tensor2)
    if tensor1.is_complex():
        return input + _scaled(tensor1, value) * tensor2
    # A number of 64 bits without a sign would be taken for a negative one.
    if tensor1.dtype == minidynamo.bool or (value >= 2**63 and not is_inexact(tensor1)):
        return prims.addcmul(input, _scaled(tensor1, value), tensor2)
    return prims.addcmul(input, tensor1, tensor2, value)


@composite("method")
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """The in-place form of addcmul."""
    _require_alike("addcmul_", input, tensor1, tensor2)
    _, tensor1, tensor2 = in_one_dtype(input, tensor1, tensor2)
    if value != 1 and _is_wide(tensor1):
        return input.add_(tensor1 * tensor2, alpha=value)
    if is_narrow(tensor1):
        wide1, wide2 = widened(tensor1, tensor2)
        return input.copy_(input.float() + wide1 * value * wide2)
    return input.add_(_scaled(tensor1, value) * tensor2)


@composite("function method")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 / tensor2, of floating tensors."""
    _require_alike("addcdiv", input, tensor1, tensor2)
    _refuse_integer_division(tensor1, tensor2)
    input, tensor1, tensor2 = in_one_dtype(input, tensor1, tensor2)
    if tensor1.is_complex():
        return input + _scaled(tensor1, value) / tensor2
    return prims.addcdiv(input, tensor1, tensor2, value)


@composite("method")
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """The in-place form of addcdiv."""
    _require_alike("addcdiv_", input, tensor1, tensor2)
    _refuse_integer_division(tensor1, tensor2)
    _, tensor1, tensor2 = in_one_dtype(input, tensor1, tensor2)
    if value != 1 and _is_wide(tensor1):
        return input.add_(tensor1 / tensor2, alpha=value)
    if is_narrow(tensor1):
        wide1, wide2 = widened(tensor1, tensor2)
        return input.copy_(input.float() + wide1 * value / wide2)
    return input.add_(_scaled(tensor1, value) / tensor2)


def in_one_dtype(*tensors: Tensor) -> list[Tensor]:
    """Promotes as operands of one pointwise op: a 0-d tensor only counts if its kind of number is wider."""
    leading = [tensor for tensor in tensors if tensor.dim() > 0] or list(tensors)
    widest = max(kind_of(tensor.dtype) for tensor in leading)
    counted = leading + [tensor for tensor in tensors if tensor.dim() == 0 and kind_of(tensor.dtype) > widest]
    dtype = counted[0].dtype
    for tensor in counted[1:]:
        dtype = minidynamo.promote_types(dtype, tensor.dtype)
    return [tensor.to(dtype) for tensor in tensors]


def _refuse_integer_division(tensor1: Tensor, tensor2: Tensor) -> None:
    if not is_inexact(tensor1) and not is_inexact(tensor2):
        raise RuntimeError("[addcdiv] Integer division with addcdiv is not supported")


def _refuse_complex(op: str, input: Tensor, why: str) -> None:
    if input.is_complex():
        raise RuntimeError(f"[{op}] {op} {why}")


@in_place()
@composite("function method")
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    require_tensor("deg2rad", input)
    _refuse_complex("deg2rad", input, "is not supported for complex tensors.")
    return as_floating(input) * (math.pi / 180)


@in_place()
@composite("function method")
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    require_tensor("rad2deg", input)
    _refuse_complex("rad2deg", input, "is not supported for complex tensors.")
    return as_floating(input) * (180 / math.pi)


@in_place()
@composite("function method")
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, of x clamped to [eps, 1 - eps]."""
    require_tensor("logit", input)
    require_real("logit", input)
    x = as_floating(input)
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


@in_place()
@composite("function method")
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    require_tensor("sinc", input)
    x = as_floating(input)
    scaled = widened(x)[0] * math.pi
    # The quotient at 0 is not taken; its slope must be finite.
    divisor = minidynamo.where(scaled == 0, 1.0, scaled)
    return minidynamo.where(scaled == 0, 1.0, scaled.sin() / divisor).to(x.dtype)


@in_place()
@composite("function method")
def nan_to_num(
    input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and the infinities replaced by numbers: by default 0 and the dtype's extremes; of complex numbers in both
    parts."""
    require_tensor("nan_to_num", input)
    if input.is_complex():
        return minidynamo.view_as_complex(nan_to_num(minidynamo.view_as_real(input), nan, posinf, neginf))
    if not input.is_floating_point():
        return input.clone()
    extremes = minidynamo.finfo(input.dtype)
    return prims.nan_to_num(
        input,
        0.0 if nan is None else nan,
        extremes.max if posinf is None else posinf,
        extremes.min if neginf is None else neginf,
    )


@in_place()
@composite("function method")
def xlogy(input: Any, other: Any) -> Tensor:
    """input * log(other), 0 where input is 0 and other is no NaN."""
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        require_tensor("xlogy", input)
    if not isinstance(other, Tensor):
        other = minidynamo.tensor(other, dtype=as_floating(input).dtype)
    if not isinstance(input, Tensor):
        input = minidynamo.tensor(input, dtype=as_floating(other).dtype)
    require_real("xlogy", input, other)
    input, other = in_one_dtype(input, other)
    is_zero = (input == 0) & ~other.isnan() & ~((other > 0) & (other < math.inf))
    # What is not taken must have a finite slope.
    return minidynamo.where(is_zero, 0.0, input * minidynamo.where(is_zero, 1.0, other).log())


@composite("function method")
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)), without intermediate overflow."""
    require_tensor("logaddexp", input)
    require_tensor("logaddexp", other, "other")
    input, other = in_one_dtype(input, other)
    if is_inexact(input):
        return prims.logaddexp(input, other)
    return prims.logaddexp(as_floating(input), as_floating(other))


@in_place()
@composite("function method")
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where input is negative, 1 where it is positive, and values where it is 0."""
    require_tensor("heaviside", input)
    require_tensor("heaviside", values, "values")
    if input.dtype != values.dtype:
        raise RuntimeError("[heaviside] not yet implemented for tensors with different dtypes.")
    return prims.heaviside(input, values)


@in_place()
@composite("function method")
def sgn(input: Tensor) -> Tensor:
    """sign; of complex numbers z / |z|, and 0 at 0."""
    require_tensor("sgn", input)
    if not input.is_complex():
        return input.sign()
    size = input.abs()
    return minidynamo.where(size == 0, 0.0, input / size)


@composite("function method")
def isposinf(input: Tensor) -> Tensor:
    """True where the element is positive infinity; RuntimeError for complex numbers."""
    require_tensor("isposinf", input)
    _refuse_complex("isposinf", input, "does not support complex inputs.")
    return input == math.inf if input.is_floating_point() else minidynamo.zeros_like(input, dtype=minidynamo.bool)


@composite("function method")
def isneginf(input: Tensor) -> Tensor:
    """True where the element is negative infinity; RuntimeError for complex numbers."""
    require_tensor("isneginf", input)
    _refuse_complex("isneginf", input, "does not support complex inputs.")
    return input == -math.inf if input.is_floating_point() else minidynamo.zeros_like(input, dtype=minidynamo.bool)


@composite("function method")
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0: everywhere but in complex tensors."""
    require_tensor("isreal", input)
    return input.imag == 0 if input.is_complex() else minidynamo.ones_like(input, dtype=minidynamo.bool)


@composite("function method")
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    require_tensor("dist", input)
    require_tensor("dist", other, "other")
    return (input - other).norm(p)


@composite("method")
def where_of(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The elements of self where condition is true, those of other elsewhere."""
    return minidynamo.where(condition, input, other)
