"""The Wishart distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .distribution import Distribution
from .gamma import Chi2
from .multivariate_normal import _precision_to_scale_tril
from .utils import lazy_property


class Wishart(Distribution):
    """Of sums of outer products of df normal vectors of a covariance: matrices (..., n, n), df > n - 1.

    One of covariance_matrix, precision_matrix and scale_tril is given, each (..., n, n). Samples by Bartlett's
    decomposition: M. S. Bartlett, "On the theory of statistical regression" (1933).
    """

    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        matrices = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(matrices) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = matrices[0]
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = minidynamo.as_tensor(df, dtype=matrix.dtype)
        batch = minidynamo.broadcast_shapes(matrix.shape[:-2], df.shape)
        n = matrix.shape[-1]
        self.df = df.expand(batch)
        if bool((df <= n - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand([*batch, n, n]))
        self.arg_constraints = {
            "df": constraints.greater_than(n - 1),
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
        }
        super().__init__(batch, (n, n), validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = minidynamo.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)
        self._squares = self._made_squares()

    def _made_squares(self) -> Chi2:
        n = self._event_shape[-1]
        return Chi2(self.df.unsqueeze(-1) - minidynamo.arange(n, dtype=self.df.dtype).expand([*self._batch_shape, -1]))

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        names = ("df", "covariance_matrix", "precision_matrix", "scale_tril")
        new = self._expanded(batch_shape, names, _instance)
        new.arg_constraints = self.arg_constraints
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._squares = new._made_squares()
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand([*self._batch_shape, *self._event_shape])

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand([*self._batch_shape, *self._event_shape])

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        inverse = minidynamo.cholesky_inverse(self._unbroadcasted_scale_tril)
        return inverse.expand([*self._batch_shape, *self._event_shape])

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return minidynamo.where(factor <= 0, math.nan, factor)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        diagonal = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (self.covariance_matrix.pow(2) + products)

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Tensor:
        shape = self._extended_shape(sample_shape)
        diagonal = self._squares.rsample(sample_shape).sqrt().diag_embed()
        below = minidynamo.randn(shape, dtype=self.df.dtype).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (diagonal + below)
        return factor @ factor.mT

    def _log_diagonal(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril.expand([*value.shape[:-2], n, n])
        trace = minidynamo.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        norm = self.df * (n * math.log(2) / 2 + self._log_diagonal()) + (self.df / 2).mvlgamma(n)
        return (self.df - n - 1) / 2 * minidynamo.linalg.slogdet(value).logabsdet - trace / 2 - norm

    def entropy(self) -> Tensor:
        n = self._event_shape[-1]
        half = self.df / 2
        digammas = (half.unsqueeze(-1) - minidynamo.arange(n, dtype=half.dtype) / 2).digamma().sum(-1)
        size = (n + 1) * (n * math.log(2) / 2 + self._log_diagonal())
        return size + half.mvlgamma(n) - (self.df - n - 1) / 2 * digammas + self.df * n / 2


_explain_missing(__name__)
