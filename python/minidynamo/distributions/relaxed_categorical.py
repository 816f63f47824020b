"""Samples of one category softened by a temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs


class ExpRelaxedCategorical(Distribution):
    """The logarithms of RelaxedOneHotCategorical. probs, logits: (..., n); temperature: a 0-d tensor."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def param_shape(self) -> Any:
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, instance=_instance)
        new.temperature = self.temperature
        new._categorical = self._categorical.expand(batch_shape)
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        numbers = clamp_probs(minidynamo.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-numbers.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        temperature = minidynamo.as_tensor(self.temperature, dtype=value.dtype)
        factor = minidynamo.full_like(temperature, float(count)).lgamma() + temperature.log() * (count - 1)
        score = logits - value * temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + factor


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex that tend to its corners as temperature tends to 0."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs


_explain_missing(__name__)
