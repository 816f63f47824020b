"""The normal distribution's cumulative function, its logarithm and its inverse."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from . import coefficients as of
from .bessel import falling_powers


def cumulative(x: Tensor) -> Tensor:
    return 0.5 * (x * -math.sqrt(0.5)).erfc()


def log_cumulative(x: Tensor) -> Tensor:
    # Each branch where the other is taken: at a number with a finite slope.
    is_tail = x < -1.0
    t = minidynamo.where(is_tail, x, -1.0) * math.sqrt(0.5)
    tail = (scaled_erfc(-t) / 2.0).log() - t * t
    other = minidynamo.where(is_tail, -1.0, x) * math.sqrt(0.5)
    return minidynamo.where(is_tail, tail, (-0.5 * other.erfc()).log1p())


def scaled_erfc(x: Tensor) -> Tensor:
    """exp(x**2) * erfc(x): beyond 25, where erfc is near its smallest number, by the asymptotic series."""
    is_far = x > 25.0
    far = minidynamo.where(is_far, x, 26.0)
    inverse = 0.5 / (far * far)
    series = falling_powers(inverse, (-945.0, 105.0, -15.0, 3.0, -1.0, 1.0)) / (far * math.sqrt(math.pi))
    # The square in two parts: rounding it once would be magnified by exp.
    near = minidynamo.where(is_far, 0.0, x)
    whole = (near * 4096.0).round() / 4096.0
    square = (whole * whole).exp() * ((near - whole) * (near + whole)).exp()
    return minidynamo.where(is_far, series, square * near.erfc())


def quantile(y0: Tensor) -> Tensor:
    edge = 0.13533528323661269189
    upper = y0 > 1.0 - edge
    y = minidynamo.where(upper, 1.0 - y0, y0)
    half = y - 0.5
    square = half * half
    middle = (
        half + half * (square * falling_powers(square, of.NDTRI_P0) / falling_powers(square, of.NDTRI_Q0))
    ) * math.sqrt(2 * math.pi)
    x = (-2.0 * y.log()).sqrt()
    z = 1.0 / x
    near = z * falling_powers(z, of.NDTRI_P1) / falling_powers(z, of.NDTRI_Q1)
    far = z * falling_powers(z, of.NDTRI_P2) / falling_powers(z, of.NDTRI_Q2)
    tail = x - x.log() / x - minidynamo.where(x < 8.0, near, far)
    found = minidynamo.where(y > edge, middle, minidynamo.where(upper, tail, -tail))
    found = minidynamo.where((y0 < 0.0) | (y0 > 1.0), math.nan, found)
    return minidynamo.where(y0 == 0.0, -math.inf, minidynamo.where(y0 == 1.0, math.inf, found))
