"""Special functions that torch also has at the top."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .gamma_functions import in_double, powers
from .pointwise import in_one_dtype
from .registry import as_floating, composite, in_place, require_real, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Rational approximations for |y| <= 0.7 and for the tail, from the constant term on: a start for Newton's steps.
_ERFINV_A = (0.886226899, -1.645349621, 0.914624893, -0.140543331)
_ERFINV_B = (1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801)
_ERFINV_C = (-1.970840454, -1.624906493, 3.429567803, 1.641345311)
_ERFINV_D = (1.0, 3.543889200, 1.637067800)


def _erfinv(y: Tensor) -> Tensor:
    size = y.abs()
    square = y * y
    middle = size * powers(square, _ERFINV_A) / powers(square, _ERFINV_B)
    # 1 - size is exact from 0.5 on: beyond, steps on erfc keep what steps on erf would round away.
    rest = 1.0 - size
    tail = (-(rest / 2.0).log()).sqrt()
    outer = powers(tail, _ERFINV_C) / powers(tail, _ERFINV_D)
    x = minidynamo.where(size <= 0.7, middle, outer)
    for _ in range(3):
        apart = minidynamo.where(size <= 0.5, x.erf() - size, rest - x.erfc())
        x = x - apart / ((2.0 / math.sqrt(math.pi)) * (-x * x).exp())
    x = minidynamo.where(size == 1.0, math.inf, minidynamo.where(size < 1.0, x, math.nan))
    # At 0 the slope is that of the series, sqrt(pi) / 2.
    return minidynamo.where(size == 0.0, y * (math.sqrt(math.pi) / 2.0), minidynamo.copysign(x, y))


@in_place()
@composite("function method")
def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf: infinite at -1 and 1, NaN outside."""
    return in_double("erfinv", input, _erfinv)


def chebyshev(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """The sum of a series of Chebyshev polynomials of x / 2, highest degree first, with half of the last factor."""
    before = last = minidynamo.zeros_like(x)
    total = minidynamo.full_like(x, factors[0])
    for factor in factors[1:]:
        before, last = last, total
        total = x * last - before + factor
    return 0.5 * (total - before)


# Of I0: the Cephes library's, by Stephen L. Moshier, as in torch's ATen/native/Math.h.
# fmt: off
_I0_A = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998,
    -0.02373741480589947, 0.04930528423967071, -0.09490109704804764, 0.17162090152220877, -0.3046826723431984,
    0.6767952744094761,
)
_I0_B = (
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
    -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15,
    -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13,
    7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
    1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
    2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943,
    0.8044904110141088,
)
# fmt: on


def bessel_parts(size: Tensor, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """exp(-size) times I0(size), or I1(size) / size below 8, of size >= 0: below 8 and above."""
    below = chebyshev(size.clamp(max=8.0) / 2.0 - 2.0, near)
    large = size.clamp(min=8.0)
    above = chebyshev(32.0 / large - 2.0, far) / large.sqrt()
    return below, above


def scaled_i0(x: Tensor) -> Tensor:
    """exp(-|x|) * I0(x)."""
    below, above = bessel_parts(x.abs(), _I0_A, _I0_B)
    return minidynamo.where(x.abs() <= 8.0, below, above)


def unscaled(scaled: Tensor, size: Tensor) -> Tensor:
    """scaled * exp(size), in two steps: exp(size) alone may overflow."""
    half = (size * 0.5).exp()
    return scaled * half * half


def bessel_i0(x: Tensor) -> Tensor:
    """I0(x)."""
    return unscaled(scaled_i0(x), x.abs())


@in_place()
@composite("function method")
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
    return in_double("i0", input, bessel_i0)


@composite("function method")
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**input + 2**other), without intermediate overflow."""
    require_tensor("logaddexp2", input)
    require_tensor("logaddexp2", other, "other")
    require_real("logaddexp2", input, other)
    a, b = [as_floating(each) for each in in_one_dtype(input, other)]
    wide_a, wide_b = a.double(), b.double()
    larger = minidynamo.maximum(wide_a, wide_b)
    added = larger + (-(wide_a - wide_b).abs()).exp2().log1p() * (1 / math.log(2))
    return minidynamo.where(wide_a.isinf() & (wide_a == wide_b), wide_a, added).to(a.dtype)


def number_or_tensor(value: Any, dtype: Any) -> Tensor:
    """A Python number as a 0-d tensor of the dtype."""
    return value if isinstance(value, Tensor) else minidynamo.full((), value, dtype=dtype)
