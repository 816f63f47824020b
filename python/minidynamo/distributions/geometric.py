"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import BinaryProbabilities
from .utils import broadcast_all


class Geometric(BinaryProbabilities):
    """The number of failures before the first success, of probability probs."""

    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return minidynamo.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        tiny = minidynamo.finfo(self.probs.dtype).tiny
        with minidynamo.no_grad():
            numbers = minidynamo.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype).clamp(min=tiny)
            return (numbers.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # Where both are 0 the product is 0, not 0 * -inf.
        probs = minidynamo.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return (
            minidynamo.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
            / self.probs
        )


_explain_missing(__name__)
