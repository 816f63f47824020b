"""Sorted copies. NumPy does not define which of equal elements comes first: only a stable argsort() is captured."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from .table import array_of, as_in_memory, decline, is_axis, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_FEW = 256
_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _is_stable(kind: Any, stable: Any) -> bool:
    return kind in ("stable", "mergesort") or stable is True


def _require_few(value: Tensor, kind: Any, stable: Any) -> None:
    """NumPy is slow where it does not sort by vectors: single bytes, and stable sorts but those of 16 bits."""
    size = value.dtype.itemsize
    is_slow = size >= 4 if _is_stable(kind, stable) else size == 1
    if not is_slow and value.numel() > _FEW:
        decline("sort of many elements, which NumPy sorts faster")


def _require_order(name: str, value: Tensor, axis: Any, order: Any, kind: Any, stable: Any) -> None:
    if order is not None or value.dtype is minidynamo.float16:
        decline(f"{name} by fields, or of float16")
    if kind not in _KINDS or stable not in (None, False, True) or (kind is not None and stable is not None):
        decline(f"{name} of such a kind")
    if axis is not None and not is_axis(value, axis):
        decline(f"{name} along such an axis")


def _ascending(value: Tensor, dim: int) -> Tensor:
    return prims.sorted_values(value, dim, False)


@stands_in("sort", returns_arrays=True)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    values = array_of(a, "sort")
    _require_order("sort", values, axis, order, kind, stable)
    _require_few(values, kind, stable)
    if axis is None:
        return _ascending(values.reshape(-1), 0)
    return as_in_memory(_ascending, values, axis)


@stands_in("ndarray.sort")
def sort_method(self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    _require_order("sort", array_of(self, "sort"), axis, order, kind, stable)
    _require_few(self, kind, stable)
    if axis is None:
        decline("sort over no axis")
    self.copy_(_ascending(self, axis))


def _places(name: str, a: Any, axis: Any, kind: Any, order: Any, stable: Any) -> Any:
    values = array_of(a, name)
    _require_order(name, values, axis, order, kind, stable)
    if not _is_stable(kind, stable):
        decline(f"{name} of equal elements in any order")
    if axis is None:
        return minidynamo.argsort(values.reshape(-1), stable=True)
    return minidynamo.argsort(values, axis, stable=True).contiguous()


@stands_in("argsort", returns_arrays=True)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return _places("argsort", a, axis, kind, order, stable)


@stands_in("ndarray.argsort", returns_arrays=True)
def argsort_method(self: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    return _places("argsort", self, axis, kind, order, stable)
