"""The table of functions that stand in for NumPy's, and what they share."""

from __future__ import annotations

import minidynamo

from ... import _C
from ..._C import Tensor
from ..decline import decline
from ..numbers import is_int

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = [
    "ATTRIBUTES",
    "MOST_DIMS",
    "TABLE",
    "UNSIGNED",
    "WIDE",
    "all_dims",
    "array_of",
    "as_in_memory",
    "attribute",
    "cast",
    "common_order",
    "decline",
    "dtype_of",
    "holds",
    "is_axis",
    "may_store",
    "outermost_first",
    "promoted",
    "repeats_nothing",
    "require",
    "require_within",
    "stands_in",
    "tensor",
]


class StandIn:
    """A function of ours, with NumPy's parameters, in the place of NumPy's at `places`."""

    def __init__(self, places: str, function: Callable[..., Any], **traits: bool) -> None:
        self.places = places.split()
        self.function = function
        self.traits = traits

    def register(self, numpy: Any) -> None:
        """Adds it for each place that this NumPy has."""
        for path in self.places:
            value = numpy
            for part in path.split("."):
                value = getattr(value, part, None)
            if value is not None:
                is_method = path.startswith(("ndarray.", "generic.", "ufunc."))
                _C._numpy.add(value, path, "StandIn", self.function, method=is_method, **self.traits)


# NumPy has no arrays of more.
MOST_DIMS = 64

TABLE: list[StandIn] = []
ATTRIBUTES: dict[str, Callable[..., Any]] = {}


def stands_in(
    places: str, *, returns_arrays: bool = False, takes_complex: bool = False, takes_strangers: bool = False
) -> Callable[[_Function], _Function]:
    """Enters a function over our tensors; results of rank 0 are scalars unless `returns_arrays` or they are views.

    takes_complex: of complex numbers it computes what NumPy does; else they are left to NumPy.
    takes_strangers: a tensor of another library that comes first counts as an array over its memory.
    """
    traits = {"returns_arrays": returns_arrays, "takes_complex": takes_complex, "takes_strangers": takes_strangers}

    def enter(function: _Function) -> _Function:
        TABLE.append(StandIn(places, function, **traits))
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


def require(condition: Tensor) -> None:
    """Leaves a run to NumPy where the condition, without axes, is false: a place that does not exist is read."""
    minidynamo.zeros(1)[1 - condition.to(minidynamo.int64).reshape(1)]


_DTYPES = {
    **{"bool": minidynamo.bool, "int8": minidynamo.int8, "int16": minidynamo.int16, "int32": minidynamo.int32},
    **{"int64": minidynamo.int64, "uint8": minidynamo.uint8, "uint16": minidynamo.uint16},
    **{"uint32": minidynamo.uint32, "uint64": minidynamo.uint64, "float16": minidynamo.float16},
    **{"float32": minidynamo.float32, "float64": minidynamo.float64, "int": minidynamo.int64},
    **{"float": minidynamo.float64, "f4": minidynamo.float32, "f8": minidynamo.float64, "i4": minidynamo.int32},
    **{"i8": minidynamo.int64, "d": minidynamo.float64, "f": minidynamo.float32},
    **{"i1": minidynamo.int8, "i2": minidynamo.int16, "f2": minidynamo.float16, "?": minidynamo.bool},
    **{"complex64": minidynamo.complex64, "complex128": minidynamo.complex128, "complex": minidynamo.complex128},
    **{"c8": minidynamo.complex64, "c16": minidynamo.complex128, "F": minidynamo.complex64, "D": minidynamo.complex128},
    **{"u1": minidynamo.uint8, "u2": minidynamo.uint16, "u4": minidynamo.uint32, "u8": minidynamo.uint64},
}


def dtype_of(value: Any, *, takes_complex: bool = False) -> Any:
    """An argument `dtype`, which is not None."""
    found = _DTYPES.get(value) if isinstance(value, str) else value
    if not isinstance(found, minidynamo.dtype) or (found.is_complex and not takes_complex):
        decline("a dtype")
    return found


def cast(value: Tensor, dtype: Any, *, copy: bool = False) -> Tensor:
    """In the dtype. NumPy warns where imaginary parts are lost."""
    if value.is_complex() and not dtype.is_complex and dtype is not minidynamo.bool:
        decline("complex numbers in a dtype of real ones")
    return value.to(dtype, copy=copy)


def holds(dtype: Any, value: Any) -> bool:
    """Whether the number is an int that is an element of the dtype of integers."""
    if not is_int(value) or dtype not in _ENDS:
        return False
    least, most = _ENDS[dtype]
    return least <= value <= most


# Floats from here on are rounded to infinities, of which NumPy warns.
_INFINITE = {minidynamo.float16: 65520.0, minidynamo.float32: float.fromhex("0x1.ffffffp+127")}


def require_within(number: Any, dtype: Any, what: str) -> None:
    """A number that the dtype rounds to an infinity is left to NumPy."""
    infinite = _INFINITE.get(dtype)
    if infinite is not None and infinite <= abs(number) < float("inf"):
        decline(f"{what} of such a number")


def is_axis(value: Tensor, axis: Any) -> bool:
    return isinstance(axis, int) and -value.dim() <= axis < value.dim()


def all_dims(value: Tensor) -> tuple[int, ...]:
    return tuple(range(value.dim()))


def outermost_first(value: Tensor) -> tuple[int, ...]:
    """The dims as they lie in memory, those whose elements are furthest apart first, else in their order."""
    strides = value.stride()
    return tuple(sorted(all_dims(value), key=lambda dim: -abs(strides[dim])))


def common_order(values: list[Tensor], what: str) -> Any:
    """In which order the axes of a new array of their elements lie in memory; None: in C's."""
    arrays = [value for value in values if value.dim() > 0]
    orders = [outermost_first(value) for value in arrays]
    if all(order == all_dims(value) for order, value in zip(orders, arrays)):
        return None
    if any(value.shape != arrays[0].shape for value in arrays) or any(order != orders[0] for order in orders):
        decline(f"{what} of arrays in several orders")
    return orders[0]


def repeats_nothing(value: Tensor, what: str) -> Tensor:
    """The array. Of broadcast ones NumPy orders the axes of copies by strides that are 0: not followed here."""
    if any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride())):
        decline(f"{what} of an array that repeats its elements")
    return value


_ORDER = {
    **{minidynamo.bool: 0, minidynamo.int8: 1, minidynamo.uint8: 1, minidynamo.int16: 2, minidynamo.int32: 3},
    **{minidynamo.uint16: 2, minidynamo.uint32: 3, minidynamo.uint64: 4, minidynamo.int64: 4},
    **{minidynamo.float16: 5, minidynamo.float32: 6, minidynamo.float64: 7},
}
UNSIGNED = (minidynamo.uint8, minidynamo.uint16, minidynamo.uint32, minidynamo.uint64)
# Computed in by NumPy as by us: products of others are wider, or rounded at each step.
WIDE = (minidynamo.int64, minidynamo.float32, minidynamo.float64)
_INTEGERS = (minidynamo.int8, minidynamo.int16, minidynamo.int32, minidynamo.int64, *UNSIGNED)
_ENDS = {dtype: (minidynamo.iinfo(dtype).min, minidynamo.iinfo(dtype).max) for dtype in _INTEGERS}
# By width, with what holds uint64 beside numbers of both signs.
_SIGNED = (None, minidynamo.int8, minidynamo.int16, minidynamo.int32, minidynamo.int64, minidynamo.float64)
# Floats that hold integers of each of these widths, as numpy.promote_types() says.
_LEAST_FLOAT = {0: minidynamo.float16, 1: minidynamo.float16, 2: minidynamo.float32}


_PARTS = {minidynamo.complex64: minidynamo.float32, minidynamo.complex128: minidynamo.float64}


def promoted(first: Any, second: Any) -> Any:
    """numpy.promote_types() of two dtypes."""
    if first == second:
        return first
    if first.is_complex or second.is_complex:
        parts = promoted(_PARTS.get(first, first), _PARTS.get(second, second))
        return minidynamo.complex128 if parts is minidynamo.float64 else minidynamo.complex64
    low, high = (first, second) if _ORDER[first] <= _ORDER[second] else (second, first)
    if 0 < _ORDER[low] <= _ORDER[high] < 5 and (low in UNSIGNED) != (high in UNSIGNED):
        unsigned, signed = (low, high) if low in UNSIGNED else (high, low)
        return _SIGNED[max(_ORDER[signed], _ORDER[unsigned] + 1)]
    if _ORDER[high] < 5 or _ORDER[low] >= 5:
        return high
    least = _LEAST_FLOAT.get(_ORDER[low], minidynamo.float64)
    return high if _ORDER[high] >= _ORDER[least] else least


def _kind(dtype: Any) -> int:
    if dtype is minidynamo.bool:
        return 0
    return 4 if dtype.is_complex else 3 if dtype.is_floating_point else 1 if dtype in UNSIGNED else 2


def may_store(source: Any, target: Any) -> bool:
    """numpy.can_cast(source, target, "same_kind")."""
    return _kind(source) <= _kind(target)


def as_in_memory(function: Callable[[Tensor, int], Tensor], value: Tensor, axis: int) -> Tensor:
    """function(value, axis), with a result whose axes lie in memory as those of the array do."""
    order = outermost_first(repeats_nothing(value, "a function along an axis"))
    if order == all_dims(value):
        return function(value, axis)
    found = function(value.permute(order), order.index(axis % value.dim()))
    return found.permute([order.index(dim) for dim in range(len(order))])
