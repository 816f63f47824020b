"""The normal distribution of vectors whose covariance is a product of low rank and a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution
from .utils import lazy_property


class LowRankMultivariateNormal(Distribution):
    """Of mean loc (..., n) and covariance cov_factor @ cov_factor.mT + diag(cov_diag).

    cov_factor: (..., n, rank); cov_diag: (..., n). By the matrix determinant lemma and Woodbury's formula only matrices
    of the size of the rank are factored.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        event = loc.shape[-1:]
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        batch = minidynamo.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand([*batch, -1])
        self.cov_factor = cov_factor.expand([*batch, *cov_factor.shape[-2:]])
        self.cov_diag = cov_diag.expand([*batch, -1])
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        names = ("loc", "cov_diag", "cov_factor", "scale_tril", "covariance_matrix", "precision_matrix")
        new = self._expanded(batch_shape, names, _instance)
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        return new

    def _square(self, matrix: Tensor) -> Tensor:
        return matrix.expand([*self._batch_shape, *self._event_shape, *self._event_shape])

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand([*self._batch_shape, *self._event_shape])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = scaled @ scaled.mT + minidynamo.eye(self._event_shape[0], dtype=root.dtype)
        return self._square(root * minidynamo.linalg.cholesky(inner))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        return self._square(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        part = minidynamo.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._square(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - part.mT @ part)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        of_factor = minidynamo.randn([*shape[:-1], self.cov_factor.shape[-1]], dtype=self.loc.dtype)
        of_diag = minidynamo.randn(shape, dtype=self.loc.dtype)
        low = (self._unbroadcasted_cov_factor @ of_factor.unsqueeze(-1)).squeeze(-1)
        return self.loc + low + self._unbroadcasted_cov_diag.sqrt() * of_diag

    def _log_det(self) -> Tensor:
        logs = self._capacitance_tril.diagonal(0, -2, -1).log().sum(-1)
        return 2 * logs + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = squared_distance(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, value - self.loc, self._capacitance_tril
        )
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape)


def _capacitance_tril(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of I + W^T D^-1 W."""
    inner = (factor.mT / diag.unsqueeze(-2)) @ factor
    return minidynamo.linalg.cholesky(inner + minidynamo.eye(factor.shape[-1], dtype=factor.dtype))


def squared_distance(factor: Tensor, diag: Tensor, difference: Tensor, capacitance_tril: Tensor) -> Tensor:
    """difference^T (W W^T + D)^-1 difference, for each vector."""
    projected = ((factor.mT / diag.unsqueeze(-2)) @ difference.unsqueeze(-1)).squeeze(-1)
    solved = minidynamo.linalg.solve_triangular(capacitance_tril, projected.unsqueeze(-1), upper=False)
    return (difference.pow(2) / diag).sum(-1) - solved.squeeze(-1).pow(2).sum(-1)


_explain_missing(__name__)
