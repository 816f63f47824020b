"""Inverses and solutions of systems of linear equations."""

from __future__ import annotations

from collections import namedtuple

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting
from .._composites.registry import prims, require_tensor
from .decompositions import det, matrix_rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_lstsq = namedtuple("_lstsq", "solution residuals rank singular_values")


def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices A (..., n, n). Raises LinAlgError for a singular one."""
    if is_autocasting():
        return full_precision(inv, A)
    require_tensor("linalg.inv", A, "A")
    return prims.linalg_inv(A)


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B is one vector for each matrix, and no matrix: torch's rule."""
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])


def _one_stack(A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the leading dims that they broadcast to."""
    if A.dim() == B.dim() == 2:
        return A, B
    sizes = minidynamo.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    return A.expand([*sizes, *A.shape[-2:]]), B.expand([*sizes, *B.shape[-2:]])


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X of A @ X = B, or of X @ A = B with left=False. A is (..., n, n); B is (..., n, k), or (..., n) for vectors.

    Leading dims broadcast. Raises LinAlgError for a singular matrix.
    """
    if is_autocasting():
        return full_precision(solve, A, B, left=left)
    require_tensor("linalg.solve", A, "A")
    require_tensor("linalg.solve", B, "B")
    return solved(A, B, left, lambda A, B: (prims.linalg_solve(A, B), None))[0]


def solved(A: Tensor, B: Tensor, left: bool, run: Any) -> tuple[Tensor, Any]:
    """X of A @ X = B as linalg.solve() takes them, by run(A, B), and what run returns behind it."""
    if A.dim() < 2 or B.dim() == 0:
        raise RuntimeError(
            f"[linalg_solve] A must have at least 2 dimensions, B at least 1; shapes {tuple(A.shape)} and"
            f" {tuple(B.shape)}"
        )
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            f"[linalg_solve] a vector cannot be B with left=False; shapes {tuple(A.shape)} and {tuple(B.shape)}"
        )
    if vector:
        B = B.unsqueeze(-1)
    if not left:
        A, B = A.mT, B.mT
    X, info = run(*_one_stack(A, B))
    X = X if left else X.mT
    return X.squeeze(-1) if vector else X, info


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """X of A @ X = B, or of X @ A = B with left=False, of which one triangle of A (..., n, n) is read.

    unitriangular=True takes the diagonal for ones. B is (..., n, k), with left=False (..., k, n), and is converted to
    A's dtype. Where the diagonal has a zero, X has infinities and NaNs.
    """
    require_tensor("linalg.solve_triangular", A, "A")
    require_tensor("linalg.solve_triangular", B, "B")
    if A.dim() < 2 or B.dim() < 2:
        raise RuntimeError(
            f"[linalg_solve_triangular] A and B must have at least 2 dimensions; shapes {tuple(A.shape)} and"
            f" {tuple(B.shape)}"
        )
    B = B.to(A.dtype)
    if not left:
        return solve_triangular(A.mT, B.mT, upper=not upper, unitriangular=unitriangular).mT
    return prims.linalg_triangular(*_one_stack(A, B), bool(upper), bool(unitriangular))


def _ones(A: Tensor) -> Tensor:
    return minidynamo.eye(A.shape[-1], dtype=A.dtype)


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """(solution, residuals, rank, singular_values): the X with the least norm of A @ X - B, the shortest if there are
    many.

    A is (..., m, n); B is (..., m, k), or (..., m) for vectors; leading dims broadcast. Singular values up to rcond
    times the largest, by default max(m, n) times the dtype's epsilon, count as zero; rank, int64, counts the others of
    each matrix of A. driver says what else is in the result, as in torch, where it names the algorithm; here that goes
    by singular values. With "gels", "gelsd" and "gelss" residuals (..., k) are the squared norms of A @ X - B where m
    > n, with the latter two only if every matrix has the rank n; with these singular_values (..., min(m, n)) are those
    of A, and with "gels" rank is empty. By default, "gelsy", both others are.
    """
    if is_autocasting():
        return full_precision(lstsq, A, B, rcond, driver=driver)
    require_tensor("linalg.lstsq", A, "A")
    require_tensor("linalg.lstsq", B, "B")
    if driver is not None and driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            f"[linalg_lstsq] parameter `driver` should be one of (gels, gelsy, gelsd, gelss), not {driver}"
        )
    if A.dim() < 2 or B.dim() == 0:
        raise RuntimeError(
            f"[linalg_lstsq] input must have at least 2 dimensions, other at least 1; shapes {tuple(A.shape)} and"
            f" {tuple(B.shape)}"
        )
    vector = A.dim() - 1 == B.dim() and B.shape == A.shape[:-1]
    stack, B = _one_stack(A, B.unsqueeze(-1) if vector else B)
    solution, rank = prims.linalg_lstsq(stack, B, rcond)
    if rank.shape != A.shape[:-2]:
        rank = matrix_rank(A, rtol=rcond)
    # Without elements, but a result of A and B.
    residuals, values = solution.reshape(-1)[:0].clone(), A.new_empty(0)
    rows, columns = A.shape[-2:]
    if driver == "gelsd" or driver == "gelss":
        values = prims.linalg_svdvals(A.detach())
    if rows > columns and (driver == "gels" or (values.numel() > 0 and bool((rank == columns).all()))):
        residuals = (stack.matmul(solution) - B).square().sum(-2)
    if driver == "gels":
        rank = rank.new_empty(0)
    if vector:
        solution = solution.squeeze(-1)
        residuals = residuals.squeeze(-1) if residuals.dim() > 1 else residuals
    return _lstsq(solution, residuals, rank, values)


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its dims from `ind` on to those before: tensordot(tensorinv(A), A, ind) is the
    identity.
    """
    if is_autocasting():
        return full_precision(tensorinv, A, ind)
    require_tensor("linalg.tensorinv", A, "A")
    if ind <= 0:
        raise RuntimeError(f"[linalg_tensorinv] expected a strictly positive integer for 'ind', but got {ind}")
    first, last = A.shape[:ind], A.shape[ind:]
    if first.numel() != last.numel():
        raise RuntimeError(
            f"[linalg_tensorinv] the product of the first {ind} dims and of the others must be equal; shape"
            f" {tuple(A.shape)}"
        )
    return inv(A.reshape(first.numel(), last.numel())).reshape([*last, *first])


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X of tensordot(A, X, X.dim()) = B. dims are moved to the end of A before."""
    if is_autocasting():
        return full_precision(tensorsolve, A, B, dims)
    require_tensor("linalg.tensorsolve", A, "A")
    require_tensor("linalg.tensorsolve", B, "B")
    if dims is not None:
        A = A.movedim(list(dims), list(range(A.dim() - len(dims), A.dim())))
    sizes = A.shape[B.dim() :]
    if sizes.numel() != B.numel():
        raise RuntimeError(
            f"[linalg_tensorsolve] the sizes of A do not fit those of B; shapes {tuple(A.shape)} and {tuple(B.shape)}"
        )
    matrix = A.reshape(B.numel(), B.numel())
    return solve(matrix, B.reshape(-1)).reshape(sizes)


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X of A @ X = B (..., n, k), where L (..., n, n) is A's Cholesky factor, lower triangular unless upper=True."""
    if is_autocasting():
        return full_precision(cholesky_solve, B, L, upper)
    require_tensor("cholesky_solve", B, "B")
    require_tensor("cholesky_solve", L, "L")
    if upper:
        L = L.mT
    return solve_triangular(L.mT, solve_triangular(L, B, upper=False), upper=True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is L (..., n, n), lower triangular unless upper=True."""
    if is_autocasting():
        return full_precision(cholesky_inverse, L, upper)
    require_tensor("cholesky_inverse", L, "L")
    return cholesky_solve(_ones(L).expand(L.shape), L, upper=upper)


def logdet(A: Tensor) -> Tensor:
    """The logarithms of the determinants of A (..., n, n): NaN where that is negative, -inf where it is zero."""
    require_tensor("logdet", A, "A")
    sign, logarithm = prims.linalg_slogdet(A)
    return minidynamo.where(sign < 0, float("nan"), logarithm)


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th powers of square matrices; of the inverses if n is negative."""
    return minidynamo.matrix_power(A, n)


__all__ = [
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "inv",
    "logdet",
    "lstsq",
    "matrix_power",
    "solve",
    "solve_triangular",
    "tensorinv",
    "tensorsolve",
]
