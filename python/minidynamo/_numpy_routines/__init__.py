"""Routines of NumPy on the memory of tensors: called by the ops named linalg_."""

from __future__ import annotations

from . import lapack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from .blas_threads import OneThread

    _Described = tuple[memoryview, str, tuple[int, ...], tuple[int, ...]]

_one_thread: dict[str, OneThread] = {}  # of the NumPy in that file


def run(
    routine: str, operands: list[_Described], mode: str, tolerance: float | None, results: list[_Described]
) -> None:
    """Fills results. Each operand and result is (memory, the dtype's name, sizes, strides in bytes), contiguous.

    Raises numpy.linalg.LinAlgError with torch's message, ImportError without NumPy.
    """
    try:
        import numpy
    except ImportError as error:
        raise ImportError(f"decompositions need NumPy, which cannot be imported: {error}") from None
    import contextlib

    from .blas_threads import OneThread, is_small

    if numpy.__file__ not in _one_thread:
        ctypes: ModuleType | None
        try:
            import ctypes
        except ImportError:
            ctypes = None
        _one_thread[numpy.__file__] = OneThread(numpy, ctypes)
    arrays = [numpy.ndarray(sizes, dtype, memory, 0, strides) for memory, dtype, sizes, strides in operands]
    # Overflow yields infinity without a warning, as in torch.
    with _one_thread[numpy.__file__] if is_small(arrays) else contextlib.nullcontext(), numpy.errstate(all="ignore"):
        found = lapack.decomposed(numpy, routine, arrays, mode, tolerance)
    found = found if isinstance(found, tuple) else (found,)
    for (memory, dtype, sizes, strides), values in zip(results, found):
        if values is not None:
            numpy.ndarray(sizes, dtype, memory, 0, strides)[...] = values
