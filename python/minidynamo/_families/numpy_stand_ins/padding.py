"""Arrays with a border, and arrays with elements put in or left out."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..numbers import is_int
from .placing import as_element
from .table import array_of, decline, is_axis, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_count(value: Any) -> bool:
    return is_int(value) and value >= 0


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    """Before and after, for each axis."""
    if _is_count(pad_width):
        return [(pad_width, pad_width)] * rank
    if not isinstance(pad_width, (list, tuple)):
        decline("pad by such widths")
    if len(pad_width) == 2 and _is_count(pad_width[0]) and _is_count(pad_width[1]):
        return [(pad_width[0], pad_width[1])] * rank
    if len(pad_width) == 1 and _is_count(pad_width[0]):
        return [(pad_width[0], pad_width[0])] * rank
    pairs = list(pad_width) * rank if len(pad_width) == 1 else list(pad_width)
    if len(pairs) != rank:
        decline("pad by such widths")
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not _is_count(pair[0]) or not _is_count(pair[1]):
            decline("pad by such widths")
    return [(pair[0], pair[1]) for pair in pairs]


def _border(value: Tensor, dim: int, mode: str, before: int, after: int) -> list[Tensor]:
    size = value.shape[dim]
    if mode == "edge":
        first, last = value.narrow(dim, 0, 1), value.narrow(dim, size - 1, 1)
        return [minidynamo.cat([first] * before, dim) if before else first.narrow(dim, 0, 0), value] + (
            [minidynamo.cat([last] * after, dim)] if after else []
        )
    gap = 1 if mode == "reflect" else 0
    if max(before, after) > size - gap:
        decline("pad by more than there is")
    if mode == "wrap":
        return [value.narrow(dim, size - before, before), value, value.narrow(dim, 0, after)]
    head = value.narrow(dim, gap, before).flip(dim)
    return [head, value, value.narrow(dim, size - gap - after, after).flip(dim)]


@stands_in("pad", returns_arrays=True)
def pad(array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Any:
    value = array_of(array, "pad")
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or not value.is_contiguous():
        decline("pad in this mode, or of an array in another order")
    if value.numel() == 0 or (mode != "constant" and constant_values != 0):
        decline("pad of nothing")
    widths = _widths(pad_width, value.dim())
    if mode == "constant":
        return _with_constants(value, widths, constant_values)
    for dim, (before, after) in enumerate(widths):
        if before or after:
            value = minidynamo.cat(_border(value, dim, mode, before, after), dim)
    return value if any(before or after for before, after in widths) else value.clone()


def _with_constants(value: Tensor, widths: list[tuple[int, int]], number: Any) -> Tensor:
    is_zero = is_int(number) and number == 0
    fill = minidynamo.zeros((), dtype=value.dtype) if is_zero else as_element(number, value.dtype, "pad")
    if value.dim() == 1:
        return minidynamo.cat([fill.expand(widths[0][0]), value, fill.expand(widths[0][1])])
    sizes = [before + size + after for size, (before, after) in zip(value.shape, widths)]
    whole = fill.expand(sizes).clone(memory_format=minidynamo.contiguous_format)
    inner = whole
    for dim, (before, _) in enumerate(widths):
        inner = inner.narrow(dim, before, value.shape[dim])
    inner.copy_(value)
    return whole


def _along(arr: Any, axis: Any, name: str) -> tuple[Tensor, int]:
    values = array_of(arr, name)
    if not values.is_contiguous():
        decline(f"{name} of an array in another order")
    if axis is None:
        return values.reshape(-1), 0
    if not is_axis(values, axis):
        decline(f"{name} along such an axis")
    return values, axis % values.dim()


@stands_in("delete", returns_arrays=True)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    values, dim = _along(arr, axis, "delete")
    size = values.shape[dim]
    places = list(obj) if isinstance(obj, (list, tuple)) else [obj]
    if not places or not all(is_int(place) for place in places):
        decline("delete of such places")
    if any(not -size <= place < size for place in places):
        decline("delete of a place that does not exist")
    parts, start = [], 0
    for place in sorted({place % size for place in places}):
        parts.append(values.narrow(dim, start, place - start))
        start = place + 1
    found = minidynamo.cat([*parts, values.narrow(dim, start, size - start)], dim)
    # Several are left out by a mask, whose axis is the outermost in memory.
    return found if len(places) == 1 else found.movedim(dim, 0).contiguous().movedim(0, dim)


@stands_in("insert", returns_arrays=True)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    whole, dim = _along(arr, axis, "insert")
    size = whole.shape[dim]
    if not is_int(obj) or not -size <= obj <= size:
        decline("insert at such a place")
    place = obj + size if obj < 0 else obj
    sizes = list(whole.shape)
    sizes[dim] = 1
    new = as_element(values, whole.dtype, "insert").expand(sizes)
    return minidynamo.cat([whole.narrow(dim, 0, place), new, whole.narrow(dim, place, size - place)], dim)
