"""The Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import ProbabilitiesOrLogits
from .utils import broadcast_all


class Bernoulli(ProbabilitiesOrLogits):
    """1 with probability probs, or sigmoid(logits), else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (parameter,) = broadcast_all(self._set_parameter(probs, logits))
        setattr(self, "probs" if self._is_probs else "logits", parameter)
        super().__init__(parameter.shape, validate_args=validate_args)

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return minidynamo.where(self.probs == 0.5, minidynamo.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, ("probs", "logits"), _instance)
        new._is_probs = self._is_probs
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with minidynamo.no_grad():
            return minidynamo.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -minidynamo.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return minidynamo.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = minidynamo.arange(2, dtype=self._param.dtype).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


_explain_missing(__name__)
