"""Special functions, by the approximations of torch's ATen/native/Math.h: of float32 and float64."""

from __future__ import annotations

import math

import minidynamo

from ..._C import Tensor
from ..._composites.registry import require_data
from . import special_coefficients as of
from .pointwise import floats
from .table import both, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

where = minidynamo.where


def _places(name: str) -> str:
    return f"special.{name} special_{name}"


def _chebyshev(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    before = last = minidynamo.zeros_like(x)
    total = minidynamo.full_like(x, factors[0])
    for factor in factors[1:]:
        before, last = last, total
        total = x * last - before + factor
    return 0.5 * (total - before)


def _powers(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    total = minidynamo.full_like(x, factors[0])
    for factor in factors[1:]:
        total = total * x + factor
    return total


# ---- modified Bessel functions ----


def _first_kind(x: Tensor, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """exp(-x) times I0(x), or I1(x) / x below 8, of x >= 0."""
    below = _chebyshev(x / 2.0 - 2.0, near)
    above = _chebyshev(32.0 / x - 2.0, far) / x.sqrt()
    return below, above


def _scaled_i0(size: Tensor) -> Tensor:
    below, above = _first_kind(size, of.I0_A, of.I0_B)
    return where(size <= 8.0, below, above)


def _scaled_i1(size: Tensor) -> Tensor:
    below, above = _first_kind(size, of.I1_A, of.I1_B)
    return where(size <= 8.0, below * size, above)


@stands_in(both("i0") + " special.i0 " + _places("modified_bessel_i0"))
def i0(input: Tensor) -> Tensor:
    size = floats("i0", input)[0].abs()
    return size.exp() * _scaled_i0(size)


@stands_in(_places("i0e"))
def i0e(input: Tensor) -> Tensor:
    return _scaled_i0(floats("i0e", input)[0].abs())


@stands_in(_places("i1") + " " + _places("modified_bessel_i1"))
def i1(input: Tensor) -> Tensor:
    (x,) = floats("i1", input)
    found = x.abs().exp() * _scaled_i1(x.abs())
    return where(x < 0.0, -found, found)


@stands_in(_places("i1e"))
def i1e(input: Tensor) -> Tensor:
    (x,) = floats("i1e", input)
    found = _scaled_i1(x.abs())
    return where(x < 0.0, -found, found)


def _second_kind(x: Tensor, near: Tensor, far: tuple[float, ...], scale: Tensor | float) -> Tensor:
    above = _chebyshev(8.0 / x - 2.0, far) / x.sqrt() * scale
    found = where(x <= 2.0, near, above)
    return where(x == 0.0, math.inf, where(x < 0.0, math.nan, found))


def _k0(x: Tensor) -> Tensor:
    return _chebyshev(x * x - 2.0, of.K0_A) - (0.5 * x).log() * (x.abs().exp() * _scaled_i0(x.abs()))


def _k1(x: Tensor) -> Tensor:
    return (0.5 * x).log() * (x.abs().exp() * _scaled_i1(x.abs())) + _chebyshev(x * x - 2.0, of.K1_A) / x


@stands_in(_places("modified_bessel_k0"))
def modified_bessel_k0(input: Tensor) -> Tensor:
    (x,) = floats("modified_bessel_k0", input)
    return _second_kind(x, _k0(x), of.K0_B, (-x).exp())


@stands_in(_places("modified_bessel_k1"))
def modified_bessel_k1(input: Tensor) -> Tensor:
    (x,) = floats("modified_bessel_k1", input)
    return _second_kind(x, _k1(x), of.K1_B, (-x).exp())


@stands_in(_places("scaled_modified_bessel_k0"))
def scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    (x,) = floats("scaled_modified_bessel_k0", x)
    return _second_kind(x, _k0(x) * x.exp(), of.K0_B, 1.0)


@stands_in(_places("scaled_modified_bessel_k1"))
def scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    (x,) = floats("scaled_modified_bessel_k1", x)
    return _second_kind(x, _k1(x) * x.exp(), of.K1_B, 1.0)


# ---- Bessel functions ----

_QUARTER = 0.785398163397448309615660845819875721
_THREE_QUARTERS = 2.356194490192344928846982537459627163
_ROOT = 0.797884560802865355879892119868763737
_TWO_BY_PI = 0.636619772367581343075535053490057448


def _waves(x: Tensor, order: int) -> tuple[Tensor, Tensor, Tensor]:
    """(the two amplitudes, the angle) beyond 5."""
    inverse = 25.0 / (x * x)
    pp, pq, qp, qq = (
        (of.J0_PP, of.J0_PQ, of.J0_QP, of.J0_QQ) if order == 0 else (of.J1_PP, of.J1_PQ, of.J1_QP, of.J1_QQ)
    )
    first = _powers(inverse, pp) / _powers(inverse, pq)
    second = 5.0 / x * (_powers(inverse, qp) / _powers(inverse, qq))
    return first, second, x - (_QUARTER if order == 0 else _THREE_QUARTERS)


def _j0(x: Tensor) -> Tensor:
    square = x * x
    near = (square - 5.78318596294678452118) * (square - 30.4712623436620863991)
    near = near * _powers(square, of.J0_RP) / _powers(square, of.J0_RQ)
    near = where(x < 0.00001, 1.0 - square / 4.0, near)
    first, second, angle = _waves(x, 0)
    return where(x <= 5.0, near, (first * angle.cos() - second * angle.sin()) * _ROOT / x.sqrt())


def _j1(x: Tensor) -> Tensor:
    square = x * x
    near = _powers(square, of.J1_RP) / _powers(square, of.J1_RQ) * x
    near = near * (square - 14.6819706421238932572) * (square - 49.2184563216946036703)
    first, second, angle = _waves(x, 1)
    return where(x <= 5.0, near, (first * angle.cos() - second * angle.sin()) * _ROOT / x.sqrt())


@stands_in(_places("bessel_j0"))
def bessel_j0(input: Tensor) -> Tensor:
    return _j0(floats("bessel_j0", input)[0].abs())


@stands_in(_places("bessel_j1"))
def bessel_j1(input: Tensor) -> Tensor:
    (x,) = floats("bessel_j1", input)
    found = _j1(x.abs())
    return where(x < 0.0, -found, found)


def _neumann(x: Tensor, near: Tensor, order: int) -> Tensor:
    first, second, angle = _waves(x, order)
    far = (first * angle.sin() + second * angle.cos()) * _ROOT / x.sqrt()
    found = where(x <= 5.0, near, far)
    return where(x == 0.0, -math.inf, where(x < 0.0, math.nan, found))


@stands_in(_places("bessel_y0"))
def bessel_y0(input: Tensor) -> Tensor:
    (x,) = floats("bessel_y0", input)
    square = x * x
    near = _powers(square, of.Y0_YP) / _powers(square, of.Y0_YQ) + _TWO_BY_PI * x.log() * _j0(x)
    return _neumann(x, near, 0)


@stands_in(_places("bessel_y1"))
def bessel_y1(input: Tensor) -> Tensor:
    (x,) = floats("bessel_y1", input)
    square = x * x
    near = x * (_powers(square, of.Y1_YP) / _powers(square, of.Y1_YQ)) + _TWO_BY_PI * (_j1(x) * x.log() - 1.0 / x)
    return _neumann(x, near, 1)


@stands_in(_places("spherical_bessel_j0"))
def spherical_bessel_j0(x: Tensor) -> Tensor:
    (x,) = floats("spherical_bessel_j0", x)
    factors = [1.0 / math.factorial(2 * at + 1) * (-1) ** at for at in range(6, -1, -1)]
    near = _powers(x * x, tuple(factors))
    return where(x.isinf(), 0.0, where(x.abs() < 0.5, near, x.sin() / x))


# ---- the normal distribution ----


@stands_in(_places("ndtri"))
def ndtri(input: Tensor) -> Tensor:
    (y0,) = floats("ndtri", input)
    edge = 0.13533528323661269189
    upper = y0 > 1.0 - edge
    y = where(upper, 1.0 - y0, y0)
    half = y - 0.5
    square = half * half
    middle = (half + half * (square * _powers(square, of.NDTRI_P0) / _powers(square, of.NDTRI_Q0))) * math.sqrt(
        2 * math.pi
    )
    x = (-2.0 * y.log()).sqrt()
    z = 1.0 / x
    near = z * _powers(z, of.NDTRI_P1) / _powers(z, of.NDTRI_Q1)
    far = z * _powers(z, of.NDTRI_P2) / _powers(z, of.NDTRI_Q2)
    tail = x - x.log() / x - where(x < 8.0, near, far)
    found = where(y > edge, middle, where(upper, tail, -tail))
    found = where((y0 < 0.0) | (y0 > 1.0), math.nan, found)
    return where(y0 == 0.0, -math.inf, where(y0 == 1.0, math.inf, found))


# ---- of the gamma function: in float64 ----


def _in_double(op: str, input: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    (x,) = floats(op, input)
    return compute(x.double()).to(x.dtype)


def _digamma(x: Tensor) -> Tensor:
    below = x < 0.0
    at = where(below, 1.0 - x, x)
    result = minidynamo.zeros_like(x)
    for _ in range(10):
        short = at < 10.0
        result = where(short, result - 1.0 / at, result)
        at = where(short, at + 1.0, at)
    z = 1.0 / (at * at)
    y = where(at < 1.0e17, z * _powers(z, of.DIGAMMA), 0.0)
    result = result + at.log() - 0.5 / at - y
    result = where(below, result - math.pi / (math.pi * (x - x.trunc())).tan(), result)
    result = where(below & (x == x.trunc()), math.nan, result)
    return where(x == 0.0, minidynamo.copysign(minidynamo.full_like(x, math.inf), -x), result)


def _trigamma(x: Tensor) -> Tensor:
    below = x < 0.5
    at = where(below, 1.0 - x, x)
    sine = (math.pi * x).sin()
    result = where(below, -(math.pi * math.pi) / (sine * sine), 0.0)
    for _ in range(6):
        result = result + 1.0 / (at * at)
        at = at + 1.0
    z = 1.0 / (at * at)
    result = result + (1.0 + 0.5 / at + z * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42)))) / at
    return where(below, -result, result)


def _zeta(x: Tensor, q: Tensor) -> Tensor:
    # A negative q takes as many more terms as bring it beyond 9.
    require_data((q > 0.0).all(), "zeta of a negative number")
    total, at = minidynamo.pow(q, -x), q
    term = minidynamo.zeros_like(total)
    for _ in range(9):
        at = at + 1.0
        term = minidynamo.pow(at, -x)
        total = total + term
    w = at
    total = total + term * w / (x - 1.0) - 0.5 * term
    factor = minidynamo.ones_like(total)
    for step, number in enumerate(of.ZETA):
        factor = factor * (x + 2.0 * step)
        term = term / w
        total = total + factor * term / number
        factor = factor * (x + 2.0 * step + 1.0)
        term = term / w
    return where(x == 1.0, math.inf, where(x < 1.0, math.nan, total))


@stands_in(both("digamma") + " special.digamma special.psi special_digamma special_psi")
def digamma(input: Tensor) -> Tensor:
    return _in_double("digamma", input, _digamma)


@stands_in("special.zeta special_zeta")
def zeta(input: Any, other: Any) -> Tensor:
    x, q = floats("zeta", input, other)
    dtype = x.dtype if isinstance(x, Tensor) else q.dtype
    return _zeta(_double(x), _double(q)).to(dtype)


def _double(value: Any) -> Tensor:
    return value.double() if isinstance(value, Tensor) else minidynamo.full((), value, dtype=minidynamo.float64)


@stands_in("polygamma special.polygamma special_polygamma")
def polygamma(n: int, input: Tensor) -> Tensor:
    if not isinstance(n, int) or n < 0:
        decline("polygamma of no number")
    (x,) = floats("polygamma", input)
    if n == 0:
        return _in_double("polygamma", input, _digamma)
    if n == 1:
        # As torch, in the dtype of the tensor.
        return _trigamma(x)
    factor = math.factorial(n) * (1.0 if n % 2 else -1.0)
    return factor * _zeta(_double(n + 1.0), x.double()).to(x.dtype)


@stands_in("Tensor.polygamma")
def polygamma_of(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)


# Lanczos' approximation of the gamma function, g = 7, in the form of Godfrey.
_LANCZOS = (
    *(0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059),
    *(12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7),
)


def _lgamma(x: Tensor) -> Tensor:
    below = x < 0.5
    z = where(below, -x, x - 1.0)
    total = minidynamo.full_like(z, _LANCZOS[0])
    for at, factor in enumerate(_LANCZOS[1:]):
        total = total + factor / (z + (at + 1.0))
    t = z + 7.5
    found = 0.5 * math.log(2 * math.pi) + (z + 0.5) * t.log() - t + total.log()
    reflected = math.log(math.pi) - (math.pi * (x - x.floor())).sin().log() - found
    return where(x.isinf(), math.inf, where(below, reflected, found))


def _narrow_lgamma(op: str, input: Tensor) -> Tensor:
    if input.dtype == minidynamo.float64:
        decline(f"{op} of float64")  # beside 1 and 2 the sum cancels
    return _in_double(op, input, _lgamma)


@stands_in(both("lgamma") + " special.gammaln special_gammaln")
def lgamma(input: Tensor) -> Tensor:
    return _narrow_lgamma("lgamma", input)


@stands_in(both("mvlgamma") + " special.multigammaln special_multigammaln")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    if p < 1 or not input.is_floating_point():
        decline("mvlgamma of integers")
    total = minidynamo.full_like(input, 0.25 * p * (p - 1) * math.log(math.pi))
    for at in range(p):
        total = total + _narrow_lgamma("mvlgamma", input - 0.5 * at)
    return total
