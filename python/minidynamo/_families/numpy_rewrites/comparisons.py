"""Comparisons of whole arrays."""

from __future__ import annotations

from ..numbers import is_number
from .table import decline, numpy, rewrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_finite(value: float) -> bool:
    return float("-inf") < value < float("inf")


@rewrites("isclose")
def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: Any = False) -> Any:
    if not is_number(rtol) or not is_number(atol) or not _is_finite(rtol) or not _is_finite(atol):
        decline("isclose with such tolerances")
    if not isinstance(a, numpy.ndarray) and not is_number(a):
        decline("isclose of no array")
    if isinstance(b, numpy.ndarray):
        if b.dtype.kind != "f":
            b = b.astype(numpy.float64)
    elif is_number(b):
        b = float(b)
    else:
        decline("isclose of no array")
    if not isinstance(a, numpy.ndarray) and not isinstance(b, numpy.ndarray):
        decline("isclose of two numbers")
    # Infinities raise an exception here that NumPy ignores: it runs the region, and does not warn.
    found = (abs(a - b) <= atol + rtol * abs(b)) & numpy.isfinite(b) | (a == b)
    if equal_nan:
        found = found | (numpy.isnan(a) & numpy.isnan(b))
    return found[()]


@rewrites("allclose")
def allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: Any = False) -> bool:
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


@rewrites("array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> bool:
    if not isinstance(a1, numpy.ndarray) or not isinstance(a2, numpy.ndarray) or equal_nan is not False:
        decline("array_equal of no arrays, or of NaNs")
    if a1.shape != a2.shape:
        return False
    return bool((a1 == a2).all())
