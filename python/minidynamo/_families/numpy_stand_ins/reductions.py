"""Reductions over axes."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import is_inexact
from ..numbers import is_number
from .table import (
    UNSIGNED,
    all_dims,
    as_in_memory,
    decline,
    dtype_of,
    holds,
    is_axis,
    outermost_first,
    require,
    stands_in,
    tensor,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MANY = 10_000
_SMALL = (minidynamo.bool, minidynamo.int8, minidynamo.int16, minidynamo.int32)


def stored(result: Tensor, out: Any) -> Tensor:
    """The result, or `out` with it: of other dtypes NumPy computes otherwise, of other shapes it raises."""
    if out is None:
        return result
    # What has no axes may be a scalar, which NumPy refuses.
    if not isinstance(out, Tensor) or out.dim() == 0 or out.dtype is not result.dtype or out.shape != result.shape:
        decline("a result into such an array")
    return out.copy_(result)


def _kept(a: Tensor, where: Any, name: str) -> Any:
    """The mask in the shape of the array; None if all of it counts."""
    if where is True:
        return None
    if not isinstance(where, Tensor) or where.dtype is not minidynamo.bool or where.dim() > a.dim():
        decline(f"{name} where no array of bools is true")
    if outermost_first(a) != all_dims(a) or outermost_first(where) != all_dims(where):
        decline(f"{name} of arrays in another order")
    for size, wanted in zip(where.shape[::-1], a.shape[::-1]):
        if size not in (1, wanted):
            decline(f"{name} where a larger array is true")
    return where.expand(a.shape)


def _masked(a: Tensor, where: Any, name: str, neutral: Any) -> Tensor:
    kept = _kept(a, where, name)
    return a if kept is None else minidynamo.where(kept, a, minidynamo.full((), neutral, dtype=a.dtype))


def _count(a: Tensor, where: Any, name: str, axis: Any, keepdims: Any) -> Tensor:
    """Of the elements that count, each at least one: of nothing NumPy warns and returns NaN."""
    found = _reduced(minidynamo.sum, _kept(a, where, name).to(minidynamo.int64), axis, keepdims)
    require((found > 0).all())
    return found


def _start(value: Any, dtype: Any, name: str) -> Any:
    """`initial` as an element."""
    if isinstance(value, Tensor):
        if value.dim() != 0 or value.dtype is not dtype:
            decline(f"{name} with such an initial")
        return value
    if not (holds(dtype, value) or (is_number(value) and dtype.is_floating_point)):
        decline(f"{name} with such an initial")
    return minidynamo.full((), value, dtype=dtype)


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
        if dtype_of(dtype) is minidynamo.bool or a.is_complex():
            decline("a sum or product of bools")
        return a.to(dtype_of(dtype))
    if a.dtype in UNSIGNED:
        return a.to(minidynamo.uint64)
    return a.to(minidynamo.int64) if a.dtype in _SMALL else a


def _in_its_dtype(value: Tensor) -> dict[str, Any]:
    """The dtype of a sum or product, where it is not the one that ours have."""
    return {} if value.is_floating_point() or value.dtype is minidynamo.int64 else {"dtype": value.dtype}


def _sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    values = _masked(_accumulated(tensor(a, "sum"), dtype), where, "sum", 0)
    if values.dim() == 0:
        return stored(_begun("sum", _of_element("sum", values, axis), initial), out)
    found = _reduced(minidynamo.sum, values, axis, keepdims, **_in_its_dtype(values))
    return stored(_begun("sum", found, initial), out)


def _begun(name: str, result: Tensor, initial: Any) -> Tensor:
    """With what the reduction begins with."""
    if initial is None:
        return result
    start = _start(initial, result.dtype, name)
    if result.dtype is minidynamo.float16:
        decline(f"{name} of float16 with initial")
    return start * result if name == "prod" else start + result


def _prod(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    values = _masked(_accumulated(tensor(a, "prod"), dtype), where, "prod", 1)
    if axis is None and not keepdims:
        return stored(_begun("prod", minidynamo.prod(values, **_in_its_dtype(values)), initial), out)
    if not is_axis(values, axis):
        decline("prod over several axes")
    if outermost_first(values) != all_dims(values):
        decline("prod of an array in another order")
    return stored(_begun("prod", minidynamo.prod(values, axis, keepdims, **_in_its_dtype(values)), initial), out)


def _floats(a: Any, name: str, dtype: Any) -> Tensor:
    values = tensor(a, name)
    if values.numel() == 0:
        decline(f"{name} of nothing")
    if dtype is None:
        return values if is_inexact(values) else values.to(minidynamo.float64)
    wanted = dtype_of(dtype)
    if wanted not in (minidynamo.float32, minidynamo.float64) or values.is_complex():
        decline(f"{name} in such a dtype")
    return values.to(wanted)


def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
) -> Any:
    values = _floats(a, "mean", dtype)
    if values.dim() == 0:
        return stored(_of_element("mean", values, axis), out)
    if where is True:
        return stored(_reduced(minidynamo.mean, values, axis, keepdims), out)
    return stored(_mean_of_some("mean", values, axis, keepdims, where), out)


def _mean_of_some(name: str, values: Tensor, axis: Any, keepdims: Any, where: Any) -> Tensor:
    if values.dtype is minidynamo.float16 or values.is_complex():
        decline(f"{name} of some float16, or of some complex numbers")
    count = _count(values, where, name, axis, keepdims)
    return _reduced(minidynamo.sum, _masked(values, where, name, 0), axis, keepdims) / count


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
    values = _floats(a, name, dtype)
    if where is not True:
        return stored(_spread_of_some(name, values, axis, ddof, keepdims, where), out)
    count = 1
    for dim in _axes(values, axis):
        count *= values.shape[dim]
    if values.dim() == 0 or count - ddof <= 0:
        decline(f"{name} without degrees of freedom")
    function = minidynamo.var if name == "var" else minidynamo.std
    return stored(_reduced(function, values, axis, keepdims, correction=ddof), out)


def _spread_of_some(name: str, values: Tensor, axis: Any, ddof: Any, keepdims: Any, where: Any) -> Tensor:
    if not isinstance(ddof, int) or values.dim() == 0:
        decline(f"{name} of some elements, with such degrees of freedom")
    distance = values - _mean_of_some(name, values, axis, True, where)
    freedom = _count(values, where, name, axis, keepdims) - ddof
    require((freedom > 0).all())
    squares = _reduced(minidynamo.sum, _masked(distance * distance, where, name, 0), axis, keepdims)
    return squares / freedom if name == "var" else (squares / freedom).sqrt()


def _extreme(name: str, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    values = tensor(a, name)
    start: Any = None if initial is None else _start(initial, values.dtype, name)
    if values.numel() == 0 or (start is None and where is not True):
        decline(f"{name} of nothing")
    if values.dim() == 0:
        if start is not None:
            decline(f"{name} of an element, with initial")
        return stored(_of_element(name, values, axis), out)
    kept = _kept(values, where, name)
    if kept is not None:
        values = minidynamo.where(kept, values, start)
    found = _reduced(minidynamo.amax if name == "max" else minidynamo.amin, values, axis, keepdims)
    if start is not None:
        found = minidynamo.maximum(start, found) if name == "max" else minidynamo.minimum(start, found)
    return stored(found, out)


def _max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return _extreme("max", a, axis, out, keepdims, initial, where)


def _min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return _extreme("min", a, axis, out, keepdims, initial, where)


# ---- what statistics.py makes of these, where NaNs do not count


def mean_of_numbers(a: Tensor, axis: Any, dtype: Any, out: Any, keepdims: Any, where: Any) -> Tensor:
    return _mean(a, axis, dtype, out, keepdims, _numbers(a, "nanmean", where))


def spread_of_numbers(
    name: str, a: Tensor, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any, where: Any
) -> Tensor:
    return _spread(name, a, axis, dtype, out, ddof, keepdims, _numbers(a, name, where))


def extreme_of_numbers(name: str, a: Tensor, axis: Any, out: Any, keepdims: Any) -> Tensor:
    kept = _numbers(a, name, True)
    if kept is True:
        return _extreme(name, a, axis, out, keepdims, None, True)
    if a.dtype is minidynamo.float16 or not 0 < a.numel() <= _MANY:
        decline(f"{name} of such an array, or of many elements, which NumPy compares faster")
    worst = minidynamo.full((), float("-inf") if name == "max" else float("inf"), dtype=a.dtype)
    found = _extreme(name, minidynamo.where(kept, a, worst), axis, None, keepdims, None, True)
    # Of NaNs alone, if not of infinities, NumPy warns.
    require((found != worst).all())
    return stored(found, out)


def _numbers(a: Tensor, name: str, where: Any) -> Any:
    """The mask of what is not NaN, or True."""
    if where is not True:
        decline(f"{name} of some numbers")
    if not a.is_floating_point():
        return True
    if a.dim() == 0 or outermost_first(a) != all_dims(a):
        decline(f"{name} of such an array")
    return a.isnan().logical_not().contiguous()


def _truth(name: str, a: Any, axis: Any, out: Any, keepdims: Any, where: Any) -> Any:
    function = minidynamo.any if name == "any" else minidynamo.all
    values = _masked(tensor(a, name).to(minidynamo.bool), where, name, name == "all")
    if axis is None and not keepdims:
        return stored(function(values), out)
    if values.dim() == 0:
        return stored(_of_element(name, values, axis), out)
    return stored(_reduced(function, values, axis, keepdims), out)


def _any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return _truth("any", a, axis, out, keepdims, where)


def _all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    return _truth("all", a, axis, out, keepdims, where)


def _argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _place("argmax", a, axis, out, keepdims)


def _argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _place("argmin", a, axis, out, keepdims)


def _place(name: str, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    values = tensor(a, name)
    if values.numel() == 0 or values.dim() == 0 or values.dtype is minidynamo.bool:
        decline(f"{name} of such an array")
    if axis is not None and not is_axis(values, axis):
        decline(f"{name} over such an axis")
    function = minidynamo.argmax if name == "argmax" else minidynamo.argmin
    return stored(function(values, axis, keepdims), out)


def _cumulated(name: str, a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    values = _accumulated(tensor(a, name), dtype)
    if axis is None:
        values, axis = values.reshape(-1), 0
    if values.dtype is minidynamo.float16:
        decline(f"{name} of float16, which rounds each sum")
    if not is_axis(values, axis):
        decline(f"{name} over such an axis")
    function = minidynamo.cumsum if name == "cumsum" else minidynamo.cumprod
    return stored(as_in_memory(lambda value, dim: function(value, dim, **_in_its_dtype(value)), values, axis), out)


def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _cumulated("cumsum", a, axis, dtype, out)


def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _cumulated("cumprod", a, axis, dtype, out)


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    most = _extreme("max", a, axis, None, keepdims, None, True)
    if most.dtype is minidynamo.bool:
        decline("ptp of bools")
    return stored(most - _extreme("min", a, axis, None, keepdims, None, True), out)


def _average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False) -> Any:
    if returned is not False:
        decline("average that returns the weights")
    if weights is None:
        return _mean(a, axis, keepdims=keepdims)
    values, each = tensor(a, "average"), tensor(weights, "average")
    wide = minidynamo.float64
    if wide not in (values.dtype, each.dtype) or values.dim() == 0 or keepdims is not False:
        decline("average with weights of such dtypes")
    if each.shape != values.shape or not values.is_contiguous() or not each.is_contiguous():
        decline("average with weights of another shape")
    values, each = values.to(wide), each.to(wide)
    total = _reduced(minidynamo.sum, each, axis, False)
    require((total != 0).all())
    return _reduced(minidynamo.sum, values * each, axis, False) / total


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
    return found.sum(**_in_its_dtype(found))


# By the names of ufuncs, for reduce() and accumulate().
REDUCTIONS = {"add": _sum, "multiply": _prod, "maximum": _max, "minimum": _min, "logical_and": _all, "logical_or": _any}
RUNNING = {"add": _cumsum, "multiply": _cumprod}

stands_in("ptp")(_ptp)
stands_in("average")(_average)
stands_in("nansum")(_nansum)
stands_in("trace ndarray.trace", takes_complex=True)(_trace)
stands_in("sum ndarray.sum", takes_complex=True)(_sum)
stands_in("prod ndarray.prod", takes_complex=True)(_prod)
stands_in("mean ndarray.mean", takes_complex=True)(_mean)
stands_in("var ndarray.var", takes_complex=True)(_var)
stands_in("std ndarray.std", takes_complex=True)(_std)
stands_in("max amax ndarray.max")(_max)
stands_in("min amin ndarray.min")(_min)
stands_in("any ndarray.any", takes_complex=True)(_any)
stands_in("all ndarray.all", takes_complex=True)(_all)
stands_in("argmax ndarray.argmax")(_argmax)
stands_in("argmin ndarray.argmin")(_argmin)
stands_in("cumsum ndarray.cumsum", takes_complex=True)(_cumsum)
stands_in("cumprod ndarray.cumprod")(_cumprod)
