"""Choices by conditions and bounds."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import array_of, decline, is_axis, promoted, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _of_dtype(value: Any, like: Tensor, name: str) -> Any:
    """A number as an element beside the array: weak, as NEP 50 says."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, bool):
        return minidynamo.full((), value, dtype=minidynamo.bool)
    if isinstance(value, float) and like.is_floating_point():
        return minidynamo.full((), value, dtype=like.dtype)
    if isinstance(value, int) and (like.is_floating_point() or like.dtype is minidynamo.int64):
        return minidynamo.full((), value, dtype=like.dtype)
    decline(f"{name} of such a number")


def _plain_number(value: Any) -> Tensor:
    if isinstance(value, bool):
        return minidynamo.full((), value, dtype=minidynamo.bool)
    if isinstance(value, int):
        return minidynamo.full((), value, dtype=minidynamo.int64)
    if isinstance(value, float):
        return minidynamo.full((), value, dtype=minidynamo.float64)
    decline("where of no numbers")


@stands_in("where", returns_arrays=True)
def where(condition: Any, x: Any, y: Any, /) -> Any:
    chosen = tensor(condition, "where").to(minidynamo.bool)
    if isinstance(x, Tensor):
        first, second = x, _of_dtype(y, x, "where")
    elif isinstance(y, Tensor):
        first, second = _of_dtype(x, y, "where"), y
    else:
        first, second = _plain_number(x), _plain_number(y)
    if not (chosen.is_contiguous() and first.is_contiguous() and second.is_contiguous()):
        decline("where of arrays in another order")
    dtype = promoted(first.dtype, second.dtype)
    return minidynamo.where(chosen, first.to(dtype), second.to(dtype))


def _bounded(a: Any, low: Any, high: Any) -> Any:
    values = tensor(a, "clip")
    if low is None and high is None:
        decline("clip without bounds")
    for bound in (low, high):
        is_float = isinstance(bound, float) and values.is_floating_point()
        is_int = isinstance(bound, int) and not isinstance(bound, bool) and values.dtype is minidynamo.int64
        is_int = is_int or (isinstance(bound, int) and values.is_floating_point())
        if bound is not None and not is_float and not is_int:
            decline("clip by such bounds")
    return minidynamo.clamp(values, low, high)


@stands_in("clip")
def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    if out is not None:
        decline("clip with out")
    return _bounded(a, a_min, a_max)


@stands_in("ndarray.clip")
def clip_method(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    if out is not None:
        decline("clip with out")
    return _bounded(self, min, max)


@stands_in("select", returns_arrays=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    are_lists = isinstance(condlist, (list, tuple)) and isinstance(choicelist, (list, tuple))
    if not are_lists or len(condlist) != len(choicelist) or not condlist:
        decline("select of no lists of the same length")
    chosen = [array_of(each, "select") for each in condlist]
    choices = [array_of(each, "select") for each in choicelist]
    like = choices[0]
    if any(each.dtype is not minidynamo.bool or not each.is_contiguous() for each in chosen):
        decline("select by no bools")
    if any(each.dtype is not like.dtype or not each.is_contiguous() for each in choices):
        decline("select of several dtypes, or in another order")
    found = _of_dtype(default, like, "select")
    if found.dtype is not like.dtype:
        decline("select of several dtypes")
    for condition, choice in zip(chosen[::-1], choices[::-1]):
        found = minidynamo.where(condition, choice, found)
    return found


@stands_in("take ndarray.take", returns_arrays=True)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    values, places = array_of(a, "take"), array_of(indices, "take")
    if out is not None or mode != "raise" or places.dtype not in (minidynamo.int64, minidynamo.int32):
        decline("take with out or mode, or by such indices")
    if axis is None:
        return values.reshape(-1)[places]
    if not is_axis(values, axis) or not values.is_contiguous():
        decline("take along such an axis")
    return values[(*[slice(None)] * (axis % values.dim()), places)]
