"""The gamma distribution, and chi-squared as a case of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.registry import prims
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all


class Gamma(Distribution):
    """Of shape parameter concentration, and rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, ("concentration", "rate"), _instance)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        value = prims.gamma_numbers(self.concentration.expand(self._extended_shape(sample_shape))) / self.rate
        return value.clamp(min=minidynamo.finfo(value.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return minidynamo.xlogy(a, rate) + minidynamo.xlogy(a - 1, value) - rate * value - a.lgamma()

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Chi2(Gamma):
    """Of df degrees of freedom: Gamma(df / 2, 1 / 2)."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2


_explain_missing(__name__)
