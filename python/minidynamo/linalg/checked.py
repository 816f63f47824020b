"""Decompositions that say whether they failed, in a tensor `info`, in place of raising; and of general matrices."""

from __future__ import annotations

from collections import namedtuple

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting
from .._composites.registry import prims, require_tensor
from .decompositions import adjoint
from .solutions import solved
from .triangles import _require_matrices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_inv_ex = namedtuple("_inv_ex", "inverse info")
_cholesky_ex = namedtuple("_cholesky_ex", "L info")
_solve_ex = namedtuple("_solve_ex", "result info")
_eig = namedtuple("_eig", "eigenvalues eigenvectors")


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """(the inverses of square matrices, 0 or the number of the first pivot that is 0)."""
    if is_autocasting():
        return full_precision(inv_ex, A, check_errors=check_errors)
    _require_matrices("linalg.inv_ex", A)
    inverse, info = prims.linalg_inv_ex(A)
    if check_errors and bool((info != 0).any()):
        raise minidynamo.linalg.LinAlgError(
            "linalg.inv_ex: the inversion could not be completed because the input matrix is singular"
        )
    return _inv_ex(inverse, info)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """(linalg.solve(A, B), 0 or the number of the first pivot that is 0)."""
    _require_matrices("linalg.solve_ex", A)
    require_tensor("linalg.solve_ex", B, "B")
    result, info = solved(A, B, left, prims.linalg_solve_ex)
    if info.shape != A.shape[:-2]:
        info = prims.linalg_lu_factor(A, True)[2]
    if check_errors and bool((info != 0).any()):
        raise minidynamo.linalg.LinAlgError("linalg.solve_ex: The solver failed because the input matrix is singular.")
    return _solve_ex(result, info)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(the Cholesky factors, 0 or the order of the first leading minor that is not positive)."""
    if is_autocasting():
        return full_precision(cholesky_ex, A, upper=upper, check_errors=check_errors)
    _require_matrices("linalg.cholesky_ex", A)
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError("linalg.cholesky_ex: A must be batches of square matrices")
    L, info = prims.linalg_cholesky_ex(adjoint(A) if upper else A)
    if check_errors and bool((info != 0).any()):
        raise minidynamo.linalg.LinAlgError(
            "linalg.cholesky_ex: The factorization could not be completed because the input is not positive-definite"
        )
    return _cholesky_ex(adjoint(L.contiguous()) if upper else L, info)


def eig(A: Tensor) -> Any:
    """(complex eigenvalues, complex eigenvectors in columns) of square matrices. LinAlgError without convergence."""
    if is_autocasting():
        return full_precision(eig, A)
    require_tensor("linalg.eig", A, "A")
    return _eig(*prims.linalg_eig(A))


def eigvals(A: Tensor) -> Tensor:
    """The complex eigenvalues of square matrices."""
    if is_autocasting():
        return full_precision(eigvals, A)
    require_tensor("linalg.eigvals", A, "A")
    return prims.linalg_eigvals(A)
