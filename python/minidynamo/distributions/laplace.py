"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .location_scale import LocationScale


class Laplace(LocationScale):
    """About loc, falling by exp(-distance / scale) on both sides."""

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # Never -1, whose logarithm below would be of 0.
        eps = minidynamo.finfo(self.loc.dtype).eps
        shape = self._extended_shape(sample_shape)
        numbers = minidynamo.rand(shape, dtype=self.loc.dtype) * (2.0 - eps) + (eps - 1.0)
        return self.loc - self.scale * numbers.sign() * (-numbers.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 - 0.5 * (value - self.loc).sign() * (-(value - self.loc).abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


_explain_missing(__name__)
