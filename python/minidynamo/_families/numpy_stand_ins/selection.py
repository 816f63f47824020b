"""Choices by conditions and bounds."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..numbers import is_int
from .reductions import stored
from .searching import nonzero
from .table import array_of, common_order, decline, holds, is_axis, promoted, stands_in, tensor

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
    if like.is_complex() and isinstance(value, (int, float, complex)):
        return minidynamo.zeros((), dtype=like.dtype).fill_(value)
    if holds(like.dtype, value) or (isinstance(value, int) and like.is_floating_point()):
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


@stands_in("where", returns_arrays=True, takes_complex=True)
def where(condition: Any, /, *choices: Any) -> Any:
    if not choices:
        return nonzero(condition)
    if len(choices) != 2:
        decline("where with one choice")
    x, y = choices
    chosen = tensor(condition, "where").to(minidynamo.bool)
    if isinstance(x, Tensor):
        first, second = x, _of_dtype(y, x, "where")
    elif isinstance(y, Tensor):
        first, second = _of_dtype(x, y, "where"), y
    else:
        first, second = _plain_number(x), _plain_number(y)
    dtype = promoted(first.dtype, second.dtype)
    first, second = first.to(dtype), second.to(dtype)
    order = common_order([chosen, first, second], "where")
    if order is None:
        return minidynamo.where(chosen, first, second).contiguous()
    turned = [each.permute(order) if each.dim() else each for each in (chosen, first, second)]
    return minidynamo.where(*turned).contiguous().permute([order.index(dim) for dim in range(len(order))])


def _bounded(a: Any, low: Any, high: Any) -> Any:
    values = tensor(a, "clip")
    if low is None and high is None:
        decline("clip without bounds")
    for bound in (low, high):
        is_float = isinstance(bound, float) and values.is_floating_point()
        is_int = holds(values.dtype, bound) or (isinstance(bound, int) and values.is_floating_point())
        if bound is not None and not is_float and not is_int:
            decline("clip by such bounds")
    if low is None or high is None:
        return minidynamo.clamp(values, low, high)
    # What is equal to a bound stays, with its sign.
    least, most = [minidynamo.full((), bound, dtype=values.dtype) for bound in (low, high)]
    raised = minidynamo.where(values < least, least, values)
    return minidynamo.where(raised > most, most, raised)


@stands_in("clip")
def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    return stored(_bounded(a, a_min, a_max), out)


@stands_in("ndarray.clip")
def clip_method(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    return stored(_bounded(self, min, max), out)


@stands_in("select", returns_arrays=True, takes_complex=True)
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


@stands_in("take_along_axis", returns_arrays=True, takes_complex=True)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    values, places = array_of(arr, "take_along_axis"), array_of(indices, "take_along_axis")
    if not is_axis(values, axis) or places.dim() != values.dim() or places.dtype is not minidynamo.int64:
        decline("take_along_axis of such arrays")
    dim = axis % values.dim()
    if any(each != size for at, (each, size) in enumerate(zip(places.shape, values.shape)) if at != dim):
        decline("take_along_axis of arrays that are repeated")
    if not values.is_contiguous() or not places.is_contiguous():
        decline("take_along_axis of arrays in another order")
    return minidynamo.gather(values, dim, minidynamo.where(places < 0, places + values.shape[dim], places))


@stands_in("take ndarray.take", returns_arrays=True, takes_complex=True)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    values = array_of(a, "take")
    if isinstance(indices, (list, tuple)) and indices and all(isinstance(each, int) for each in indices):
        indices = minidynamo.tensor(list(indices), dtype=minidynamo.int64)
    if is_int(indices) and is_axis(values, axis) and values.dim() > 1:
        if out is not None or mode != "raise" or not values.is_contiguous():
            decline("take with out or mode, or of an array in another order")
        return values.select(axis, indices).clone(memory_format=minidynamo.contiguous_format)
    places = array_of(indices, "take")
    if out is not None or mode != "raise" or places.dtype not in (minidynamo.int64, minidynamo.int32):
        decline("take with out or mode, or by such indices")
    if axis is None:
        return values.reshape(-1)[places]
    if not is_axis(values, axis) or not values.is_contiguous():
        decline("take along such an axis")
    return values[(*[slice(None)] * (axis % values.dim()), places)]
