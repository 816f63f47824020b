"""The Gumbel distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .location_scale import LocationScale

_EULER = 0.57721566490153286060


class Gumbel(LocationScale):
    """Of the largest of many samples: location loc, scale scale."""

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        info = minidynamo.finfo(self.loc.dtype)
        numbers = minidynamo.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.icdf(numbers.clamp(info.tiny, 1 - info.eps))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + _EULER)


_explain_missing(__name__)
