"""Decompositions of stacks of matrices: the last two dims are a matrix."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting, require_wide
from .._composites.registry import prims, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def adjoint(A: Tensor) -> Tensor:
    """The conjugate transposes of matrices."""
    return A.mT.conj() if A.is_complex() else A.mT


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L @ L.mT = A, or with upper=True the upper triangular U with U.mT @ U = A.

    A (..., n, n) is symmetric and positive definite; only the requested triangle is read. Raises LinAlgError if A is
    not positive definite.
    """
    if is_autocasting():
        return full_precision(cholesky, A, upper=upper)
    require_tensor("linalg.cholesky", A, "A")
    if upper and A.dim() >= 2:
        return adjoint(prims.linalg_cholesky(adjoint(A)).contiguous())
    return prims.linalg_cholesky(A)


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R) with orthonormal columns of Q, an upper triangular R, and Q @ R = A, for A (..., m, n).

    mode "reduced": Q (..., m, k) and R (..., k, n), where k = min(m, n). "complete": Q (..., m, m) and R (..., m, n).
    "r": as reduced, but Q is not computed and is empty.
    """
    if is_autocasting():
        return full_precision(qr, A, mode)
    require_tensor("linalg.qr", A, "A")
    return prims.linalg_qr(A, mode)


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """(U, S, Vh) with U @ diag(S) @ Vh = A (..., m, n), orthonormal U and Vh, and S not negative, the largest first.

    U is (..., m, m) and Vh (..., n, n), without full_matrices (..., m, k) and (..., k, n), where k = min(m, n).
    driver chooses among algorithms elsewhere and has to be None. Raises LinAlgError if the algorithm does not converge.
    """
    if is_autocasting():
        return full_precision(svd, A, full_matrices, driver=driver)
    require_tensor("linalg.svd", A, "A")
    _no_driver("svd", driver)
    return prims.linalg_svd(A, "full" if full_matrices else "reduced")


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of A (..., m, n), the largest first: (..., min(m, n))."""
    if is_autocasting():
        return full_precision(svdvals, A, driver=driver)
    require_tensor("linalg.svdvals", A, "A")
    _no_driver("svdvals", driver)
    return prims.linalg_svdvals(A)


def _no_driver(op: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(f"[linalg_{op}] keyword argument `driver=` is only supported on other devices")


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of symmetric A (..., n, n): values (..., n), the smallest first; vectors in columns.

    Only the lower triangle is read, with UPLO="U" the upper one. Raises LinAlgError if the algorithm does not converge.
    """
    if is_autocasting():
        return full_precision(eigh, A, UPLO)
    require_tensor("linalg.eigh", A, "A")
    return prims.linalg_eigh(A, UPLO.upper())


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric A (..., n, n), the smallest first: (..., n)."""
    if is_autocasting():
        return full_precision(eigvalsh, A, UPLO)
    require_tensor("linalg.eigvalsh", A, "A")
    return prims.linalg_eigvalsh(A, UPLO.upper())


def det(A: Tensor) -> Tensor:
    """The determinants of square matrices A (..., n, n): (...)."""
    require_tensor("linalg.det", A, "A")
    return prims.linalg_det(A)


def slogdet(A: Tensor) -> Any:
    """(sign, logabsdet) of the determinants of A (..., n, n): for a singular matrix 0 and -inf."""
    require_tensor("linalg.slogdet", A, "A")
    return prims.linalg_slogdet(A)


def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The Moore-Penrose pseudo-inverses of A (..., m, n): (..., n, m).

    Singular values up to max(atol, rtol * the largest) count as zero. rtol is by default max(m, n) times the dtype's
    epsilon, or 0 where atol is given; rcond is an older name of it. hermitian=True takes A for symmetric.
    """
    require_tensor("linalg.pinv", A, "A")
    require_wide("linalg_pinv", A)
    rtol = rcond if rtol is None else rtol
    if hermitian:
        values, vectors = eigh(A)
        kept = values.abs() > cutoff(A, values.abs(), atol, rtol)
        return (vectors * _inverted(values, kept).unsqueeze(-2)).matmul(vectors.mT)
    U, S, Vh = svd(A, False)
    kept = S > cutoff(A, S, atol, rtol)
    return (Vh.mT * _inverted(S, kept).unsqueeze(-2)).matmul(U.mT)


def _inverted(values: Tensor, kept: Tensor) -> Tensor:
    return minidynamo.where(kept, values.reciprocal(), 0.0)


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """How many singular values of A (..., m, n) exceed max(atol, rtol * the largest): int64 (...).

    rtol is by default max(m, n) times the dtype's epsilon, or 0 where atol is given; tol is an older name of atol.
    hermitian=True takes A for symmetric. 0 for matrices without elements.
    """
    if is_autocasting():
        return full_precision(matrix_rank, A, tol, hermitian, atol=atol, rtol=rtol)
    require_tensor("linalg.matrix_rank", A, "A")
    if A.dim() >= 2 and A.is_floating_point() and A.numel() == 0:
        return minidynamo.zeros(A.shape[:-2], dtype=minidynamo.int64)
    if tol is not None:
        atol, rtol = tol, 0.0
    values = eigvalsh(A).abs() if hermitian else svdvals(A)
    return (values > cutoff(A, values, atol, rtol)).sum(-1)


def cutoff(A: Tensor, magnitudes: Tensor, atol: Any, rtol: Any) -> Tensor:
    """max(atol, rtol * the largest of magnitudes (..., k)) with torch's defaults: (..., 1)."""
    if rtol is None:
        epsilon = 2.0**-23 if A.dtype is minidynamo.float32 else 2.0**-52
        rtol = epsilon * max(A.shape[-2], A.shape[-1])
        if atol is not None:
            rtol = minidynamo.where(atol > 0, 0.0, rtol) if isinstance(atol, Tensor) else 0.0 if atol > 0 else rtol
    atol = 0.0 if atol is None else atol
    if isinstance(atol, Tensor):
        atol = atol.unsqueeze(-1)
    if isinstance(rtol, Tensor):
        rtol = rtol.unsqueeze(-1)
    if magnitudes.shape[-1] == 0:
        return magnitudes.sum(-1, True)
    largest = magnitudes.amax(-1, True) * rtol
    return minidynamo.maximum(largest, atol.to(largest.dtype)) if isinstance(atol, Tensor) else largest.clamp_min(atol)
