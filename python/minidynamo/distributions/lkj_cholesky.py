"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all


class LKJCholesky(Distribution):
    """Factors (..., dim, dim) of correlation matrices of density det**(concentration - 1) up to a factor.

    Source: D. Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation matrices based on vines and extended
    onion method" (2009): the onion method.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        offset = minidynamo.arange(dim - 1, dtype=self.concentration.dtype)
        offset = minidynamo.cat([offset.new_zeros(1), offset])
        marginal = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal - 0.5 * offset)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = self._expanded(batch_shape, ("concentration",), _instance)
        new.dim = self.dim
        new._beta = self._beta.expand([*batch_shape, self.dim])
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with minidynamo.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = minidynamo.randn(self._extended_shape(sample_shape), dtype=y.dtype).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            # The first row has no elements before its diagonal.
            below = minidynamo.arange(self.dim).unsqueeze(-1) > 0
            w = y.sqrt() * minidynamo.where(below, directions, 0.0)
            rest = (1 - w.pow(2).sum(-1)).clamp(min=minidynamo.finfo(w.dtype).tiny)
            return w + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = minidynamo.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        norm = 0.5 * count * math.log(math.pi) + (alpha - 0.5).mvlgamma(count) - alpha.lgamma() * count
        return (order * diagonal.log()).sum(-1) - norm


_explain_missing(__name__)
