"""LU decompositions and what solves by them; Householder reflections."""

from __future__ import annotations

from collections import namedtuple

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting
from .._composites.registry import composite, is_inexact, is_narrow, prims, require_tensor
from .decompositions import adjoint as _adjoint
from .solutions import _one_stack, solve_triangular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_lu_factor = namedtuple("_lu_factor", "LU pivots")
_lu_factor_ex = namedtuple("_lu_factor_ex", "LU pivots info")
_lu = namedtuple("_lu", "P L U")
_geqrf = namedtuple("_geqrf", "a tau")
_triangular_solve = namedtuple("_triangular_solve", "solution cloned_coefficient")


def _require_matrices(op: str, A: Tensor) -> None:
    require_tensor(op, A, "A")
    if A.dim() < 2:
        raise RuntimeError(f"[{op}] The input tensor A must have at least 2 dimensions.")
    if A.dtype not in (minidynamo.float32, minidynamo.float64, minidynamo.complex64, minidynamo.complex128):
        raise RuntimeError(f"[{op}] Expected a floating point or complex tensor as input. Got {A.dtype}")


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """lu_factor(), with the number of the first column whose pivot is 0, counted from 1; 0 if there is none."""
    _require_matrices("linalg.lu_factor_ex", A)
    LU, pivots, info = prims.linalg_lu_factor(A, pivot)
    if check_errors:
        _check_divisors("torch.linalg.lu_factor_ex", info)
    return _lu_factor_ex(LU, pivots, info)


def _check_divisors(op: str, info: Tensor) -> None:
    """Raises RuntimeError, as torch, for the first matrix with a zero on the diagonal of U."""
    failed = info.reshape(-1).nonzero()
    if failed.numel() == 0:
        return
    first = int(failed[0])
    where = int(info.reshape(-1)[first])
    element = f" (Batch element {first}):" if info.ndim else ""
    raise RuntimeError(
        f"{op}:{element} U[{where},{where}] is zero and using it on lu_solve would result in a division by zero. "
        "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L below the diagonal and U in one matrix, and the rows that were exchanged, counted from 1. A: (..., m, n)."""
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    _check_divisors("torch.linalg.lu_factor", info)
    return _lu_factor(LU, pivots)


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """(P, L, U) with P @ L @ U = A: a permutation, a lower triangle with ones, an upper triangle."""
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    P, L, U = lu_unpack(LU, pivots)
    return _lu(P if pivot else minidynamo.empty(0, dtype=A.dtype), L, U)


@composite("function")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """(P, L, U) of what lu_factor() gives; empty tensors for what is not unpacked."""
    require_tensor("lu_unpack", LU_data, "LU_data")
    if LU_pivots.dtype != minidynamo.int32 and unpack_pivots:
        raise RuntimeError("[lu_unpack] LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    rows, columns = LU_data.shape[-2:]
    steps = min(rows, columns)
    nothing = minidynamo.empty(0, dtype=LU_data.dtype)
    P, L, U = nothing, nothing, nothing
    if unpack_data:
        L = LU_data[..., :steps].tril(-1) + minidynamo.eye(rows, steps, dtype=LU_data.dtype)
        U = LU_data[..., :steps, :].triu()
    if unpack_pivots:
        order = prims.linalg_pivot_order(LU_pivots, rows)
        P = (order.unsqueeze(-2) == minidynamo.arange(rows).unsqueeze(-1)).to(LU_data.dtype)
    return _lu(P, L, U)


@composite("function method")
def lu_of(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """(LU, pivots), and with get_infos what lu_factor_ex() says of each matrix."""
    LU, pivots, info = lu_factor_ex(A, pivot=pivot)
    return (LU, pivots, info) if get_infos else (LU, pivots)


@composite("function method")
def lu_solve_of(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X of A @ X = b, by the result of lu_factor(A)."""
    if is_autocasting():
        return full_precision(lu_solve_of, b, LU_data, LU_pivots)
    require_tensor("lu_solve", b, "b")
    return lu_solve(LU_data, LU_pivots, b)


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X of A @ X = B, or X @ A = B with left=False, by the result of lu_factor(A); adjoint: A's adjoint instead."""
    require_tensor("linalg.lu_solve", LU, "LU")
    require_tensor("linalg.lu_solve", B, "B")
    if not left:
        return _adjoint(lu_solve(LU, pivots, _adjoint(B), adjoint=not adjoint))
    if LU.shape[-1] != LU.shape[-2]:
        raise RuntimeError("[linalg.lu_solve] A must be batches of square matrices")
    LU, B = _one_stack(LU, B)
    places = prims.linalg_pivot_order(pivots, LU.shape[-1]).unsqueeze(-1)
    if adjoint:
        upper = _adjoint(LU)
        inner = prims.linalg_triangular(upper, B, False, False)
        found = prims.linalg_triangular(upper, inner, True, True)
        return _rows_at(found, places.argsort(-2))
    inner = prims.linalg_triangular(LU, _rows_at(B, places), False, True)
    return prims.linalg_triangular(LU, inner, True, False)


def _rows_at(B: Tensor, places: Tensor) -> Tensor:
    return B.gather(-2, places.expand(B.shape))


@composite("function method")
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """(X, A) with A @ X = b, or A^T @ X = b with transpose, for a triangular A."""
    if is_autocasting():
        return full_precision(triangular_solve, b, A, upper, transpose, unitriangular)
    require_tensor("triangular_solve", b, "b")
    require_tensor("triangular_solve", A, "A")
    if is_narrow(A) or not is_inexact(A):
        raise RuntimeError(f"[triangular_solve] not implemented for {A.dtype}")
    A, b = _one_stack(A, b)
    matrix = A.mT if transpose else A
    found = solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return _triangular_solve(found.mT.contiguous().mT, A.mT.contiguous().mT)


@composite("function method")
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """linalg.householder_product."""
    if is_autocasting():
        return full_precision(orgqr, input, tau)
    return householder_product(input, tau)


def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of reflections I - tau * v @ v^H; A (..., m, n) has v below the diagonal."""
    if is_autocasting():
        return full_precision(householder_product, A, tau)
    _require_matrices("linalg.householder_product", A)
    rows, columns = A.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if tau.shape[-1] > columns:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if A.dim() - tau.dim() != 1 or A.shape[:-2] != tau.shape[:-1] or A.dtype != tau.dtype:
        raise RuntimeError("torch.linalg.householder_product: tau does not fit input")
    if _has_reflections(A, tau):
        return prims.reflections_product(A, tau)
    result = minidynamo.eye(rows, columns, dtype=A.dtype).expand(A.shape)
    for k in range(tau.shape[-1] - 1, -1, -1):
        result = _reflected(A, tau, k, result)
    return result.mT.contiguous().mT


def _has_reflections(*tensors: Tensor) -> bool:
    """Whether kernels have reflections of these: of real numbers, without gradients."""
    is_recorded = minidynamo.is_grad_enabled() and any(each.requires_grad for each in tensors)
    return not is_recorded and tensors[0].dtype in (minidynamo.float32, minidynamo.float64)


def _reflector(A: Tensor, k: int) -> Tensor:
    places = minidynamo.arange(A.shape[-2])
    below = minidynamo.where(places > k, A[..., k], minidynamo.zeros_like(A[..., k]))
    return below + (places == k).to(A.dtype)


def _reflected(A: Tensor, tau: Tensor, k: int, matrix: Tensor, adjoint: bool = False) -> Tensor:
    v = _reflector(A, k).unsqueeze(-1)
    factor = tau[..., k].conj() if adjoint else tau[..., k]
    return matrix - factor.unsqueeze(-1).unsqueeze(-1) * (v @ (v.mH @ matrix))


@composite("function method")
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q @ other, or Q^H @ other with transpose; other before Q for left=False. Q: of all reflections in input."""
    if is_autocasting():
        return full_precision(ormqr, input, tau, other, left, transpose)
    _require_matrices("ormqr", input)
    require_tensor("ormqr", tau, "tau")
    require_tensor("ormqr", other, "other")
    if not left:
        return ormqr(input, tau, other.mH, True, not transpose).mH
    if tau.shape[-1] > input.shape[-1] or other.shape[-2] != input.shape[-2]:
        raise RuntimeError("torch.ormqr: tau, input and other do not fit")
    stacks_fit = input.shape[:-2] == tau.shape[:-1] == other.shape[:-2] and other.dtype == input.dtype == tau.dtype
    if stacks_fit and tau.shape[-1] <= input.shape[-2] and _has_reflections(input, tau, other):
        return prims.reflect(input, tau, other, transpose)
    order = range(tau.shape[-1]) if transpose else range(tau.shape[-1] - 1, -1, -1)
    for k in order:
        other = _reflected(input, tau, k, other, adjoint=transpose)
    return other.mT.contiguous().mT


@composite("function method")
def geqrf(input: Tensor) -> Any:
    """R on and above the diagonal, with the reflections that give Q below it; and their factors tau."""
    if is_autocasting():
        return full_precision(geqrf, input)
    _require_matrices("geqrf", input)
    if _has_reflections(input):
        return _geqrf(*prims.reflections(input))
    rows, columns = input.shape[-2:]
    matrix, factors = input, []
    places = minidynamo.arange(rows)
    for k in range(min(rows, columns)):
        column = minidynamo.where(places >= k, matrix[..., k], minidynamo.zeros_like(matrix[..., k]))
        head = column[..., k]
        rest = (column.abs() ** 2).sum(-1) - head.abs() ** 2
        norm = (column.abs() ** 2).sum(-1).sqrt()
        real = head.real if head.is_complex() else head
        beta = minidynamo.where(real.signbit(), norm, -norm).to(input.dtype)  # LAPACK's: 0 is positive
        plain = rest <= 0
        if head.is_complex():
            plain = plain & (head.imag == 0)
        beta = minidynamo.where(plain, head, beta)
        tau = minidynamo.where(plain, minidynamo.zeros_like(head), (beta - head) / beta)
        scale = minidynamo.where(plain, minidynamo.ones_like(head), head - beta)
        v = minidynamo.where(places > k, column / scale.unsqueeze(-1), minidynamo.zeros_like(column))
        v = (v + (places == k).to(input.dtype)).unsqueeze(-1)
        right = (minidynamo.arange(columns) > k).to(input.dtype)
        after = matrix - tau.conj().unsqueeze(-1).unsqueeze(-1) * (v @ (v.mH @ (matrix * right)))
        kept = minidynamo.where(
            places > k, v.squeeze(-1), minidynamo.where(places == k, beta.unsqueeze(-1), matrix[..., k])
        )
        matrix = minidynamo.where(minidynamo.arange(columns) == k, kept.unsqueeze(-1), after)
        factors.append(tau)
    tau = minidynamo.stack(factors, -1) if factors else input.new_zeros((*input.shape[:-2], 0))
    return _geqrf(matrix.mT.contiguous().mT, tau)
