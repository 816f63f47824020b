"""Bessel functions of floating tensors."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from . import coefficients as of

_QUARTER = 0.785398163397448309615660845819875721
_THREE_QUARTERS = 2.356194490192344928846982537459627163
_ROOT = 0.797884560802865355879892119868763737
_TWO_BY_PI = 0.636619772367581343075535053490057448


def falling_powers(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """The polynomial with these coefficients, of the highest power first."""
    total = minidynamo.full_like(x, factors[0])
    for factor in factors[1:]:
        total = total * x + factor
    return total


def _waves(x: Tensor, order: int) -> tuple[Tensor, Tensor, Tensor]:
    """(the two amplitudes, the angle) beyond 5."""
    inverse = 25.0 / (x * x)
    pp, pq, qp, qq = (
        (of.J0_PP, of.J0_PQ, of.J0_QP, of.J0_QQ) if order == 0 else (of.J1_PP, of.J1_PQ, of.J1_QP, of.J1_QQ)
    )
    first = falling_powers(inverse, pp) / falling_powers(inverse, pq)
    second = 5.0 / x * (falling_powers(inverse, qp) / falling_powers(inverse, qq))
    return first, second, x - (_QUARTER if order == 0 else _THREE_QUARTERS)


def _j0(x: Tensor) -> Tensor:
    square = x * x
    near = (square - 5.78318596294678452118) * (square - 30.4712623436620863991)
    near = near * falling_powers(square, of.J0_RP) / falling_powers(square, of.J0_RQ)
    near = minidynamo.where(x < 0.00001, 1.0 - square / 4.0, near)
    first, second, angle = _waves(x, 0)
    return minidynamo.where(x <= 5.0, near, (first * angle.cos() - second * angle.sin()) * _ROOT / x.sqrt())


def _j1(x: Tensor) -> Tensor:
    square = x * x
    near = falling_powers(square, of.J1_RP) / falling_powers(square, of.J1_RQ) * x
    near = near * (square - 14.6819706421238932572) * (square - 49.2184563216946036703)
    first, second, angle = _waves(x, 1)
    return minidynamo.where(x <= 5.0, near, (first * angle.cos() - second * angle.sin()) * _ROOT / x.sqrt())


def first_kind_0(x: Tensor) -> Tensor:
    return _j0(x.abs())


def first_kind_1(x: Tensor) -> Tensor:
    found = _j1(x.abs())
    return minidynamo.where(x < 0.0, -found, found)


def _neumann(x: Tensor, near: Tensor, order: int) -> Tensor:
    first, second, angle = _waves(x, order)
    far = (first * angle.sin() + second * angle.cos()) * _ROOT / x.sqrt()
    found = minidynamo.where(x <= 5.0, near, far)
    return minidynamo.where(x == 0.0, -math.inf, minidynamo.where(x < 0.0, math.nan, found))


def second_kind_0(x: Tensor) -> Tensor:
    square = x * x
    near = falling_powers(square, of.Y0_YP) / falling_powers(square, of.Y0_YQ) + _TWO_BY_PI * x.log() * _j0(x)
    return _neumann(x, near, 0)


def second_kind_1(x: Tensor) -> Tensor:
    square = x * x
    near = x * (falling_powers(square, of.Y1_YP) / falling_powers(square, of.Y1_YQ)) + _TWO_BY_PI * (
        _j1(x) * x.log() - 1.0 / x
    )
    return _neumann(x, near, 1)


def spherical_0(x: Tensor) -> Tensor:
    factors = [1.0 / math.factorial(2 * at + 1) * (-1) ** at for at in range(6, -1, -1)]
    near = falling_powers(x * x, tuple(factors))
    return minidynamo.where(x.isinf(), 0.0, minidynamo.where(x.abs() < 0.5, near, x.sin() / x))
