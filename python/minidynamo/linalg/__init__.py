"""Linear algebra, with the names of torch.linalg. Singular values and eigenvalues use NumPy:
without it they raise ImportError."""

from .._missing_names import explain_missing as _explain_missing
from . import composites, low_rank  # noqa: F401  enter what minidynamo and Tensor have, too
from .checked import cholesky_ex, eig, eigvals, inv_ex, solve_ex
from .decompositions import cholesky, det, eigh, eigvalsh, matrix_rank, pinv, qr, slogdet, svd, svdvals
from .norms import (
    cond,
    cross,
    diagonal,
    matmul,
    matrix_norm,
    multi_dot,
    norm,
    vander,
    vecdot,
    vector_norm,
)
from .solutions import inv, lstsq, matrix_power, solve, solve_triangular, tensorinv, tensorsolve
from .triangles import householder_product, lu, lu_factor, lu_factor_ex, lu_solve


class LinAlgError(RuntimeError):
    """A matrix that has no inverse or no such decomposition, or an algorithm that did not converge."""


__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eig",
    "eigvalsh",
    "eigvals",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

_explain_missing(__name__)
