"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import ProbabilitiesOrLogits
from .utils import broadcast_all


def _positive_part(x: Tensor) -> Tensor:
    """max(x, 0), with the slope 1 / 2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbabilitiesOrLogits):
    """The number of successes, of probability probs, of total_count trials."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = self._set_parameter(probs, logits)
        self.total_count, parameter = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(parameter)
        setattr(self, "probs" if self._is_probs else "logits", parameter)
        super().__init__(parameter.shape, validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.total_count = self.total_count.expand(batch_shape)
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with minidynamo.no_grad():
            return minidynamo.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        norm = n * _positive_part(logits) + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - norm

    def _one_count(self, what: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return count

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        found = self.log_prob(self.enumerate_support(False))
        return -(found.exp() * found).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        values = minidynamo.arange(1 + count, dtype=self._param.dtype)
        values = values.view([-1, *[1] * len(self._batch_shape)])
        return values.expand([-1, *self._batch_shape]) if expand else values


_explain_missing(__name__)
