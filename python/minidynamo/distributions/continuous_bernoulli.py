"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import ProbabilitiesOrLogits
from .utils import broadcast_all, clamp_probs, lazy_property


class ContinuousBernoulli(ProbabilitiesOrLogits):
    """On [0, 1], with the density probs**x * (1 - probs)**(1 - x) up to a factor.

    Between lims, about 1 / 2, where that factor is a difference of nearly equal numbers, series take its place.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        (parameter,) = broadcast_all(self._set_parameter(probs, logits))
        if self._is_probs:
            wrong = validate_args is not None and not bool(self.arg_constraints["probs"].check(parameter).all())
            if wrong:
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(parameter)
        else:
            self.logits = parameter
        self._lims = lims
        super().__init__(parameter.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, away from 0 and 1."""
        return clamp_probs(self.logits.sigmoid())

    @property
    def param_shape(self) -> Any:
        return self._param.shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._lims = self._lims
        return new

    def _is_apart(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        return minidynamo.where(self._is_apart(), self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        cut = self._cut()
        below, above = minidynamo.where(cut <= 0.5, cut, 0.0), minidynamo.where(cut >= 0.5, cut, 1.0)
        width = minidynamo.where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return minidynamo.where(self._is_apart(), ((-cut).log1p() - cut.log()).abs().log() - width, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut()
        found = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        return minidynamo.where(self._is_apart(), found, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut = self._cut()
        found = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return minidynamo.where(self._is_apart(), found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with minidynamo.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(minidynamo.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        entropy = minidynamo.nn.functional.binary_cross_entropy_with_logits
        return -entropy(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut()
        found = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = minidynamo.where(self._is_apart(), found, value)
        return minidynamo.where(value <= 0.0, 0.0, minidynamo.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        found = ((-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()) / (cut.log() - (-cut).log1p())
        return minidynamo.where(self._is_apart(), found, value)

    def entropy(self) -> Tensor:
        zero, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (zero - one) - self._log_norm() - zero


_explain_missing(__name__)
