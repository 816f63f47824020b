"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .location_scale import LocationScale


class Cauchy(LocationScale):
    """About loc, of half width scale at half height. It has no mean and no variance."""

    @property
    def mean(self) -> Tensor:
        return minidynamo.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return minidynamo.full_like(self.loc, math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        numbers = minidynamo.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + numbers * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).pow(2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


_explain_missing(__name__)
