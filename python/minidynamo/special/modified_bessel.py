"""Modified Bessel functions of floating tensors."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .._composites.registry import prims
from .._composites.special_functions import chebyshev
from . import coefficients as of


def _second_kind(x: Tensor, near: Tensor, far: tuple[float, ...], scale: Tensor | float) -> Tensor:
    above = chebyshev(8.0 / x - 2.0, far) / x.sqrt() * scale
    found = minidynamo.where(x <= 2.0, near, above)
    return minidynamo.where(x == 0.0, math.inf, minidynamo.where(x < 0.0, math.nan, found))


def _k0(x: Tensor) -> Tensor:
    return chebyshev(x * x - 2.0, of.K0_A) - (0.5 * x).log() * (x.abs().exp() * prims.special_i0e(x.abs()))


def _k1(x: Tensor) -> Tensor:
    return (0.5 * x).log() * (x.abs().exp() * prims.special_i1e(x.abs())) + chebyshev(x * x - 2.0, of.K1_A) / x


def second_kind_0(x: Tensor) -> Tensor:
    return _second_kind(x, _k0(x), of.K0_B, (-x).exp())


def second_kind_1(x: Tensor) -> Tensor:
    return _second_kind(x, _k1(x), of.K1_B, (-x).exp())


def scaled_second_kind_0(x: Tensor) -> Tensor:
    return _second_kind(x, _k0(x) * x.exp(), of.K0_B, 1.0)


def scaled_second_kind_1(x: Tensor) -> Tensor:
    return _second_kind(x, _k1(x) * x.exp(), of.K1_B, 1.0)
