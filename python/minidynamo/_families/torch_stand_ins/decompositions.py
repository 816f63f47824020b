"""Linear algebra that reports failures as results: where a matrix has no decomposition, torch's function runs."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import both, decline, results, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CholeskyEx = results("linalg_cholesky_ex", "L info")
InvEx = results("linalg_inv_ex", "inverse info")
SolveEx = results("linalg_solve_ex", "result info")
TriangularSolve = results("triangular_solve", "solution cloned_coefficient")


def _success(matrices: Tensor) -> Tensor:
    return minidynamo.zeros(matrices.shape[:-2], dtype=minidynamo.int32)


@stands_in("linalg.cholesky_ex _C._linalg.linalg_cholesky_ex")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    return CholeskyEx(minidynamo.linalg.cholesky(A, upper=upper), _success(A))


@stands_in("linalg.inv_ex _C._linalg.linalg_inv_ex")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    return InvEx(minidynamo.linalg.inv(A), _success(A))


@stands_in("linalg.solve _C._linalg.linalg_solve")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    found = minidynamo.linalg.solve(A, B, left=left)
    are_vectors = B.dim() > 1 and B.shape == A.shape[:-1]
    return _by_columns(found) if are_vectors else found


@stands_in("linalg.solve_triangular _C._linalg.linalg_solve_triangular")
def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    found = minidynamo.linalg.solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)
    return found if left else _by_columns(found)


@stands_in("linalg.solve_ex _C._linalg.linalg_solve_ex")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    if B.dim() < A.dim():
        decline("linalg.solve_ex of vectors")
    return SolveEx(minidynamo.linalg.solve(A, B, left=left), _success(A))


@stands_in(both("triangular_solve"))
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    if input.dim() < 2 or A.dim() < 2:
        decline("triangular_solve of vectors")
    batch = minidynamo.broadcast_shapes(input.shape[:-2], A.shape[:-2])
    factors, right = A.expand(*batch, *A.shape[-2:]), input.expand(*batch, *input.shape[-2:])
    matrix = factors.mT if transpose else factors
    found = minidynamo.linalg.solve_triangular(matrix, right, upper=upper != transpose, unitriangular=unitriangular)
    return TriangularSolve(_by_columns(found), _by_columns(factors))


def _by_columns(matrices: Tensor) -> Tensor:
    return matrices.mT.clone(memory_format=minidynamo.contiguous_format).mT
