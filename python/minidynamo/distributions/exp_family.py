"""ExponentialFamily: the base class of distributions with natural parameters."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """A subclass defines _natural_params, _log_normalizer(*params) and _mean_carrier_measure: entropy() follows.

    Source: F. Nielsen, R. Nock, "Entropies and cross-entropies of exponential families" (2010).
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        result = -self._mean_carrier_measure
        params = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = minidynamo.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for param, gradient in zip(params, gradients):
            part = param * gradient
            result = result - part.reshape([*self._batch_shape, -1]).sum(-1)
        return result


_explain_missing(__name__)
