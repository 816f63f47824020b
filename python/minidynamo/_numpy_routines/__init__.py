"""Routines of NumPy on the memory of tensors: called by the ops named linalg_."""

from __future__ import annotations

from . import lapack

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Described = tuple[memoryview, str, tuple[int, ...], tuple[int, ...]]


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
    arrays = [numpy.ndarray(sizes, dtype, memory, 0, strides) for memory, dtype, sizes, strides in operands]
    # Overflow yields infinity without a warning, as in torch.
    with numpy.errstate(all="ignore"):
        found = lapack.decomposed(numpy, routine, arrays, mode, tolerance)
    found = found if isinstance(found, tuple) else (found,)
    for (memory, dtype, sizes, strides), values in zip(results, found):
        if values is not None:
            numpy.ndarray(sizes, dtype, memory, 0, strides)[...] = values
