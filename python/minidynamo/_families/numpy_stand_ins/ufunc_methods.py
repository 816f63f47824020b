"""reduce(), accumulate() and outer() of ufuncs."""

from __future__ import annotations

import minidynamo

from .products import pair_of_floats
from .reductions import REDUCTIONS, RUNNING
from .table import MOST_DIMS, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OUTER = {
    "add": minidynamo.add,
    "subtract": minidynamo.sub,
    "multiply": minidynamo.mul,
    "divide": minidynamo.div,
    "maximum": minidynamo.maximum,
    "minimum": minidynamo.minimum,
}

# By the ufuncs themselves, whose names a capture does not read.
_reduced: dict[Any, Any] = {}
_running: dict[Any, Any] = {}
_outer: dict[Any, Any] = {}


def find_ufuncs(numpy: Any) -> None:
    for found, functions in ((_reduced, REDUCTIONS), (_running, RUNNING), (_outer, _OUTER)):
        found.update({getattr(numpy, name): function for name, function in functions.items()})


@stands_in("ufunc.reduce")
def reduce(
    self: Any, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    function = _reduced.get(self)
    if function is None or dtype is not None or initial is not None or where is not True or out is not None:
        decline("reduce of this ufunc, or with such arguments")
    return function(array, axis=axis, keepdims=keepdims)


@stands_in("ufunc.accumulate", returns_arrays=True)
def accumulate(self: Any, array: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    function = _running.get(self)
    if function is None or dtype is not None or out is not None or axis is None:
        decline("accumulate of this ufunc, or with such arguments")
    return function(array, axis)


@stands_in("ufunc.outer")
def outer(self: Any, A: Any, B: Any, /) -> Any:
    function = _outer.get(self)
    if function is None:
        decline("outer of this ufunc")
    first, second = pair_of_floats(A, B, "outer")
    if not first.is_contiguous() or not second.is_contiguous():
        decline("outer of arrays in another order")
    if first.dim() + second.dim() > MOST_DIMS:
        decline("outer of that many dims")
    return function(first.reshape((*first.shape, *([1] * second.dim()))), second)
