"""What `flat` of an array does: its elements in C's order, read as copies and written in place."""

from __future__ import annotations

from ..numbers import is_int, is_number
from .table import decline, numpy, rewrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _require_key(key: Any) -> None:
    if isinstance(key, numpy.ndarray):
        is_known = key.dtype.kind == "b" or (key.dtype.kind == "i" and key.itemsize == 8)
        if key.ndim != 1 or not is_known:
            decline("flat at such an array of places")
    elif not is_int(key) and not isinstance(key, slice):
        decline("flat at such a key")


def _place(array: Any, at: int) -> tuple[Any, ...]:
    """The subscripts of the element at a place among all of them."""
    if not -array.size <= at < array.size:
        decline("flat at a place out of range")
    at %= array.size
    subscripts: tuple[Any, ...] = ()
    for size in array.shape[::-1]:
        subscripts = (at % size, *subscripts)
        at //= size
    return subscripts


@rewrites("flatiter.__getitem__")
def read(array: Any, key: Any, /) -> Any:
    _require_key(key)
    if is_int(key):
        return array[_place(array, key)]
    found = array.reshape(-1)[key]
    return found.copy() if isinstance(key, slice) else found


@rewrites("flatiter.copy")
def copy(array: Any, /) -> Any:
    return array.flatten()


@rewrites("flatiter.__len__")
def length(array: Any, /) -> Any:
    return array.size


@rewrites("flatiter.base")
def base(array: Any, /) -> Any:
    if not isinstance(array, numpy.ndarray):
        decline("the new array of a scalar")
    return array


@rewrites("flatiter.__iter__")
def elements(array: Any, /) -> Any:
    """Each is read when it is asked for: of what no view shows in this order, the places are known beforehand."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    return _Elements(array)


class _Elements:
    def __init__(self, array: Any) -> None:
        self.array = array
        self.at = 0

    def __iter__(self) -> _Elements:
        return self

    def __next__(self) -> Any:
        if self.at == self.array.size:
            raise StopIteration
        self.at += 1
        return self.array[_place(self.array, self.at - 1)]


@rewrites("flatiter.__setitem__")
def write(array: Any, key: Any, value: Any, /) -> None:
    _require_key(key)
    if isinstance(value, numpy.ndarray):
        if value.dtype.kind == "c" and array.dtype.kind != "c":
            decline("complex numbers through flat into real ones")
        value = value.reshape(-1) if value.ndim > 0 else value
    elif not is_number(value) and not isinstance(value, (bool, complex, numpy.generic)):
        decline("flat set to other than an array or a number")
    if is_int(key):
        if isinstance(value, numpy.ndarray):
            decline("an element of flat set to an array")
        array[_place(array, key)] = value
        return
    if not array.flags.c_contiguous:
        decline("elements of flat set that lie in another order")
    whole = array.reshape(-1)
    # What is too short is repeated, and of what is too long the rest is left.
    if isinstance(value, numpy.ndarray) and value.ndim > 0 and value.shape != whole[key].shape:
        decline("flat set to an array of another length")
    whole[key] = value
