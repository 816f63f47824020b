"""The t distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution
from .gamma import Chi2
from .utils import broadcast_all


class StudentT(Distribution):
    """Of df degrees of freedom, about loc, in units of scale."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return minidynamo.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return minidynamo.where(self.df > 2, finite, minidynamo.where(self.df > 1, math.inf, math.nan))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, ("df", "loc", "scale"), _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        normal = minidynamo.randn(self._extended_shape(sample_shape), dtype=self.df.dtype)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * (squares / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        of_df = 0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma()
        norm = self.scale.log() + of_df - (0.5 * (self.df + 1.0)).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta


_explain_missing(__name__)
