"""Distribution: shapes of batches and events, checks, and what follows from log_prob and rsample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .. import _C
from .._C import Size, Tensor
from .._missing_names import explain_missing as _explain_missing
from .constraints import Constraint, is_dependent, real, unit_interval
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class Distribution:
    """batch_shape: of independent distributions. event_shape: of one sample of one of them.

    Unless validate_args is False, parameters and values outside of their constraints raise ValueError.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict[str, Constraint] = {}
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions made from here on check their arguments."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            lazy = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if is_dependent(constraint) or lazy:
                continue  # a lazy one is derived from what was checked
            value = getattr(self, name)
            if not _C._data_holds(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        fixed = value.dim() - len(self._event_shape)
        if tuple(value.shape[fixed:]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{tuple(value.shape)} vs {tuple(self._event_shape)}."
            )
        for given, own in zip(reversed(value.shape), reversed([*self._batch_shape, *self._event_shape])):
            if given != 1 and own != 1 and given != own:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{tuple(value.shape)} vs {(*self._batch_shape, *self._event_shape)}."
                )
        support = self.support
        if support is None or is_dependent(support):
            return
        if not _C._data_holds(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    @property
    def support(self) -> Any:
        """The constraint of samples."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution with its batch broadcast to a shape."""
        raise NotImplementedError

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples of shape (*sample_shape, *batch_shape, *event_shape), without gradients."""
        with minidynamo.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples that are a function of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability of each event."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of cdf()."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a new first dim."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)"""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size([*sample_shape, *self._batch_shape, *self._event_shape])

    def _expanded(self, batch_shape: Sequence[int], names: Sequence[str] = (), instance: Any = None) -> Any:
        """A copy in which the parameters of these names, and what was derived from them, are broadcast."""
        new = type(self).__new__(type(self)) if instance is None else instance
        for name in names:
            if name in self.__dict__:
                value = getattr(self, name)
                own = value.shape[len(self._batch_shape) :] if value.dim() >= len(self._batch_shape) else ()
                setattr(new, name, value.expand([*batch_shape, *own]))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = [(name, self.__dict__[name]) for name in names]
        text = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in values)
        return f"{type(self).__name__}({text})"


class ProbabilitiesOrLogits(Distribution):
    """Distributions that are given either probs or logits; the other is computed when it is read."""

    _is_binary = True

    def _set_parameter(self, probs: Any, logits: Any) -> Tensor:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._is_probs = probs is not None
        return probs if self._is_probs else logits

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of odds, or of probabilities."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Tensor:
        return self.probs if self._is_probs else self.logits

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, ("probs", "logits"), _instance)
        new._is_probs = self._is_probs
        return new


class BinaryProbabilities(ProbabilitiesOrLogits):
    """Distributions of one probability for each element of the batch."""

    arg_constraints = {"probs": unit_interval, "logits": real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        (parameter,) = broadcast_all(self._set_parameter(probs, logits))
        setattr(self, "probs" if self._is_probs else "logits", parameter)
        super().__init__(parameter.shape, validate_args=validate_args)


_explain_missing(__name__)
