"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all

_EULER = 0.57721566490153286060


class Kumaraswamy(TransformedDistribution):
    """On [0, 1], with the cumulative function 1 - (1 - x**concentration1)**concentration0."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros, ones = minidynamo.zeros_like(self.concentration0), minidynamo.ones_like(self.concentration0)
        base = Uniform(zeros, ones, validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        return [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        one, zero = self.concentration1, self.concentration0
        logarithm = zero.reciprocal() * (-zero).log1p() - (-zero * one).log1p()
        return minidynamo.where((zero < 1) | (one < 1), math.nan, logarithm).exp()

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        new.transforms = new._steps()
        return new

    def entropy(self) -> Tensor:
        first, second = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = (self.concentration0 + 1).digamma() + _EULER
        return second + first * harmonic - self.concentration1.log() - self.concentration0.log()


_explain_missing(__name__)
