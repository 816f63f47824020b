"""Linear algebra, with the names of torch.linalg. Decompositions use NumPy: without it they raise ImportError."""

from .._missing_names import explain_missing as _explain_missing
from . import composites  # noqa: F401  enters what minidynamo and Tensor have, too  # noqa: F401  enters what minidynamo and Tensor have, too
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


class LinAlgError(RuntimeError):
    """A matrix that has no inverse or no such decomposition, or an algorithm that did not converge."""


__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
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
