"""What an array is, and arrays of the same elements."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from .placing import as_element
from .table import (
    all_dims,
    array_of,
    cast,
    decline,
    dtype_of,
    holds,
    is_axis,
    may_store,
    outermost_first,
    promoted,
    repeats_nothing,
    require_within,
    stands_in,
    tensor,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@stands_in("shape", takes_complex=True)
def shape(a: Any) -> Any:
    return tuple(tensor(a, "shape").shape)


@stands_in("ndim", takes_complex=True)
def ndim(a: Any) -> int:
    return tensor(a, "ndim").dim()


@stands_in("size", takes_complex=True)
def size(a: Any, axis: Any = None) -> Any:
    values = tensor(a, "size")
    if axis is None:
        return values.numel()
    if not is_axis(values, axis):
        decline("size along such an axis")
    return values.shape[axis]


def _kind(value: Any) -> int:
    """Of a number, or the largest in nested lists: 0 for bools, 1 for ints, 2 for floats, 3 for complex numbers."""
    if isinstance(value, (list, tuple)):
        if not value:
            decline("an array of nothing")
        return max([_kind(item) for item in value])
    if isinstance(value, bool):
        return 0
    if isinstance(value, complex):
        return 3
    if not isinstance(value, (int, float)):
        decline("an array of other than numbers")
    return 1 if isinstance(value, int) else 2


def _holds_all(dtype: Any, value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_holds_all(dtype, item) for item in value)
    return holds(dtype, value)


def _holds_arrays(value: Any) -> bool:
    is_list = isinstance(value, (list, tuple))
    return isinstance(value, Tensor) or (is_list and any(_holds_arrays(item) for item in value))


def _stacked(value: Any) -> Tensor:
    """A new array of nested lists that hold arrays or scalars."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (list, tuple)) or not value:
        return _plain_number(value)
    parts = [_stacked(item) for item in value]
    dtype = parts[0].dtype
    for part in parts[1:]:
        if part.shape != parts[0].shape:
            decline("an array of arrays of several shapes")
        dtype = promoted(dtype, part.dtype)
    return minidynamo.stack([part.to(dtype) for part in parts]).contiguous()


def _plain_number(value: Any) -> Tensor:
    if not isinstance(value, (bool, int, float)):
        decline("an array of other than numbers")
    kinds = (minidynamo.bool, minidynamo.int64, minidynamo.float64)
    return minidynamo.full((), value, dtype=kinds[_kind(value)])


def _require_within(value: Any, dtype: Any) -> None:
    if not isinstance(value, (list, tuple)):
        return require_within(value, dtype, "an array")
    for item in value:
        _require_within(item, dtype)


_KINDS = (minidynamo.bool, minidynamo.int64, minidynamo.float64, minidynamo.complex128)


def _of_numbers(value: Any, dtype: Any) -> Any:
    """A new array of a list."""
    if _holds_arrays(value):
        found = _stacked(value)
        if dtype is None:
            return found
        wanted = dtype_of(dtype, takes_complex=True)
        if not may_store(found.dtype, wanted):
            decline("an array of arrays in this dtype")
        return found.to(wanted)
    kind = _kind(value)
    if dtype is None:
        return minidynamo.tensor(value, dtype=_KINDS[kind])
    wanted = dtype_of(dtype, takes_complex=True)
    if wanted.is_complex:
        if wanted is minidynamo.complex64:
            decline("an array of numbers that complex64 may not hold")
        return minidynamo.tensor(value, dtype=wanted)
    if kind == 3:
        decline("complex numbers in a dtype of real ones")
    if wanted not in (minidynamo.float32, minidynamo.float64) and not _holds_all(wanted, value):
        decline("an array of numbers in this dtype")
    _require_within(value, wanted)
    return minidynamo.tensor(value, dtype=wanted)


@stands_in("asarray asanyarray", returns_arrays=True, takes_complex=True, takes_strangers=True)
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    if order not in (None, "K", "A") or device is not None or copy is not None or like is not None:
        decline("asarray with order, device, copy or like")
    if isinstance(a, (list, tuple)):
        return _of_numbers(a, dtype)
    values = repeats_nothing(array_of(a, "asarray"), "asarray")
    return values if dtype is None else cast(values, dtype_of(dtype, takes_complex=True))


@stands_in("array", returns_arrays=True, takes_complex=True, takes_strangers=True)
def array(
    object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: Any = False, ndmin: int = 0,
    ndmax: int = 0, like: Any = None,
) -> Any:  # fmt: skip
    if copy is not True or order != "K" or ndmin != 0 or ndmax != 0 or like is not None:
        decline("array with copy, order, ndmin, ndmax or like")
    if isinstance(object, (list, tuple)):
        return _of_numbers(object, dtype)
    values = repeats_nothing(array_of(object, "array"), "array")
    return values.clone() if dtype is None else cast(values, dtype_of(dtype, takes_complex=True), copy=True)


@stands_in("ascontiguousarray", returns_arrays=True, takes_complex=True)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    values = array_of(a, "ascontiguousarray")
    if dtype is not None or like is not None:
        decline("ascontiguousarray with dtype or like")
    return values if values.is_contiguous() else values.clone(memory_format=minidynamo.contiguous_format)


@stands_in("atleast_1d", returns_arrays=True, takes_complex=True)
def atleast_1d(*arys: Any) -> Any:
    if len(arys) != 1:
        decline("atleast_1d of several arrays")
    return array_of(arys[0], "atleast_1d")


@stands_in("atleast_2d", returns_arrays=True, takes_complex=True)
def atleast_2d(*arys: Any) -> Any:
    if len(arys) != 1:
        decline("atleast_2d of several arrays")
    values = array_of(arys[0], "atleast_2d")
    return values.unsqueeze(0) if values.dim() == 1 else values


@stands_in("atleast_3d", returns_arrays=True, takes_complex=True)
def atleast_3d(*arys: Any) -> Any:
    if len(arys) != 1:
        decline("atleast_3d of several arrays")
    values = array_of(arys[0], "atleast_3d")
    if values.dim() == 1:
        return values.unsqueeze(0).unsqueeze(2)
    return values.unsqueeze(2) if values.dim() == 2 else values


@stands_in("ndarray.conj ndarray.conjugate", returns_arrays=True, takes_complex=True)
def conj_method(self: Any) -> Any:
    values = array_of(self, "conj")
    return prims.conj(values) if values.is_complex() else values


@stands_in("real", returns_arrays=True, takes_complex=True)
def real(val: Any) -> Any:
    return array_of(val, "real").real


@stands_in("imag", returns_arrays=True, takes_complex=True)
def imag(val: Any) -> Any:
    values = array_of(val, "imag")
    if not values.is_complex():
        decline("imag of real numbers, a view that is read-only")
    return values.imag


@stands_in("angle", takes_complex=True)
def angle(z: Any, deg: Any = False) -> Any:
    values = array_of(z, "angle")
    if not values.is_complex() or deg is not False:
        decline("angle of real numbers, or in degrees")
    return minidynamo.angle(values)


@stands_in("iscomplexobj", takes_complex=True)
def iscomplexobj(x: Any) -> Any:
    return tensor(x, "iscomplexobj").is_complex()


@stands_in("isrealobj", takes_complex=True)
def isrealobj(x: Any) -> Any:
    return not tensor(x, "isrealobj").is_complex()


@stands_in("copyto", takes_complex=True)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    target = array_of(dst, "copyto")
    source = src if isinstance(src, Tensor) else as_element(src, target.dtype, "copyto")
    if casting != "unsafe" and (casting != "same_kind" or not may_store(source.dtype, target.dtype)):
        decline("copyto that NumPy does not cast")
    if source.is_complex() and not target.is_complex():
        decline("copyto of complex numbers into real ones")
    if source.dim() > target.dim() or outermost_first(target) != all_dims(target):
        decline("copyto of such arrays")
    if where is True:
        target.copy_(source)
        return
    chosen = tensor(where, "copyto")
    if chosen.dtype is not minidynamo.bool or chosen.dim() > target.dim():
        decline("copyto where no array of bools is true")
    target.copy_(minidynamo.where(chosen, source.to(target.dtype), target))


@stands_in("isfortran", takes_complex=True)
def isfortran(a: Any) -> bool:
    values = array_of(a, "isfortran")
    return not values.is_contiguous() and values.permute(all_dims(values)[::-1]).is_contiguous()


def _scalar(name: str, wanted: Any) -> None:
    """Of a number, as an element of the dtype: what overflows is left to NumPy."""

    def scalar(value: Any = 0, /) -> Any:
        if isinstance(value, Tensor):
            if value.dim() != 0 or not may_store(value.dtype, wanted):
                decline(f"{name} of an array")
            return value.to(wanted, copy=True)
        if isinstance(value, complex) or wanted.is_complex:
            decline(f"{name} of a number")
        if wanted.is_floating_point:
            is_small = isinstance(value, (int, float)) and abs(value) < 3e38
            is_held = is_small or (wanted is minidynamo.float64 and isinstance(value, float))
        else:
            is_held = isinstance(value, int) and -(2**31) <= value < 2**31
        if isinstance(value, bool) or not is_held:
            decline(f"{name} of such a number")
        return minidynamo.full((), value, dtype=wanted)

    stands_in(name, takes_complex=wanted.is_complex)(scalar)


for _name in ("int32", "int64", "float32", "float64", "complex64", "complex128"):
    _scalar(_name, getattr(minidynamo, _name))
