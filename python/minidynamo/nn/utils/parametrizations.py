"""Parametrizations: by length and direction, by the largest singular value, orthogonal matrices."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.other_names import norm_except_dim
from ..._missing_names import explain_missing as _explain_missing
from .. import functional as F
from ..module import Module
from . import parametrize
from .spectral_norm import as_matrix, default_dim
from .weight_norm import scaled_to


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled_to(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Has module.name computed from its lengths, original0, and directions, original1: one length for each index of
    dim, or one in all for dim None. Returns the module.

    load_state_dict takes the names of the older weight_norm, too: name_g and name_v.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older_names(state_dict: Any, prefix: str, *args: Any) -> None:
        older = [f"{prefix}{name}_{letter}" for letter in "gv"]
        if all(key in state_dict for key in older):
            for at, key in enumerate(older):
                state_dict[f"{prefix}parametrizations.{name}.original{at}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_older_names)
    return module


def _power_steps(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> tuple[Tensor, Tensor]:
    """Steps of the power method; unlike the older form they begin with u."""
    for _ in range(count):
        u = F.normalize(minidynamo.mv(matrix, v), dim=0, eps=eps)
        v = F.normalize(minidynamo.mv(matrix.t(), u), dim=0, eps=eps)
    return u, v


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if dim >= rank or dim < -rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            rows, columns = matrix.shape
            u = F.normalize(matrix.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(matrix.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
            # Enough steps that the first result is close already.
            u, v = _power_steps(matrix, u, v, 15, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        u, v = self._u, self._v
        if self.training:
            with minidynamo.no_grad():
                u, v = _power_steps(matrix, u, v, self.n_power_iterations, self.eps)
                self._u.copy_(u)
                self._v.copy_(v)
        return weight / minidynamo.dot(u, minidynamo.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Has module.name divided by its largest singular value, which steps of the power method estimate in training.

    dim: that of the outputs. Returns the module; ValueError if there is no such tensor.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = default_dim(module) if dim is None else dim
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


class _Orthogonal(Module):
    """By matrix_exp or cayley of the part of a matrix that is skew-symmetric, times a fixed base."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.shape = weight.shape
        self.register_buffer("base", None)
        if use_trivialization:
            size = max(weight.shape[-2:])
            self.base = minidynamo.zeros((*weight.shape[:-2], size, size), dtype=weight.dtype)

    def forward(self, X: Tensor) -> Tensor:
        rows, columns = X.shape[-2], X.shape[-1]
        wide = rows < columns
        tall = X.mT if wide else X
        rows, columns = max(rows, columns), min(rows, columns)
        lower = tall.tril()
        if rows != columns:
            lower = minidynamo.cat([lower, lower.new_zeros(rows, rows - columns).expand(*tall.shape[:-2], -1, -1)], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            made = minidynamo.matrix_exp(skew)
        else:
            unit = minidynamo.eye(rows, dtype=skew.dtype)
            made = minidynamo.linalg.solve(unit - skew * 0.5, unit + skew * 0.5)
        if rows != columns:
            made = made[..., :columns]
        if self.base is not None:
            made = self.base @ made
        return made.mT if wide else made

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        if self.base is None:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when"
                " use_trivialization=False."
            )
        return self._based_on(Q)

    def _based_on(self, Q: Tensor) -> Tensor:
        """Makes Q, or an orthogonal matrix next to it, the base, and leaves what gives the identity as the variable."""
        rows, columns = Q.shape[-2], Q.shape[-1]
        tall = Q.mT if rows < columns else Q
        if rows == columns and _is_orthogonal(Q):
            self.base = Q.clone()
        else:
            count = abs(rows - columns)
            added = tall.new_empty((*tall.shape[:-1], count)).normal_(0, 1)
            q, r = minidynamo.linalg.qr(minidynamo.cat([tall, added], -1) if count else tall)
            self.base = q * r.diagonal(0, -2, -1).sign().unsqueeze(-2)
        start = minidynamo.zeros_like(Q)
        start.diagonal(0, -2, -1).fill_(-1.0)
        return start


def _is_orthogonal(Q: Tensor) -> bool:
    unit = minidynamo.eye(Q.shape[-1], dtype=Q.dtype)
    eps = 10 * Q.shape[-1] * minidynamo.finfo(Q.dtype).eps
    return minidynamo.allclose(Q.mH @ Q, unit.expand(Q.shape), atol=eps)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Has module.name be an orthogonal matrix, or one with orthonormal rows or columns. Returns the module.

    orthogonal_map: "matrix_exp", by default for square matrices and with one dim more, or "cayley". "householder",
    torch's default for other shapes, needs householder_product, which minidynamo lacks: NotImplementedError.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    if orthogonal_map == "householder":
        raise NotImplementedError('minidynamo has no householder_product: use orthogonal_map="matrix_exp" or "cayley"')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module


_explain_missing(__name__)
