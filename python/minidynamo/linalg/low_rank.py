"""Singular values of matrices of low rank, by random projections: Halko, Martinsson and Tropp, arXiv:0909.4061."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .._composites.registry import composite, require_tensor
from . import decompositions


def _range_of(A: Tensor, mean: Tensor | None, count: int, iterations: int) -> Tensor:
    """Orthonormal columns whose span nearly contains that of A - mean: algorithm 4.4."""

    def project(matrix: Tensor, shift: Tensor | None, onto: Tensor) -> Tensor:
        image = matrix @ onto if shift is None else matrix @ onto - shift @ onto
        return decompositions.qr(image)[0]

    basis = project(A, mean, minidynamo.randn(A.shape[-1], count, dtype=A.dtype))
    for _ in range(iterations):
        basis = project(A.mH, None if mean is None else mean.mH, basis)
        basis = project(A, mean, basis)
    return basis


@composite("function")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """(U, S, V) with U @ diag(S) @ V.mH nearly A - M, for the q largest singular values: exact up to rank q.

    niter: how often the projection is refined; the random numbers are those of minidynamo.randn.
    """
    require_tensor("svd_lowrank", A, "A")
    is_wide = A.shape[-2] < A.shape[-1]
    mean = None if M is None else M.broadcast_to(A.shape)
    if is_wide:
        A, mean = A.mH, None if mean is None else mean.mH
    basis = _range_of(A, mean, 6 if q is None else q, 2 if niter is None else niter)
    small = basis.mH @ A if mean is None else basis.mH @ A - basis.mH @ mean
    U, S, Vh = decompositions.svd(small, full_matrices=False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if is_wide else (U, S, V)


@composite("function")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """svd_lowrank of a matrix of samples by features: V has the principal directions in its columns.

    center: the mean of each feature is subtracted first. q: by default 6, or as many as there are.
    """
    require_tensor("pca_lowrank", A, "A")
    rows, columns = A.shape[-2:]
    most = min(rows, columns)
    if q is None:
        q = min(6, most)
    elif not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
