"""Reductions over axes."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import UNSIGNED, all_dims, as_in_memory, decline, dtype_of, is_axis, outermost_first, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SMALL = (minidynamo.bool, minidynamo.int8, minidynamo.int16, minidynamo.int32)


def _require_plain(name: str, out: Any, initial: Any, where: Any) -> None:
    if out is not None or initial is not None or where is not True:
        decline(f"{name} with out, initial or where")


def _axes(a: Tensor, axis: Any) -> tuple[int, ...]:
    """The dims; None means all of them."""
    if axis is None:
        return all_dims(a)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not axes or not all(is_axis(a, dim) for dim in axes):
        decline("a reduction over such axes")
    return tuple([dim % a.dim() for dim in axes])


def _reduced(function: Any, a: Tensor, axis: Any, keepdims: Any, **options: Any) -> Any:
    """Over the axes, with a result whose axes lie in memory as those of the array do."""
    axes = _axes(a, axis)
    order = outermost_first(a)
    if order == all_dims(a):
        return function(a, axes, keepdim=keepdims, **options)
    found = function(a.permute(order), tuple([order.index(dim) for dim in axes]), keepdim=keepdims, **options)
    kept = [dim for dim in order if keepdims or dim not in axes]
    return found if not kept else found.permute([kept.index(dim) for dim in sorted(kept)])


def _of_element(name: str, value: Tensor, axis: Any) -> Tensor:
    if axis is not None:
        decline(f"{name} over an axis of an element")
    return value.clone()


def _accumulated(a: Tensor, dtype: Any) -> Tensor:
    """Small integers are added and multiplied in the default integer, those without sign in uint64."""
    if dtype is not None:
        if dtype_of(dtype) is minidynamo.bool:
            decline("a sum or product of bools")
        return a.to(dtype_of(dtype))
    if a.dtype in UNSIGNED:
        return a.to(minidynamo.uint64)
    return a.to(minidynamo.int64) if a.dtype in _SMALL else a


def _kept(value: Tensor) -> dict[str, Any]:
    """The dtype of a sum or product, where it is not the one that ours have."""
    return {} if value.is_floating_point() or value.dtype is minidynamo.int64 else {"dtype": value.dtype}


def _sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    _require_plain("sum", out, initial, where)
    values = _accumulated(tensor(a, "sum"), dtype)
    if values.dim() == 0:
        return _of_element("sum", values, axis)
    return _reduced(minidynamo.sum, values, axis, keepdims, **_kept(values))


def _prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    _require_plain("prod", out, initial, where)
    values = _accumulated(tensor(a, "prod"), dtype)
    if axis is None and not keepdims:
        return minidynamo.prod(values, **_kept(values))
    if not is_axis(values, axis):
        decline("prod over several axes")
    if outermost_first(values) != all_dims(values):
        decline("prod of an array in another order")
    return minidynamo.prod(values, axis, keepdims, **_kept(values))


def _floats(a: Any, name: str, dtype: Any) -> Tensor:
    values = tensor(a, name)
    if dtype is not None:
        decline(f"{name} with dtype")
    if values.numel() == 0:
        decline(f"{name} of nothing")
    return values if values.is_floating_point() else values.to(minidynamo.float64)


def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    _require_plain("mean", out, None, where)
    values = _floats(a, "mean", dtype)
    if values.dim() == 0:
        return _of_element("mean", values, axis)
    return _reduced(minidynamo.mean, values, axis, keepdims)


def _var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    where: Any = True,
) -> Any:  # fmt: skip
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where)


def _std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    where: Any = True,
) -> Any:  # fmt: skip
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where)


def _spread(name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any) -> Any:
    _require_plain(name, out, None, where)
    values = _floats(a, name, dtype)
    count = 1
    for dim in _axes(values, axis):
        count *= values.shape[dim]
    if values.dim() == 0 or count - ddof <= 0:
        decline(f"{name} without degrees of freedom")
    function = minidynamo.var if name == "var" else minidynamo.std
    return _reduced(function, values, axis, keepdims, correction=ddof)


def _extreme(name: str, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    _require_plain(name, out, initial, where)
    values = tensor(a, name)
    if values.numel() == 0:
        decline(f"{name} of nothing")
    if values.dim() == 0:
        return _of_element(name, values, axis)
    return _reduced(minidynamo.amax if name == "max" else minidynamo.amin, values, axis, keepdims)


def _max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return _extreme("max", a, axis, out, keepdims, initial, where)


def _min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return _extreme("min", a, axis, out, keepdims, initial, where)


def _truth(name: str, a: Any, axis: Any, out: Any, keepdims: Any, where: Any) -> Any:
    _require_plain(name, out, None, where)
    values = tensor(a, name)
    function = minidynamo.any if name == "any" else minidynamo.all
    values = values.to(minidynamo.bool)
    if axis is None and not keepdims:
        return function(values)
    if values.dim() == 0:
        return _of_element(name, values, axis)
    return _reduced(function, values, axis, keepdims)


def _any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return _truth("any", a, axis, out, keepdims, where)


def _all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return _truth("all", a, axis, out, keepdims, where)


def _argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _place("argmax", a, axis, out, keepdims)


def _argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _place("argmin", a, axis, out, keepdims)


def _place(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    _require_plain(name, out, None, True)
    values = tensor(a, name)
    if values.numel() == 0 or values.dim() == 0 or values.dtype is minidynamo.bool:
        decline(f"{name} of such an array")
    if axis is not None and not is_axis(values, axis):
        decline(f"{name} over such an axis")
    function = minidynamo.argmax if name == "argmax" else minidynamo.argmin
    return function(values, axis, keepdims)


def _cumulated(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    if out is not None:
        decline(f"{name} with out")
    values = _accumulated(tensor(a, name), dtype)
    if axis is None:
        values, axis = values.reshape(-1), 0
    if values.dtype is minidynamo.float16:
        decline(f"{name} of float16, which rounds each sum")
    if not is_axis(values, axis):
        decline(f"{name} over such an axis")
    function = minidynamo.cumsum if name == "cumsum" else minidynamo.cumprod
    return as_in_memory(lambda value, dim: function(value, dim, **_kept(value)), values, axis)


def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _cumulated("cumsum", a, axis, dtype, out)


def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _cumulated("cumprod", a, axis, dtype, out)


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    most = _extreme("max", a, axis, out, keepdims, None, True)
    if most.dtype is minidynamo.bool:
        decline("ptp of bools")
    return most - _extreme("min", a, axis, out, keepdims, None, True)


def _average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False) -> Any:
    if weights is not None or returned is not False:
        decline("average with weights, or that returns them")
    return _mean(a, axis, keepdims=keepdims)


def _nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    values = tensor(a, "nansum")
    if values.is_floating_point():
        values = minidynamo.where(values.isnan(), minidynamo.zeros((), dtype=values.dtype), values)
    return _sum(values, axis, dtype, out, keepdims, initial, where)


def _trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    values = tensor(a, "trace")
    if values.dim() != 2 or (axis1, axis2) != (0, 1) or not isinstance(offset, int) or out is not None:
        decline("trace of such axes")
    found = _accumulated(values, dtype).diagonal(offset)
    return found.sum(**_kept(found))


# By the names of ufuncs, for reduce() and accumulate().
REDUCTIONS = {"add": _sum, "multiply": _prod, "maximum": _max, "minimum": _min, "logical_and": _all, "logical_or": _any}
RUNNING = {"add": _cumsum, "multiply": _cumprod}

stands_in("ptp")(_ptp)
stands_in("average")(_average)
stands_in("nansum")(_nansum)
stands_in("trace ndarray.trace")(_trace)
stands_in("sum ndarray.sum")(_sum)
stands_in("prod ndarray.prod")(_prod)
stands_in("mean ndarray.mean")(_mean)
stands_in("var ndarray.var")(_var)
stands_in("std ndarray.std")(_std)
stands_in("max amax ndarray.max")(_max)
stands_in("min amin ndarray.min")(_min)
stands_in("any ndarray.any")(_any)
stands_in("all ndarray.all")(_all)
stands_in("argmax ndarray.argmax")(_argmax)
stands_in("argmin ndarray.argmin")(_argmin)
stands_in("cumsum ndarray.cumsum")(_cumsum)
stands_in("cumprod ndarray.cumprod")(_cumprod)
