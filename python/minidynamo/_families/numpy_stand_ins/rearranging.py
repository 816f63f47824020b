"""Shapes and axes, and elements moved along them."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from .table import MOST_DIMS, all_dims, array_of, attribute, decline, dtype_of, is_axis, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _reshaped(a: Any, shape: Any, order: Any) -> Tensor:
    if order != "C":
        decline("reshape in another order")
    if isinstance(shape, tuple) and len(shape) > MOST_DIMS:
        decline("reshape to that many dims")
    return array_of(a, "reshape").reshape(shape)


@stands_in("reshape", returns_arrays=True, takes_complex=True)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    if copy is not None:
        decline("reshape with copy")
    return _reshaped(a, shape, order)


@stands_in("ndarray.reshape", returns_arrays=True, takes_complex=True)
def reshape_method(self: Any, /, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    if copy is not None:
        decline("reshape with copy")
    return _reshaped(self, shape[0] if len(shape) == 1 else shape, order)


@stands_in("ravel ndarray.ravel", takes_complex=True)
def ravel(a: Any, order: Any = "C") -> Any:
    values = array_of(a, "ravel")
    # Where reshape() would make a view, of a row with gaps, ravel() copies.
    if not values.is_contiguous():
        values = values.clone(memory_format=minidynamo.contiguous_format)
    return _reshaped(values, -1, order)


@stands_in("ndarray.flatten", takes_complex=True)
def flatten(self: Any, order: Any = "C") -> Any:
    return _reshaped(self, -1, order).clone()


@stands_in("transpose permute_dims", returns_arrays=True, takes_complex=True)
def transpose(a: Any, axes: Any = None) -> Any:
    values = array_of(a, "transpose")
    return values.permute(all_dims(values)[::-1] if axes is None else axes)


@stands_in("ndarray.transpose", returns_arrays=True, takes_complex=True)
def transpose_method(self: Any, *axes: Any) -> Any:
    if len(axes) == 1 and not isinstance(axes[0], int):
        return transpose(self, axes[0])
    return transpose(self, axes or None)


@attribute
def T(self: Any) -> Any:
    return array_of(self, "T").permute(all_dims(self)[::-1])


@attribute
def real(self: Any) -> Any:
    return array_of(self, "real").real


@attribute
def imag(self: Any) -> Any:
    values = array_of(self, "imag")
    if not values.is_complex():
        decline("imag of real numbers, a view that is read-only")
    return values.imag


@stands_in("ndarray.view", returns_arrays=True, takes_complex=True)
def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
    values = array_of(self, "view")
    if type is not None:
        decline("view as another type")
    if dtype is None:
        return values[:]
    wanted = dtype_of(dtype, takes_complex=True)
    if wanted is minidynamo.bool and values.dtype is not minidynamo.bool:
        decline("view of bytes as bools")
    if values.numel() == 0 and wanted.itemsize != values.itemsize:
        decline("view of nothing in another width, for which no strides are wrong")
    return values[:] if wanted is values.dtype else values.view(wanted)


@stands_in("swapaxes ndarray.swapaxes", returns_arrays=True, takes_complex=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return array_of(a, "swapaxes").transpose(axis1, axis2)


@stands_in("moveaxis", returns_arrays=True, takes_complex=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return array_of(a, "moveaxis").movedim(source, destination)


@stands_in("squeeze ndarray.squeeze", returns_arrays=True, takes_complex=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    values = array_of(a, "squeeze")
    if axis is None:
        return values.squeeze()
    for dim in axis if isinstance(axis, tuple) else (axis,):
        if values.shape[dim] != 1:
            decline("squeeze of an axis that is not 1")
    return values.squeeze(axis)


@stands_in("expand_dims", returns_arrays=True, takes_complex=True)
def expand_dims(a: Any, axis: Any) -> Any:
    if not isinstance(axis, int):
        decline("expand_dims by several axes")
    values = array_of(a, "expand_dims")
    if values.dim() == MOST_DIMS:
        decline("expand_dims to that many dims")
    return values.unsqueeze(axis)


@stands_in("broadcast_to", returns_arrays=True, takes_complex=True)
def broadcast_to(array: Any, shape: Any, subok: Any = False) -> Any:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    values = array_of(array, "broadcast_to")
    if any(size < 0 for size in sizes):
        decline("broadcast_to such a shape")
    return prims.read_only(values.expand(sizes))


@stands_in("roll", returns_arrays=True, takes_complex=True)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    values = array_of(a, "roll")
    if not values.is_contiguous():
        decline("roll of an array in another order")
    if isinstance(axis, tuple):
        shifts = (shift,) * len(axis) if isinstance(shift, int) else shift
        are_ints = isinstance(shifts, (list, tuple)) and all(isinstance(each, int) for each in shifts)
        if not are_ints or len(shifts) != len(axis):
            decline("roll by such shifts")
        return values.roll(tuple(shifts), axis)
    if not isinstance(shift, int) or not (axis is None or isinstance(axis, int)):
        decline("roll by several shifts")
    if axis is None:
        return values.reshape(-1).roll(shift).reshape(values.shape)
    return values.roll(shift, axis)


@stands_in("repeat ndarray.repeat", returns_arrays=True, takes_complex=True)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    values = array_of(a, "repeat")
    if not isinstance(repeats, int):
        decline("repeat by an array")
    if axis is None:
        values, axis = values.reshape(-1), 0
    return values.repeat_interleave(repeats, axis)


@stands_in("tile", returns_arrays=True, takes_complex=True)
def tile(A: Any, reps: Any) -> Any:
    values = array_of(A, "tile")
    return values.tile((reps,) if isinstance(reps, int) else tuple(reps))


@stands_in("diagonal ndarray.diagonal", returns_arrays=True, takes_complex=True)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    values = array_of(a, "diagonal")
    if not isinstance(offset, int) or not is_axis(values, axis1) or not is_axis(values, axis2):
        decline("diagonal of such axes")
    return prims.read_only(values.diagonal(offset, axis1, axis2))


@stands_in("linalg.diagonal", returns_arrays=True, takes_complex=True)
def diagonal_of_matrices(x: Any, /, *, offset: Any = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@stands_in("matrix_transpose linalg.matrix_transpose", returns_arrays=True, takes_complex=True)
def matrix_transpose(x: Any, /) -> Any:
    values = array_of(x, "matrix_transpose")
    if values.dim() < 2:
        decline("matrix_transpose of a vector")
    return values.transpose(-2, -1)


def _reversed(values: Tensor, axes: tuple[int, ...]) -> Tensor:
    """A view whose steps along these axes have the other sign."""
    for axis in axes:
        values = prims.slice(values, axis, None, None, -1)
    return values if axes else values[:]


@stands_in("flip", returns_arrays=True, takes_complex=True)
def flip(m: Any, axis: Any = None) -> Any:
    values = array_of(m, "flip")
    if axis is None:
        return _reversed(values, all_dims(values))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(is_axis(values, each) for each in axes) or len({each % values.dim() for each in axes}) < len(axes):
        decline("flip of other axes")
    return _reversed(values, axes)


@stands_in("flipud", returns_arrays=True, takes_complex=True)
def flipud(m: Any) -> Any:
    return _reversed(array_of(m, "flipud"), (0,))


@stands_in("fliplr", returns_arrays=True, takes_complex=True)
def fliplr(m: Any) -> Any:
    values = array_of(m, "fliplr")
    if values.dim() < 2:
        decline("fliplr of a vector")
    return _reversed(values, (1,))


@stands_in("rot90", returns_arrays=True, takes_complex=True)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    values = array_of(m, "rot90")
    if not isinstance(k, int) or len(axes) != 2 or not all(is_axis(values, each) for each in axes):
        decline("rot90 of other axes")
    first, second = axes[0] % values.dim(), axes[1] % values.dim()
    if first == second:
        decline("rot90 of one axis")
    turns = k % 4
    if turns == 1:
        return _reversed(values, (second,)).transpose(first, second)
    if turns == 3:
        return _reversed(values.transpose(first, second), (second,))
    return _reversed(values, (first, second) if turns == 2 else ())
