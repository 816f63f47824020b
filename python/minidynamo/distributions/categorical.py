"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution, ProbabilitiesOrLogits


class Categorical(ProbabilitiesOrLogits):
    """0 .. n - 1 with probabilities in proportion to probs, or to exp(logits), of shape (..., n)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        parameter = self._set_parameter(probs, logits)
        if parameter.dim() < 1:
            raise ValueError(f"`{'probs' if self._is_probs else 'logits'}` parameter must be at least one-dimensional.")
        if self._is_probs:
            self.probs = parameter / parameter.sum(-1, keepdim=True)
        else:
            self.logits = parameter - parameter.logsumexp(-1, keepdim=True)
        self._num_events = parameter.shape[-1]
        super().__init__(parameter.shape[:-1], validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return minidynamo.full(self._extended_shape(), minidynamo.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return minidynamo.full(self._extended_shape(), minidynamo.nan, dtype=self.probs.dtype)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._num_events = self._num_events
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        count = Distribution._extended_shape(self, sample_shape).numel() // max(self._batch_shape.numel(), 1)
        probs = self.probs.reshape(-1, self._num_events)
        drawn = minidynamo.multinomial(probs, count, True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        index, logits = minidynamo.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        lowest = minidynamo.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=lowest) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = minidynamo.arange(self._num_events).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


_explain_missing(__name__)
