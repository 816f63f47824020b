"""The logarithm of the gamma function and its derivatives: computed in float64, rounded once to the result's dtype."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import as_floating, composite, in_place, prims, require_real, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def in_double(op: str, input: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of float64 in the dtype of the result; NotImplementedError for complex numbers."""
    require_tensor(op, input)
    require_real(op, input)
    x = as_floating(input)
    return compute(x.double()).to(x.dtype)


def by_row(op: str, input: Tensor, row: Callable[[Tensor], Tensor]) -> Tensor:
    """A row of special functions; NotImplementedError for complex numbers."""
    require_tensor(op, input)
    require_real(op, input)
    return row(as_floating(input))


@in_place()
@composite("function method")
def lgamma(input: Tensor) -> Tensor:
    """log(|gamma(input)|); infinity at 0 and the negative integers."""
    return by_row("lgamma", input, prims.special_lgamma)


@in_place()
@composite("function method")
def digamma(input: Tensor) -> Tensor:
    """The derivative of lgamma: NaN at the negative integers, minus infinity at 0, infinity at -0."""
    return by_row("digamma", input, prims.special_digamma)


def powers(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """The sum of factors[k] * x**k."""
    total = minidynamo.full_like(x, factors[-1])
    for factor in factors[-2::-1]:
        total = total * x + factor
    return total


def _sine_of_pi(x: Tensor) -> Tensor:
    """|sin(pi * x)|."""
    return (math.pi * (x - x.round())).sin().abs()


def _trigamma(x: Tensor) -> Tensor:
    """Of operations that have slopes of every order."""
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
        return by_row("polygamma", input, prims.special_digamma)
    if n == 1:
        if input.requires_grad:
            return in_double("polygamma", input, _trigamma)
        return by_row("polygamma", input, prims.special_trigamma)
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
        terms = prims.special_lgamma(x.unsqueeze(-1) - 0.5 * minidynamo.arange(p, dtype=x.dtype))
        return terms.sum(-1) + 0.25 * p * (p - 1) * math.log(math.pi)

    return in_double("mvlgamma", input, compute)
