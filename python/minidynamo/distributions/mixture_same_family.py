"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """The components are the last dim of component_distribution's batch, chosen by mixture_distribution."""

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch = component_distribution.batch_shape
        count = mixture_distribution.probs.shape[-1]
        if batch and count != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({batch[-1]})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    @property
    def support(self) -> constraints.Constraint:
        return self._component_distribution.support

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, instance=_instance)
        new._component_distribution = self._component_distribution.expand([*batch_shape, self._num_component])
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        return new

    def _weights(self) -> Tensor:
        probs = self._mixture_distribution.probs
        return probs.reshape([*probs.shape, *[1] * len(self._event_shape)])

    @property
    def _dim(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(self._dim)

    @property
    def variance(self) -> Tensor:
        component, weights = self._component_distribution, self._weights()
        between = (component.mean - self.mean.unsqueeze(self._dim)).pow(2)
        return (weights * component.variance).sum(self._dim) + (weights * between).sum(self._dim)

    def cdf(self, value: Tensor) -> Tensor:
        found = self._component_distribution.cdf(value.unsqueeze(self._dim))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        found = self._component_distribution.log_prob(value.unsqueeze(self._dim))
        return (found + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        chosen = self._mixture_distribution.sample(sample_shape)
        samples = self._component_distribution.sample(sample_shape)
        index = chosen.reshape([*chosen.shape, *[1] * (len(self._event_shape) + 1)])
        sizes = [*chosen.shape, 1, *self._event_shape]
        return samples.gather(self._dim, index.expand(sizes)).squeeze(self._dim)


_explain_missing(__name__)
