"""Element-wise functions made of simpler ones."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import composite, in_place, is_narrow, prims, require_tensor, widened

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
    if tensor.is_floating_point():
        return tensor * value
    return tensor * minidynamo.full((), value, dtype=tensor.dtype)


@composite("function method")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    _require_alike("addcmul", input, tensor1, tensor2)
    input, tensor1, tensor2 = in_one_dtype(input, tensor1, tensor2)
    # A number of 64 bits without a sign would be taken for a negative one.
    if tensor1.dtype == minidynamo.bool or (value >= 2**63 and not tensor1.is_floating_point()):
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


def _category(tensor: Tensor) -> int:
    return 2 if tensor.is_floating_point() else 0 if tensor.dtype == minidynamo.bool else 1


def in_one_dtype(*tensors: Tensor) -> list[Tensor]:
    """Promotes as operands of one pointwise op: a 0-d tensor only counts if its kind of number is wider."""
    leading = [tensor for tensor in tensors if tensor.dim() > 0] or list(tensors)
    widest = max(_category(tensor) for tensor in leading)
    counted = leading + [tensor for tensor in tensors if tensor.dim() == 0 and _category(tensor) > widest]
    dtype = counted[0].dtype
    for tensor in counted[1:]:
        dtype = minidynamo.promote_types(dtype, tensor.dtype)
    return [tensor.to(dtype) for tensor in tensors]


def _refuse_integer_division(tensor1: Tensor, tensor2: Tensor) -> None:
    if not tensor1.is_floating_point() and not tensor2.is_floating_point():
        raise RuntimeError("[addcdiv] Integer division with addcdiv is not supported")


def _as_floating(input: Tensor) -> Tensor:
    if input.is_floating_point() or input.is_complex():
        return input
    return input.to(minidynamo.get_default_dtype())


@in_place()
@composite("function method")
def deg2rad(input: Tensor) -> Tensor:
    """Degrees as radians."""
    require_tensor("deg2rad", input)
    return _as_floating(input) * (math.pi / 180)


@in_place()
@composite("function method")
def rad2deg(input: Tensor) -> Tensor:
    """Radians as degrees."""
    require_tensor("rad2deg", input)
    return _as_floating(input) * (180 / math.pi)


@in_place()
@composite("function method")
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, of x clamped to [eps, 1 - eps]."""
    require_tensor("logit", input)
    x = _as_floating(input)
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


@in_place()
@composite("function method")
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    require_tensor("sinc", input)
    x = _as_floating(input)
    scaled = widened(x)[0] * math.pi
    # The quotient at 0 is not taken; its slope must be finite.
    divisor = minidynamo.where(scaled == 0, 1.0, scaled)
    return minidynamo.where(scaled == 0, 1.0, scaled.sin() / divisor).to(x.dtype)


@in_place()
@composite("function method")
def nan_to_num(
    input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN and the infinities replaced by numbers: by default 0 and the dtype's extremes."""
    require_tensor("nan_to_num", input)
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
        other = minidynamo.tensor(other, dtype=_as_floating(input).dtype)
    if not isinstance(input, Tensor):
        input = minidynamo.tensor(input, dtype=_as_floating(other).dtype)
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
    if input.is_floating_point():
        return prims.logaddexp(input, other)
    return prims.logaddexp(_as_floating(input), _as_floating(other))


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
    """sign: there are no complex numbers."""
    require_tensor("sgn", input)
    return input.sign()


@composite("function method")
def isposinf(input: Tensor) -> Tensor:
    """True where the element is positive infinity."""
    require_tensor("isposinf", input)
    return input == math.inf if input.is_floating_point() else minidynamo.zeros_like(input, dtype=minidynamo.bool)


@composite("function method")
def isneginf(input: Tensor) -> Tensor:
    """True where the element is negative infinity."""
    require_tensor("isneginf", input)
    return input == -math.inf if input.is_floating_point() else minidynamo.zeros_like(input, dtype=minidynamo.bool)


@composite("function method")
def isreal(input: Tensor) -> Tensor:
    """True everywhere: there are no complex numbers."""
    require_tensor("isreal", input)
    return minidynamo.ones_like(input, dtype=minidynamo.bool)


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
