"""ufunc.outer: the ufunc of every pair of elements."""

from __future__ import annotations

from ..numpy_stand_ins.table import MOST_DIMS
from .table import decline, numpy, rewrites
from .ufunc_arguments import operand_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@rewrites("ufunc.outer")
def outer(self: Any, A: Any, B: Any, /) -> Any:
    are_arrays = isinstance(A, numpy.ndarray) and isinstance(B, (numpy.ndarray, numpy.generic))
    if operand_count(self) != 2 or not are_arrays:
        decline("outer of other than arrays")
    if A.ndim + B.ndim > MOST_DIMS:
        decline("outer of that many dims")
    return self(A[(..., *([None] * B.ndim))], B)
