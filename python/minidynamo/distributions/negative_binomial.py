"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.registry import prims
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import ProbabilitiesOrLogits
from .gamma import Gamma
from .utils import broadcast_all, lazy_property


class NegativeBinomial(ProbabilitiesOrLogits):
    """The number of successes, of probability probs, before total_count failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = self._set_parameter(probs, logits)
        self.total_count, parameter = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(parameter)
        setattr(self, "probs" if self._is_probs else "logits", parameter)
        super().__init__(parameter.shape, validate_args=validate_args)

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        # What validates the parameters is this distribution.
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.total_count = self.total_count.expand(batch_shape)
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with minidynamo.no_grad():
            return prims.poisson_numbers(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_sigmoid = minidynamo.nn.functional.logsigmoid
        unnormalized = self.total_count * log_sigmoid(-self.logits) + value * log_sigmoid(self.logits)
        norm = -(self.total_count + value).lgamma() + (1.0 + value).lgamma() + self.total_count.lgamma()
        # Without failures and successes lgamma is infinite twice.
        return unnormalized - norm.masked_fill(self.total_count + value == 0.0, 0.0)


_explain_missing(__name__)
