"""The normal distribution of vectors."""

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


class MultivariateNormal(Distribution):
    """Of mean loc (..., n) and one of covariance_matrix, precision_matrix, scale_tril, each (..., n, n)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        matrices = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(matrices) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = matrices[0]
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = minidynamo.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand([*batch, -1, -1]))
        self.loc = loc.expand([*batch, -1])
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = minidynamo.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand([*self._batch_shape, *self._event_shape, *self._event_shape])

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand([*self._batch_shape, *self._event_shape, *self._event_shape])

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        inverse = minidynamo.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand([*self._batch_shape, *self._event_shape, *self._event_shape])

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand([*self._batch_shape, *self._event_shape])

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        names = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
        new = self._expanded(batch_shape, names, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        numbers = minidynamo.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ numbers.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = squared_mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - _half_log_det(factor)

    def entropy(self) -> Tensor:
        result = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (result + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


def squared_mahalanobis(factor: Tensor, difference: Tensor) -> Tensor:
    """difference^T (L L^T)^-1 difference, for each vector."""
    solved = minidynamo.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _half_log_det(factor: Tensor) -> Tensor:
    return factor.diagonal(0, -2, -1).log().sum(-1)


def _precision_to_scale_tril(precision: Any) -> Tensor:
    # The factor of the inverse is the inverse of the transposed factor of the matrix with both dims reversed.
    flipped = minidynamo.linalg.cholesky(precision.flip((-2, -1)))
    upper = flipped.flip((-2, -1)).mT
    identity = minidynamo.eye(precision.shape[-1], dtype=precision.dtype)
    return minidynamo.linalg.solve_triangular(upper, identity, upper=False)


_explain_missing(__name__)
