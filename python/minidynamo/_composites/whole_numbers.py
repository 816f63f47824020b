"""Divisors and multiples, powers of two, neighbours among floats."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .pointwise import in_one_dtype
from .registry import composite, in_place, is_inexact, kept_from_write, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The most steps of Euclid's algorithm for n bytes, by n: those of neighbours in Fibonacci's sequence.
_STEPS = {1: 13, 2: 23, 4: 46, 8: 92}


def _integers(op: str, input: Tensor, other: Tensor) -> tuple[Tensor, ...]:
    require_tensor(op, input)
    require_tensor(op, other, "other")
    a, b = in_one_dtype(input, other)
    if a.is_floating_point() or a.dtype == minidynamo.bool:
        raise NotImplementedError(f'[{op}] "{op}_cpu" not implemented for {a.dtype}')
    return a, b


def _gcd(a: Tensor, b: Tensor) -> Tensor:
    a, b = a.abs(), b.abs()
    for _ in range(_STEPS[a.dtype.itemsize]):
        if not minidynamo.compiler.is_compiling() and not b.any():
            return a
        # Once b is 0, a stays.
        rest = minidynamo.where(b == 0, b, a % minidynamo.where(b == 0, 1, b))
        a, b = minidynamo.where(b == 0, a, b), rest
    return a


@in_place()
@composite("function method")
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers; gcd(0, 0) is 0."""
    a, b = _integers("gcd", input, other)
    return _gcd(a, b)


@in_place()
@composite("function method")
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers, 0 where one of them is 0."""
    a, b = _integers("lcm", input, other)
    divisor = _gcd(a, b)
    # C++ multiplies shorter integers as int, so that their absolute value is taken before they wrap.
    wide = a.dtype if a.dtype.itemsize >= 4 else minidynamo.int32
    quotient = a.div(minidynamo.where(divisor == 0, 1, divisor), rounding_mode="trunc")
    multiple = (quotient.to(wide) * b.to(wide)).abs().to(a.dtype)
    return minidynamo.where(divisor == 0, 0, multiple)


@in_place()
@composite("function method")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2**other; integers by which floats are scaled do so exactly, in the dtype of the floats."""
    require_tensor("ldexp", input)
    require_tensor("ldexp", other, "other")
    if not input.is_floating_point() or is_inexact(other):
        return input * minidynamo.pow(2.0, other)
    if other.dtype == minidynamo.bool:
        raise NotImplementedError('[ldexp] "ldexp_cpu" not implemented for Bool')
    if input.dtype != minidynamo.float64:
        return (input.double() * minidynamo.pow(2.0, other.double())).to(input.dtype)
    # In two steps, of which only the second may leave the numbers that are not subnormal.
    mantissa, exponent = minidynamo.frexp(input)
    power = (other.double() + exponent).clamp(-1100.0, 1100.0)
    half = (power / 2.0).trunc()
    return mantissa * minidynamo.pow(2.0, half) * minidynamo.pow(2.0, power - half)


def _double(value: Any) -> Any:
    return value.double() if isinstance(value, Tensor) else float(value)


@composite("function method")
def float_power(input: Any, exponent: Any) -> Tensor:
    """input ** exponent in float64; one of them may be a number."""
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        require_tensor("float_power", input)
    return minidynamo.pow(_double(input), _double(exponent))


@composite("method")
def float_power_(input: Tensor, exponent: Any) -> Tensor:
    """The in-place form of float_power: of float64 alone."""
    if input.dtype != minidynamo.float64:
        raise RuntimeError(f"[float_power_] the base given to float_power_ has dtype {input.dtype} but the operation's"
                           " result requires dtype torch.float64")  # fmt: skip
    return input.copy_(float_power(kept_from_write(input), exponent))


@in_place()
@composite("function method")
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The float after input towards other."""
    require_tensor("nextafter", input)
    require_tensor("nextafter", other, "other")
    x, to = minidynamo.broadcast_tensors(*in_one_dtype(input, other))
    if not x.is_floating_point():
        raise NotImplementedError(f'[nextafter] "nextafter_cpu" not implemented for {x.dtype}')
    if x.dtype.itemsize == 2:
        return _neighbour(x.float(), to.float(), minidynamo.finfo(x.dtype)).to(x.dtype)
    return _neighbour(x, to, minidynamo.finfo(x.dtype))


def _neighbour(x: Tensor, to: Tensor, info: Any) -> Tensor:
    """By rounding sums of a number and a little more than half of the distance to the next one."""
    half = info.eps / 2
    least = info.smallest_normal * info.eps
    size = x.abs()
    away = (to > x) == (x > 0)
    step = minidynamo.where(away, 1.0, -1.0).to(x.dtype)
    # Small numbers are scaled: their products with half would not be exact.
    scale = minidynamo.where(size < 1.0, 1.0 / info.eps, 1.0).to(x.dtype)
    scaled = size * scale
    beyond = (scaled + step * (scaled * (half * (1.0 + 2.0 * half)))) / scale
    # Where the distance is the least one.
    even = minidynamo.where(away, size < 2 * info.smallest_normal, size <= 2 * info.smallest_normal)
    found = minidynamo.where(even, size + step * least, beyond)
    found = minidynamo.where(size == math.inf, info.max, found)
    found = minidynamo.copysign(found, x)
    found = minidynamo.where(x == 0.0, minidynamo.copysign(minidynamo.full_like(x, least), to), found)
    found = minidynamo.where(x == to, to, found)
    return minidynamo.where(x.isnan() | to.isnan(), x + to, found)


@composite("function method")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the dims that broadcasting from these sizes to those of input makes."""
    require_tensor("sum_to_size", input)
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    leading = input.dim() - len(sizes)
    fits = leading >= 0 and all(want in (1, have) for have, want in zip(input.shape[max(leading, 0) :], sizes))
    if not fits:
        raise RuntimeError(f"[sum_to_size] size {{{list(sizes)}}} is not expandable to size {{{list(input.shape)}}}.")
    if not sizes:
        return input.sum()
    dims = [*range(leading)]
    for at, want in enumerate(sizes):
        if want == 1 and input.shape[leading + at] != 1:
            dims.append(leading + at)
    summed = input.sum(dims, keepdim=True) if dims else input
    return summed.reshape(sizes) if leading > 0 else summed
