"""The table of functions that stand in for NumPy's, and what they share."""

from __future__ import annotations

import minidynamo

from ... import _C
from ..._C import Tensor
from ..decline import decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = [
    "ATTRIBUTES",
    "TABLE",
    "all_dims",
    "array_of",
    "as_in_memory",
    "attribute",
    "decline",
    "dtype_of",
    "is_axis",
    "outermost_first",
    "promoted",
    "repeats_nothing",
    "stands_in",
    "tensor",
]


class StandIn:
    """A function of ours, with NumPy's parameters, in the place of NumPy's at `places`."""

    def __init__(self, places: str, function: Callable[..., Any], returns_arrays: bool) -> None:
        self.places = places.split()
        self.function = function
        self.returns_arrays = returns_arrays

    def register(self, numpy: Any) -> None:
        """Adds it for each place that this NumPy has."""
        for path in self.places:
            value = numpy
            for part in path.split("."):
                value = getattr(value, part, None)
            if value is not None:
                is_method = path.startswith(("ndarray.", "ufunc."))
                _C._numpy.add(
                    value, path, "StandIn", self.function, method=is_method, returns_arrays=self.returns_arrays
                )


TABLE: list[StandIn] = []
ATTRIBUTES: dict[str, Callable[..., Any]] = {}


def stands_in(places: str, *, returns_arrays: bool = False) -> Callable[[_Function], _Function]:
    """Enters a function over our tensors; results of rank 0 are scalars unless `returns_arrays` or they are views."""

    def enter(function: _Function) -> _Function:
        TABLE.append(StandIn(places, function, returns_arrays))
        return function

    return enter


def attribute(function: _Function) -> _Function:
    """Enters what computes the attribute of its name."""
    ATTRIBUTES[function.__name__.rstrip("_")] = function
    return function


def array_of(value: Any, what: str) -> Tensor:
    """The argument with axes; scalars and arrays without any are left to NumPy."""
    if not isinstance(value, Tensor) or value.dim() == 0:
        decline(f"{what} of no array")
    return value


def tensor(value: Any, what: str) -> Tensor:
    """The argument; anything but an array or a scalar of NumPy is left to NumPy."""
    if not isinstance(value, Tensor):
        decline(f"{what} of no array")
    return value


_DTYPES = {
    **{"bool": minidynamo.bool, "int8": minidynamo.int8, "int16": minidynamo.int16, "int32": minidynamo.int32},
    **{"int64": minidynamo.int64, "uint8": minidynamo.uint8, "float16": minidynamo.float16},
    **{"float32": minidynamo.float32, "float64": minidynamo.float64, "int": minidynamo.int64},
    **{"float": minidynamo.float64, "f4": minidynamo.float32, "f8": minidynamo.float64, "i4": minidynamo.int32},
    **{"i8": minidynamo.int64, "d": minidynamo.float64, "f": minidynamo.float32},
}


def dtype_of(value: Any) -> Any:
    """An argument `dtype`, which is not None."""
    if isinstance(value, str):
        found = _DTYPES.get(value)
        if found is None:
            decline("a dtype")
        return found
    if not isinstance(value, minidynamo.dtype):
        decline("a dtype")
    return value


def is_axis(value: Tensor, axis: Any) -> bool:
    return isinstance(axis, int) and -value.dim() <= axis < value.dim()


def all_dims(value: Tensor) -> tuple[int, ...]:
    return tuple(range(value.dim()))


def outermost_first(value: Tensor) -> tuple[int, ...]:
    """The dims as they lie in memory, those whose elements are furthest apart first, else in their order."""
    strides = value.stride()
    return tuple(sorted(all_dims(value), key=lambda dim: -abs(strides[dim])))


def repeats_nothing(value: Tensor, what: str) -> Tensor:
    """The array. Of broadcast ones NumPy orders the axes of copies by strides that are 0: not followed here."""
    if any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride())):
        decline(f"{what} of an array that repeats its elements")
    return value


_ORDER = {
    **{minidynamo.bool: 0, minidynamo.int8: 1, minidynamo.uint8: 1, minidynamo.int16: 2, minidynamo.int32: 3},
    **{minidynamo.int64: 4, minidynamo.float16: 5, minidynamo.float32: 6, minidynamo.float64: 7},
}
# Floats that hold integers of each of these widths, as numpy.promote_types() says.
_LEAST_FLOAT = {0: minidynamo.float16, 1: minidynamo.float16, 2: minidynamo.float32}


def promoted(first: Any, second: Any) -> Any:
    """numpy.promote_types() of two dtypes."""
    if first == second:
        return first
    if {first, second} == {minidynamo.int8, minidynamo.uint8}:
        return minidynamo.int16
    low, high = (first, second) if _ORDER[first] <= _ORDER[second] else (second, first)
    if _ORDER[high] < 5 or _ORDER[low] >= 5:
        return high
    least = _LEAST_FLOAT.get(_ORDER[low], minidynamo.float64)
    return high if _ORDER[high] >= _ORDER[least] else least


def as_in_memory(function: Callable[[Tensor, int], Tensor], value: Tensor, axis: int) -> Tensor:
    """function(value, axis), with a result whose axes lie in memory as those of the array do."""
    order = outermost_first(repeats_nothing(value, "a function along an axis"))
    if order == all_dims(value):
        return function(value, axis)
    found = function(value.permute(order), order.index(axis % value.dim()))
    return found.permute([order.index(dim) for dim in range(len(order))])
