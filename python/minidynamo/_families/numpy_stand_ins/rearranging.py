"""Shapes, axes and joins."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import all_dims, array_of, attribute, decline, outermost_first, promoted, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _reshaped(a: Any, shape: Any, order: Any) -> Tensor:
    if order != "C":
        decline("reshape in another order")
    return array_of(a, "reshape").reshape(shape)


@stands_in("reshape", returns_arrays=True)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    if copy is not None:
        decline("reshape with copy")
    return _reshaped(a, shape, order)


@stands_in("ndarray.reshape", returns_arrays=True)
def reshape_method(self: Any, /, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    if copy is not None:
        decline("reshape with copy")
    return _reshaped(self, shape[0] if len(shape) == 1 else shape, order)


@stands_in("ravel ndarray.ravel")
def ravel(a: Any, order: Any = "C") -> Any:
    return _reshaped(a, -1, order)


@stands_in("ndarray.flatten")
def flatten(self: Any, order: Any = "C") -> Any:
    return _reshaped(self, -1, order).clone()


@stands_in("transpose permute_dims", returns_arrays=True)
def transpose(a: Any, axes: Any = None) -> Any:
    values = array_of(a, "transpose")
    return values.permute(all_dims(values)[::-1] if axes is None else axes)


@stands_in("ndarray.transpose", returns_arrays=True)
def transpose_method(self: Any, *axes: Any) -> Any:
    if len(axes) == 1 and not isinstance(axes[0], int):
        return transpose(self, axes[0])
    return transpose(self, axes or None)


@attribute
def T(self: Any) -> Any:
    return array_of(self, "T").permute(all_dims(self)[::-1])


@attribute
def real(self: Any) -> Any:
    return array_of(self, "real")


@stands_in("swapaxes ndarray.swapaxes", returns_arrays=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return array_of(a, "swapaxes").transpose(axis1, axis2)


@stands_in("moveaxis", returns_arrays=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return array_of(a, "moveaxis").movedim(source, destination)


@stands_in("squeeze ndarray.squeeze", returns_arrays=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    values = array_of(a, "squeeze")
    if axis is None:
        return values.squeeze()
    for dim in axis if isinstance(axis, tuple) else (axis,):
        if values.shape[dim] != 1:
            decline("squeeze of an axis that is not 1")
    return values.squeeze(axis)


@stands_in("expand_dims", returns_arrays=True)
def expand_dims(a: Any, axis: Any) -> Any:
    if not isinstance(axis, int):
        decline("expand_dims by several axes")
    return array_of(a, "expand_dims").unsqueeze(axis)


@stands_in("broadcast_to", returns_arrays=True)
def broadcast_to(array: Any, shape: Any, subok: Any = False) -> Any:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in sizes):
        decline("broadcast_to negative sizes")
    return array_of(array, "broadcast_to").expand(sizes)


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


@stands_in("concatenate concat", returns_arrays=True)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    if out is not None or dtype is not None or casting != "same_kind":
        decline("concatenate with out, dtype or casting")
    values = _joined(arrays, "concatenate")
    if axis is None:
        return minidynamo.cat([value.reshape(-1) for value in values])
    return _cat(values, axis, _common_order(values, "concatenate"))


@stands_in("stack", returns_arrays=True)
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if out is not None or dtype is not None or casting != "same_kind":
        decline("stack with out, dtype or casting")
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


def _at_least_2d(value: Tensor) -> Tensor:
    return value.reshape(1, -1) if value.dim() < 2 else value


@stands_in("vstack", returns_arrays=True)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if dtype is not None or casting != "same_kind":
        decline("vstack with dtype or casting")
    values = [_at_least_2d(value) for value in _joined(tup, "vstack")]
    return _cat(values, 0, _common_order(values, "vstack"))


@stands_in("hstack", returns_arrays=True)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    if dtype is not None or casting != "same_kind":
        decline("hstack with dtype or casting")
    values = [value.reshape(-1) if value.dim() == 0 else value for value in _joined(tup, "hstack")]
    return _cat(values, 0 if values[0].dim() == 1 else 1, _common_order(values, "hstack"))


@stands_in("roll", returns_arrays=True)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    values = array_of(a, "roll")
    if not isinstance(shift, int) or not (axis is None or isinstance(axis, int)):
        decline("roll by several shifts")
    if not values.is_contiguous():
        decline("roll of an array in another order")
    if axis is None:
        return values.reshape(-1).roll(shift).reshape(values.shape)
    return values.roll(shift, axis)


@stands_in("repeat ndarray.repeat", returns_arrays=True)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    values = array_of(a, "repeat")
    if not isinstance(repeats, int):
        decline("repeat by an array")
    if axis is None:
        values, axis = values.reshape(-1), 0
    return values.repeat_interleave(repeats, axis)


@stands_in("tile", returns_arrays=True)
def tile(A: Any, reps: Any) -> Any:
    values = array_of(A, "tile")
    return values.tile((reps,) if isinstance(reps, int) else tuple(reps))


@stands_in("diagonal ndarray.diagonal", returns_arrays=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    decline("diagonal, a view that is read-only")
