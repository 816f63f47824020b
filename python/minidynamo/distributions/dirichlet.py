"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.registry import prims
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution


class Dirichlet(Distribution):
    """Over probabilities of n outcomes. concentration: (..., n)."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        a = (self.concentration - 1).clamp(min=0.0)
        mode = a / a.sum(-1, True)
        at_corner = (self.concentration < 1).all(-1, True)
        corner = minidynamo.nn.functional.one_hot(mode.argmax(-1), self._event_shape[0]).to(mode.dtype)
        return minidynamo.where(at_corner, corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return self._expanded(batch_shape, ("concentration",), _instance)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        numbers = prims.gamma_numbers(self.concentration.expand(self._extended_shape(sample_shape)).double())
        return (numbers / numbers.sum(-1, True)).to(self.concentration.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return minidynamo.xlogy(a - 1.0, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = a.shape[-1], a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)


_explain_missing(__name__)
