"""Decompositions of matrices by NumPy's LAPACK.

numpy.linalg is used because it is well maintained, available wherever arrays are, has an optimised LAPACK of its
own, and works on stacks of matrices. Its threads are its own: minidynamo.set_num_threads does not change them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from numpy.typing import NDArray

    _Routine = Callable[[ModuleType, list[NDArray[Any]], str, float | None], Any]

_NO_INVERSE = "the inversion could not be completed because the input matrix is singular"
_NO_SOLUTION = "The solver failed because the input matrix is singular"
_NOT_POSITIVE = "The factorization could not be completed because the input is not positive-definite"
_NO_CONVERGENCE = "The algorithm failed to converge; the input may hold values that are not finite"


def _lstsq(
    linalg: ModuleType, matrices: NDArray[Any], sides: NDArray[Any], rcond: float | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    from itertools import product

    import numpy

    tolerance = rcond if rcond is not None else numpy.finfo(matrices.dtype).eps * max(matrices.shape[-2:])
    solutions = numpy.zeros((*matrices.shape[:-2], matrices.shape[-1], sides.shape[-1]), matrices.dtype)
    ranks = numpy.zeros(matrices.shape[:-2], "int64")
    for at in product(*(range(size) for size in matrices.shape[:-2])):
        solutions[at], _, ranks[at], _ = linalg.lstsq(matrices[at], sides[at], rcond=tolerance)
    return solutions, ranks


def _qr(linalg: ModuleType, matrices: NDArray[Any], mode: str) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    if mode == "r":
        return None, linalg.qr(matrices, "r")
    return linalg.qr(matrices, mode)


# routine: the results for (numpy.linalg, operands, mode, tolerance), and the meaning of a failure.
ROUTINES: dict[str, tuple[_Routine, str]] = {
    "linalg_inv": (lambda linalg, a, mode, tolerance: linalg.inv(a[0]), _NO_INVERSE),
    "linalg_solve": (lambda linalg, a, mode, tolerance: linalg.solve(a[0], a[1]), _NO_SOLUTION),
    "linalg_cholesky": (lambda linalg, a, mode, tolerance: linalg.cholesky(a[0]), _NOT_POSITIVE),
    "linalg_det": (lambda linalg, a, mode, tolerance: linalg.det(a[0]), _NO_CONVERGENCE),
    "linalg_slogdet": (lambda linalg, a, mode, tolerance: linalg.slogdet(a[0]), _NO_CONVERGENCE),
    "linalg_qr": (lambda linalg, a, mode, tolerance: _qr(linalg, a[0], mode), _NO_CONVERGENCE),
    "linalg_svd": (lambda linalg, a, mode, tolerance: linalg.svd(a[0], full_matrices=mode == "full"), _NO_CONVERGENCE),
    "linalg_svdvals": (lambda linalg, a, mode, tolerance: linalg.svd(a[0], compute_uv=False), _NO_CONVERGENCE),
    "linalg_eigh": (lambda linalg, a, mode, tolerance: linalg.eigh(a[0], mode), _NO_CONVERGENCE),
    "linalg_eigvalsh": (lambda linalg, a, mode, tolerance: linalg.eigvalsh(a[0], mode), _NO_CONVERGENCE),
    "linalg_eig": (lambda linalg, a, mode, tolerance: linalg.eig(a[0]), _NO_CONVERGENCE),
    "linalg_eigvals": (lambda linalg, a, mode, tolerance: linalg.eigvals(a[0]), _NO_CONVERGENCE),
    "linalg_lstsq": (lambda linalg, a, mode, tolerance: _lstsq(linalg, a[0], a[1], tolerance), _NO_CONVERGENCE),
}

# These iterate until they converge: with an infinity some LAPACKs never do.
ITERATIVE = tuple(f"linalg_{name}" for name in ("svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "lstsq"))


def decomposed(numpy: ModuleType, routine: str, arrays: list[NDArray[Any]], mode: str, tolerance: float | None) -> Any:
    """The results of a routine. Raises numpy.linalg.LinAlgError with torch's message."""
    function, failure = ROUTINES[routine]
    if routine in ITERATIVE and not numpy.isfinite(arrays[0]).all():
        raise numpy.linalg.LinAlgError(failure)
    try:
        return function(numpy.linalg, arrays, mode, tolerance)
    except numpy.linalg.LinAlgError:
        raise numpy.linalg.LinAlgError(failure) from None
