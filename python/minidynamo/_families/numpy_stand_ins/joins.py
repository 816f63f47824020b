"""Arrays joined and split."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..numbers import is_int
from .table import all_dims, array_of, decline, is_axis, outermost_first, promoted, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _joined(arrays: Any, name: str) -> list[Tensor]:
    """The arrays in one dtype."""
    if not isinstance(arrays, (list, tuple)) or not arrays:
        decline(f"{name} of no list of arrays")
    values = [array_of(array, name) for array in arrays]
    dtype = values[0].dtype
    for value in values[1:]:
        dtype = promoted(dtype, value.dtype)
    return [value.to(dtype) for value in values]


def _common_order(values: list[Tensor], name: str) -> tuple[int, ...]:
    order = outermost_first(values[0])
    if any(value.dim() != len(order) or outermost_first(value) != order for value in values):
        decline(f"{name} of arrays that lie in memory otherwise")
    return order


def _cat(values: list[Tensor], axis: int, order: tuple[int, ...]) -> Tensor:
    """The arrays, joined, with axes that lie in memory in this order."""
    if order == all_dims(values[0]) or not -len(order) <= axis < len(order):
        return minidynamo.cat(values, axis)
    joined = minidynamo.cat([value.permute(order) for value in values], order.index(axis % len(order)))
    return joined.permute([order.index(dim) for dim in range(len(order))])


def _require_plain(name: str, out: Any, dtype: Any, casting: Any) -> None:
    if out is not None or dtype is not None or casting != "same_kind":
        decline(f"{name} with out, dtype or casting")


@stands_in("concatenate concat", returns_arrays=True, takes_complex=True)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    _require_plain("concatenate", out, dtype, casting)
    values = _joined(arrays, "concatenate")
    if axis is None:
        return minidynamo.cat([value.reshape(-1) for value in values])
    return _cat(values, axis, _common_order(values, "concatenate"))


@stands_in("append", returns_arrays=True, takes_complex=True)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    pair = _joined([arr, values], "append")
    if axis is None:
        return minidynamo.cat([value.reshape(-1) for value in pair])
    return _cat(pair, axis, _common_order(pair, "append"))


@stands_in("stack", returns_arrays=True, takes_complex=True)
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    _require_plain("stack", out, dtype, casting)
    values = _joined(arrays, "stack")
    rank = values[0].dim() + 1
    if not isinstance(axis, int) or not -rank <= axis < rank:
        decline("stack along such an axis")
    order = _common_order(values, "stack")
    # The new axis has no place in memory yet and stays where it is: followed here for the first alone.
    if axis % rank != 0 and order != all_dims(values[0]):
        decline("stack of arrays in another order")
    places = (0, *[dim + 1 for dim in order]) if axis % rank == 0 else tuple(range(rank))
    return _cat([value.unsqueeze(axis) for value in values], axis, places)


def _as_rows(value: Tensor) -> Tensor:
    return value.reshape(1, -1) if value.dim() == 1 else value


def _as_columns(value: Tensor) -> Tensor:
    return value.reshape(-1, 1) if value.dim() == 1 else value


def _with_three_axes(value: Tensor) -> Tensor:
    if value.dim() == 1:
        return value.reshape(1, -1, 1)
    return value.unsqueeze(2) if value.dim() == 2 else value


@stands_in("vstack", returns_arrays=True, takes_complex=True)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    _require_plain("vstack", None, dtype, casting)
    values = [_as_rows(value) for value in _joined(tup, "vstack")]
    return _cat(values, 0, _common_order(values, "vstack"))


@stands_in("hstack", returns_arrays=True, takes_complex=True)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    _require_plain("hstack", None, dtype, casting)
    values = _joined(tup, "hstack")
    return _cat(values, 0 if values[0].dim() == 1 else 1, _common_order(values, "hstack"))


def _in_c_order(values: list[Tensor], name: str) -> list[Tensor]:
    if any(value.dim() != values[0].dim() or outermost_first(value) != all_dims(value) for value in values):
        decline(f"{name} of arrays in another order")
    return values


@stands_in("column_stack", returns_arrays=True, takes_complex=True)
def column_stack(tup: Any) -> Any:
    values = _joined(tup, "column_stack")
    return minidynamo.cat([_as_columns(value) for value in _in_c_order(values, "column_stack")], 1)


@stands_in("dstack", returns_arrays=True, takes_complex=True)
def dstack(tup: Any) -> Any:
    values = _in_c_order(_joined(tup, "dstack"), "dstack")
    return minidynamo.cat([_with_three_axes(value) for value in values], 2)


def _pieces(value: Tensor, sections: Any, axis: int, name: str) -> list[Tensor]:
    """Views of equal parts, or between the places of a list."""
    if not is_axis(value, axis):
        decline(f"{name} along such an axis")
    size = value.shape[axis]
    if is_int(sections):
        if sections <= 0 or size % sections != 0:
            decline(f"{name} into parts that are not equal")
        length = size // sections
        return [value.narrow(axis, i * length, length) for i in range(sections)]
    if not isinstance(sections, (list, tuple)) or not all(isinstance(place, int) for place in sections):
        decline(f"{name} at such places")
    places = [0, *sections, size]
    if any(first > second for first, second in zip(places, places[1:])):
        decline(f"{name} at places that are not in order")
    return [value.narrow(axis, first, second - first) for first, second in zip(places, places[1:])]


@stands_in("split", returns_arrays=True, takes_complex=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _pieces(array_of(ary, "split"), indices_or_sections, axis, "split")


@stands_in("vsplit", returns_arrays=True, takes_complex=True)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    if tensor(ary, "vsplit").dim() < 2:
        decline("vsplit of a vector")
    return _pieces(ary, indices_or_sections, 0, "vsplit")


@stands_in("hsplit", returns_arrays=True, takes_complex=True)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    values = array_of(ary, "hsplit")
    return _pieces(values, indices_or_sections, 1 if values.dim() > 1 else 0, "hsplit")
