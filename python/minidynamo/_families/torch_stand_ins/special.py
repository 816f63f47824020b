"""Special functions, by the approximations of torch's ATen/native/Math.h: of float32 and float64."""

from __future__ import annotations

import math

import minidynamo

from ..._C import Tensor
from ..._composites.registry import require_data
from ..._composites.special_functions import bessel_i0, scaled_i0
from ...special import bessel, modified_bessel, normal_distribution
from ...special import coefficients as of
from ...special.bessel import falling_powers as _powers
from .pointwise import floats
from .table import TABLE, StandIn, both, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

where = minidynamo.where


def _places(name: str) -> str:
    return f"special.{name} special_{name}"


def _stand_in(places: str, name: str, kernel: Callable[[Tensor], Tensor]) -> None:
    """Enters a function of one tensor."""

    def stand_in(input: Tensor) -> Tensor:
        return kernel(floats(name, input)[0])

    TABLE.append(StandIn(places, stand_in))


for _name, _kernel in (
    ("i0e", scaled_i0),
    ("i1", modified_bessel.first_kind_1),
    ("i1e", modified_bessel.scaled_first_kind_1),
    ("modified_bessel_i1", modified_bessel.first_kind_1),
    ("modified_bessel_k0", modified_bessel.second_kind_0),
    ("modified_bessel_k1", modified_bessel.second_kind_1),
    ("bessel_j0", bessel.first_kind_0),
    ("bessel_j1", bessel.first_kind_1),
    ("bessel_y0", bessel.second_kind_0),
    ("bessel_y1", bessel.second_kind_1),
    ("ndtri", normal_distribution.quantile),
):
    _stand_in(_places(_name), _name, _kernel)


@stands_in(both("i0") + " special.i0 " + _places("modified_bessel_i0"))
def i0(input: Tensor) -> Tensor:
    return bessel_i0(floats("i0", input)[0])


# These name their argument x.
@stands_in(_places("scaled_modified_bessel_k0"))
def scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    return modified_bessel.scaled_second_kind_0(floats("scaled_modified_bessel_k0", x)[0])


@stands_in(_places("scaled_modified_bessel_k1"))
def scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    return modified_bessel.scaled_second_kind_1(floats("scaled_modified_bessel_k1", x)[0])


@stands_in(_places("spherical_bessel_j0"))
def spherical_bessel_j0(x: Tensor) -> Tensor:
    return bessel.spherical_0(floats("spherical_bessel_j0", x)[0])


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
