"""Sums of products along a vector, and products of vectors and blocks."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..numbers import is_number
from .table import WIDE, array_of, decline, promoted, require, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FEW = 16


def _vectors(a: Any, v: Any, name: str) -> tuple[Tensor, Tensor]:
    first, second = array_of(a, name), array_of(v, name)
    dtype = promoted(first.dtype, second.dtype)
    if first.dim() != 1 or second.dim() != 1 or dtype not in WIDE:
        decline(f"{name} of such arrays")
    if first.numel() == 0 or second.numel() == 0:
        decline(f"{name} of nothing")
    return first.to(dtype), second.to(dtype)


def _correlated(values: Tensor, kernel: Tensor, mode: Any, name: str) -> Tensor:
    """Of a kernel that is not longer than the values."""
    size = kernel.shape[0]
    if size > _FEW:
        decline(f"{name} with a long array, which NumPy multiplies by BLAS")
    if mode not in ("full", "same", "valid"):
        decline(f"{name} in such a mode")
    before = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    after = {"full": size - 1, "same": size - size // 2 - 1, "valid": 0}[mode]
    if before + after > 0:
        # What is beyond the ends takes no part: zeros add nothing there, but where they multiply infinities.
        if kernel.is_floating_point():
            require(kernel.isfinite().all())
        ends = [minidynamo.zeros(count, dtype=values.dtype) for count in (before, after)]
        values = minidynamo.cat([ends[0], values, ends[1]])
    count = values.shape[0] - size + 1
    found = values.narrow(0, 0, count) * kernel[0]
    for place in range(1, size):
        found = found + values.narrow(0, place, count) * kernel[place]
    # NumPy adds the products to zero: none is -0.0.
    return found + 0.0 if kernel.is_floating_point() else found


@stands_in("correlate", returns_arrays=True)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    values, kernel = _vectors(a, v, "correlate")
    if kernel.shape[0] > values.shape[0]:
        decline("correlate with a longer array")
    return _correlated(values, kernel, mode, "correlate")


@stands_in("convolve", returns_arrays=True)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    values, kernel = _vectors(a, v, "convolve")
    if kernel.shape[0] > values.shape[0]:
        values, kernel = kernel, values
    return _correlated(values, kernel.flip(0), mode, "convolve")


@stands_in("cross", returns_arrays=True)
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    first, second = array_of(a, "cross"), array_of(b, "cross")
    dtype = promoted(first.dtype, second.dtype)
    if (axisa, axisb, axisc, axis) != (-1, -1, -1, None) or dtype not in WIDE:
        decline("cross along such axes, or of such dtypes")
    if first.shape[-1] != 3 or second.shape[-1] != 3:
        decline("cross of other than three numbers")
    a0, a1, a2 = first.to(dtype).unbind(-1)
    b0, b1, b2 = second.to(dtype).unbind(-1)
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return minidynamo.stack(parts, -1).contiguous()


@stands_in("kron", returns_arrays=True)
def kron(a: Any, b: Any) -> Any:
    first, second = array_of(a, "kron"), array_of(b, "kron")
    dtype = promoted(first.dtype, second.dtype)
    if first.dim() != second.dim() or dtype not in WIDE:
        decline("kron of such arrays")
    if not first.is_contiguous() or not second.is_contiguous():
        decline("kron of arrays in another order")
    wide = first.to(dtype).reshape([size for each in first.shape for size in (each, 1)])
    narrow = second.to(dtype).reshape([size for each in second.shape for size in (1, each)])
    return (wide * narrow).reshape([mine * other for mine, other in zip(first.shape, second.shape)])


@stands_in("trapezoid", returns_arrays=False)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    values = array_of(y, "trapezoid")
    if values.dim() != 1 or axis not in (-1, 0) or values.dtype is not minidynamo.float64 or values.shape[0] < 2:
        decline("trapezoid of such an array")
    sums = values[1:] + values[:-1]
    if x is None:
        if not is_number(dx):
            decline("trapezoid with such steps")
        return (dx * sums / 2.0).sum()
    places = array_of(x, "trapezoid")
    if places.shape != values.shape or places.dtype is not minidynamo.float64:
        decline("trapezoid at such places")
    return ((places[1:] - places[:-1]) * sums / 2.0).sum()
