"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .location_scale import LocationScale

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class Normal(LocationScale):
    """Of mean loc and standard deviation scale."""

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + minidynamo.randn(shape, dtype=self.loc.dtype) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - _HALF_LOG_TAU

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + _HALF_LOG_TAU + self.scale.log()


_explain_missing(__name__)
