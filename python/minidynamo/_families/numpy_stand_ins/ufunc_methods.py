"""reduce(), accumulate(), reduceat(), outer() and at() of ufuncs."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .placing import as_element
from .reductions import REDUCTIONS, RUNNING
from .table import WIDE, all_dims, array_of, decline, is_axis, outermost_first, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FEW = 512
_OF_ORDER = (REDUCTIONS["maximum"], REDUCTIONS["minimum"])


def _running_maximum(a: Any, axis: Any, dtype: Any = None, out: Any = None) -> Any:
    return _running_extreme(minidynamo.cummax, a, axis, dtype, out)


def _running_minimum(a: Any, axis: Any, dtype: Any = None, out: Any = None) -> Any:
    return _running_extreme(minidynamo.cummin, a, axis, dtype, out)


def _running_extreme(function: Any, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    values = array_of(a, "accumulate")
    if dtype is not None or out is not None or not is_axis(values, axis) or values.dtype is minidynamo.bool:
        decline("accumulate with such arguments")
    if outermost_first(values) != all_dims(values) or values.dtype is minidynamo.float16:
        decline("accumulate of such an array")
    if values.numel() > _FEW:
        decline("accumulate of many elements, which NumPy compares faster")
    return function(values, axis).values


def _added(target: Tensor, places: Any, values: Tensor) -> None:
    if target.dim() > 1 or places[0].dim() > 1:
        target.index_put_(places, values, accumulate=True)
        return
    size = target.shape[0]
    at = minidynamo.where(places[0] < 0, places[0] + size, places[0])
    target.scatter_add_(0, at, values.expand(at.shape).contiguous())


def _subtracted(target: Tensor, places: Any, values: Tensor) -> None:
    _added(target, places, -values)


_ACCUMULATED = {**RUNNING, "maximum": _running_maximum, "minimum": _running_minimum}
_AT = {"add": _added, "subtract": _subtracted}

# By the ufuncs themselves, whose names a capture does not read.
_reduced: dict[Any, Any] = {}
_running: dict[Any, Any] = {}
_at: dict[Any, Any] = {}
_summed: dict[Any, Any] = {}


def find_ufuncs(numpy: Any) -> None:
    tables = (
        (_reduced, REDUCTIONS), (_running, _ACCUMULATED), (_at, _AT),
        (_summed, {"add": minidynamo.sum}),
    )  # fmt: skip
    for found, functions in tables:
        found.update({getattr(numpy, name): function for name, function in functions.items()})


@stands_in("ufunc.reduce", takes_complex=True)
def reduce(
    self: Any, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    function = _reduced.get(self)
    if function is None:
        decline("reduce of this ufunc")
    if isinstance(array, Tensor) and array.is_complex() and function in _OF_ORDER:
        decline("the order of complex numbers")
    options = {name: value for name, value in (("dtype", dtype), ("initial", initial)) if value is not None}
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    return function(array, axis=axis, keepdims=keepdims, out=out, where=where, **options)


@stands_in("ufunc.accumulate", returns_arrays=True, takes_complex=True)
def accumulate(self: Any, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    function = _running.get(self)
    if function is None or axis is None:
        decline("accumulate of this ufunc, or with such arguments")
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    return function(array, axis, dtype, out)


def _total(function: Any, part: Tensor, axis: int) -> Tensor:
    """Begins with the first element: of zeros that are all negative the sum is."""
    total = function(part, axis, keepdim=True)
    if not part.dtype.is_floating_point:
        return total
    is_negative = minidynamo.signbit(part).all(axis, keepdim=True) & (total == 0)
    return minidynamo.where(is_negative, -total, total)


@stands_in("ufunc.reduceat", returns_arrays=True)
def reduceat(self: Any, array: Any, /, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    values = array_of(array, "reduceat")
    function = _summed.get(self)
    if function is None or dtype is not None or out is not None or not is_axis(values, axis):
        decline("reduceat of this ufunc, or with such arguments")
    if values.dtype not in WIDE or not values.is_contiguous():
        decline("reduceat of such an array")
    if not isinstance(indices, (list, tuple)) or not indices or not all(isinstance(place, int) for place in indices):
        decline("reduceat at places that depend on data")
    size = values.shape[axis]
    if any(place < 0 or place >= size for place in indices):
        decline("reduceat at a place that does not exist")
    parts = []
    for place, following in zip(indices, [*indices[1:], size]):
        length = following - place if following > place else 1
        parts.append(_total(function, values.narrow(axis, place, length), axis))
    return minidynamo.cat(parts, axis)


def _places(indices: Any) -> list[Tensor]:
    each = indices if isinstance(indices, tuple) else (indices,)
    for place in each:
        is_array = isinstance(place, Tensor) and place.dim() > 0
        if not is_array or place.dtype not in (minidynamo.int64, minidynamo.int32):
            decline("at() with other than arrays of ints")
    return [place.to(minidynamo.int64) for place in each]


@stands_in("ufunc.at")
def at(self: Any, a: Any, indices: Any, b: Any = None, /) -> None:
    function = _at.get(self)
    target = array_of(a, "at()")
    if function is None or target.dtype not in WIDE:
        decline("at() of this ufunc, or of such an array")
    places = _places(indices)
    if len(places) > target.dim():
        decline("at() with too many indices")
    values = b if isinstance(b, Tensor) else as_element(b, target.dtype, "at()")
    if values.dtype is not target.dtype:
        decline("at() with values of another dtype")
    function(target, places, values)
