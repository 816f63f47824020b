"""The logarithm of the gamma function and its derivatives: computed in float64, rounded once to the result's dtype."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import as_floating, composite, in_place, require_real, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# log(gamma(2 + z)) / z by powers of z: 1 minus Euler's constant, then (-1)**k * (zeta(k) - 1) / k from k = 2 on.
_NEAR_TWO = (
    *(0.42278433509846713, 0.3224670334241132, -0.0673523010531981, 0.020580808427784546, -0.007385551028673986),
    *(0.0028905103307415234, -0.001192753911703261, 0.0005096695247430425, -0.00022315475845357939),
    *(9.945751278180853e-05, -4.492623673813314e-05, 2.050721277567069e-05, -9.439488275268397e-06),
    *(4.374866789907488e-06, -2.039215753801366e-06, 9.55141213040742e-07, -4.492469198764566e-07),
    *(2.1207184805554665e-07, -1.0043224823968099e-07, 4.7698101693639804e-08, -2.2711094608943164e-08),
    *(1.0838659214896955e-08, -5.183475041970047e-09, 2.4836745438024785e-09, -1.1921401405860912e-09),
    *(5.731367241678862e-10, -2.7595228851242334e-10),
)
# Stirling's series of log(gamma(x)) by powers of 1 / x**2: Bernoulli numbers over 2k (2k - 1).
_STIRLING = (
    *(1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400),
)  # fmt: skip
# The same of digamma: Bernoulli numbers over 2k.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def powers(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """The sum of factors[k] * x**k."""
    total = minidynamo.full_like(x, factors[-1])
    for factor in factors[-2::-1]:
        total = total * x + factor
    return total


def in_double(op: str, input: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of float64 in the dtype of the result; NotImplementedError for complex numbers."""
    require_tensor(op, input)
    require_real(op, input)
    x = as_floating(input)
    return compute(x.double()).to(x.dtype)


def _sine_of_pi(x: Tensor) -> Tensor:
    """|sin(pi * x)|."""
    return (math.pi * (x - x.round())).sin().abs()


def _positive_lgamma(x: Tensor) -> Tensor:
    """Of x > 0: by the series about 2 below 8.5, after steps of 1 towards [1.5, 2.5); by Stirling's above."""
    at, product = x, minidynamo.ones_like(x)
    for _ in range(7):
        far = (at >= 2.5) & (x < 8.5)
        at = minidynamo.where(far, at - 1.0, at)
        product = minidynamo.where(far, product * at, product)
    below = at < 1.5
    z = minidynamo.where(below, at - 1.0, at - 2.0)
    # Below 0.5 one more step upwards.
    small = at < 0.5
    z = minidynamo.where(small, at, z)
    near = z * powers(z, _NEAR_TWO) + product.log()
    near = minidynamo.where(below, near - z.log1p(), near)
    near = minidynamo.where(small, near - at.log(), near)
    inverse = 1.0 / x
    beyond = (x - 0.5) * (x.log() - 1.0) + (_HALF_LOG_TAU - 0.5) + inverse * powers(inverse * inverse, _STIRLING)
    # Where the logarithm is small beside x, the product would be infinity minus infinity.
    return minidynamo.where(x < 8.5, near, beyond)


def _lgamma(x: Tensor) -> Tensor:
    size = x.abs()
    found = _positive_lgamma(minidynamo.where(size == 0.0, 1.0, size))
    # |gamma(-x)| * |gamma(x)| is pi / |x * sin(pi * x)|.
    # Elsewhere it is not taken, and must have a finite slope.
    sine = minidynamo.where((x < 0.0) & (x != x.floor()), size * _sine_of_pi(x), 1.0)
    reflected = math.log(math.pi) - sine.log() - found
    found = minidynamo.where(x < 0.0, reflected, found)
    pole = x.isinf() | ((x <= 0.0) & (x == x.floor()))
    return minidynamo.where(pole, math.inf, found)


@in_place()
@composite("function method")
def lgamma(input: Tensor) -> Tensor:
    """log(|gamma(input)|); infinity at 0 and the negative integers."""
    return in_double("lgamma", input, _lgamma)


def _digamma(x: Tensor) -> Tensor:
    below = x < 0.0
    at = minidynamo.where(below, 1.0 - x, x)
    result = minidynamo.zeros_like(x)
    for _ in range(10):
        short = at < 10.0
        result = minidynamo.where(short, result - 1.0 / at, result)
        at = minidynamo.where(short, at + 1.0, at)
    inverse = 1.0 / (at * at)
    result = result + at.log() - 0.5 / at - inverse * powers(inverse, _DIGAMMA)
    # Elsewhere the cotangent is not taken, and must have a finite slope.
    part = minidynamo.where(below & (x != x.trunc()), x - x.round(), 0.25)
    result = minidynamo.where(below, result - math.pi / (math.pi * part).tan(), result)
    result = minidynamo.where(below & (x == x.trunc()), math.nan, result)
    return minidynamo.where(x == 0.0, minidynamo.copysign(minidynamo.full_like(x, math.inf), -x), result)


@in_place()
@composite("function method")
def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma: NaN at the negative integers, minus infinity at 0, infinity at -0."""
    return in_double("digamma", input, _digamma)


def _trigamma(x: Tensor) -> Tensor:
    below = x < 0.5
    at = minidynamo.where(below, 1.0 - x, x)
    total = minidynamo.zeros_like(x)
    for _ in range(16):
        total = total + 1.0 / (at * at)
        at = at + 1.0
    inverse = 1.0 / (at * at)
    series = powers(inverse, (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66))
    total = total + (1.0 + 0.5 / at + inverse * series) / at
    # torch's sine, and so its poles, is rounded: at integers this is infinite.
    sine = _sine_of_pi(x)
    reflected = (math.pi / sine) * (math.pi / sine) - total
    return minidynamo.where(below, reflected, total)


_ZETA = (
    *(12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10),
    *(-2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15),
    *(1.8152105401943546773e17, -7.1661652561756670113e18),
)  # fmt: skip


def hurwitz_zeta(x: Tensor, q: Tensor) -> Tensor:
    """The sum of (q + k)**-x over k >= 0, of float64. The steps that bring a negative q above 9 are counted in the
    data."""
    lowest = float(q.nan_to_num(0.0, 0.0, 0.0).amin()) if q.numel() > 0 else 0.0
    total = hurwitz_zeta_after(9 + max(0, math.ceil(-lowest)) if lowest > -1e6 else 9, x, q)
    pole = (q <= 0.0) & (q == q.floor())
    total = minidynamo.where(pole, math.inf, minidynamo.where((q <= 0.0) & (x != x.floor()), math.nan, total))
    return minidynamo.where(x == 1.0, math.inf, minidynamo.where(x < 1.0, math.nan, total))


def hurwitz_zeta_after(steps: int, x: Tensor, q: Tensor) -> Tensor:
    """Hurwitz' zeta function of x > 1: `steps` terms, which bring q above 9, then the series of Euler and Maclaurin.

    _ZETA are (2k)! over the Bernoulli numbers.
    """
    total, at = minidynamo.pow(q, -x), q
    for _ in range(steps):
        at = at + 1.0
        total = total + minidynamo.pow(at, -x)
    term = minidynamo.pow(at, -x)
    total = total + term * at / (x - 1.0) - 0.5 * term
    factor = minidynamo.ones_like(total)
    for step, number in enumerate(_ZETA):
        factor = factor * (x + 2.0 * step)
        term = term / at
        total = total + factor * term / number
        factor = factor * (x + 2.0 * step + 1.0)
        term = term / at
    return total


@composite("function")
def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma; RuntimeError for a negative n."""
    return polygamma_by(hurwitz_zeta, n, input)


def polygamma_by(zeta: Callable[[Tensor, Tensor], Tensor], n: int, input: Tensor) -> Tensor:
    """polygamma, with a function of float64 for the terms of n from 2 on."""
    require_tensor("polygamma", input)
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"polygamma(): argument 'n' must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError("[polygamma] polygamma(n, x) does not support negative n.")
    if n == 0:
        return in_double("polygamma", input, _digamma)
    if n == 1:
        return in_double("polygamma", input, _trigamma)
    # From 171! on beyond the largest float64.
    size = math.exp(math.lgamma(n + 1.0)) if n <= 170 else math.inf
    factor = size if n % 2 else -size

    def compute(x: Tensor) -> Tensor:
        return factor * zeta(minidynamo.full((), n + 1.0, dtype=minidynamo.float64), x)

    return in_double("polygamma", input, compute)


@in_place("polygamma")
@composite("method")
def polygamma_of(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma; RuntimeError for a negative n."""
    return polygamma(n, input)


@in_place()
@composite("function method")
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p; NaN below (p - 1) / 2, where torch has no
    meaning either."""
    require_tensor("mvlgamma", input)
    if input.dtype == minidynamo.bool:
        raise RuntimeError("[mvlgamma] The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("[mvlgamma] p has to be greater than or equal to 1")

    def compute(x: Tensor) -> Tensor:
        terms = _lgamma(x.unsqueeze(-1) - 0.5 * minidynamo.arange(p, dtype=x.dtype))
        return terms.sum(-1) + 0.25 * p * (p - 1) * math.log(math.pi)

    return in_double("mvlgamma", input, compute)
