"""Places of elements, and elements chosen by masks. Sizes that depend on data are known when the region runs."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from ..numbers import is_int, is_number
from .table import all_dims, array_of, decline, is_axis, outermost_first, promoted, require, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_MANY = 4096


def element_or_array(value: Any, name: str) -> Tensor:
    """The argument; of a Python number the element that NumPy makes of it."""
    if isinstance(value, Tensor):
        return value
    if not is_number(value):
        decline(f"{name} of no array or number")
    return minidynamo.full((), value, dtype=minidynamo.int64 if isinstance(value, int) else minidynamo.float64)


def _places(bins: Tensor, values: Tensor, is_right: bool, name: str) -> Tensor:
    dtype = promoted(bins.dtype, values.dtype)
    if bins.dim() != 1 or dtype in (minidynamo.bool, minidynamo.float16):
        decline(f"{name} in such an array")
    if outermost_first(values) != all_dims(values):
        decline(f"{name} of an array in another order")
    return minidynamo.searchsorted(bins.to(dtype).contiguous(), values.to(dtype).contiguous(), right=is_right)


@stands_in("searchsorted ndarray.searchsorted")
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if sorter is not None or side not in ("left", "right"):
        decline("searchsorted with sorter, or on another side")
    bins = array_of(a, "searchsorted")
    # NumPy has NaNs after all numbers.
    if bins.is_floating_point() and bins.numel() > 0:
        require((bins[-1] == bins[-1]).all())
    return _places(bins, element_or_array(v, "searchsorted"), side == "right", "searchsorted")


@stands_in("digitize")
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    ends, values = array_of(bins, "digitize"), element_or_array(x, "digitize")
    if not isinstance(right, bool) or ends.dim() != 1 or ends.numel() == 0 or ends.dtype is minidynamo.bool:
        decline("digitize by such bins")
    require((ends[1:] >= ends[:-1]).all())
    if ends.is_floating_point():
        require((ends[-1] == ends[-1]).all())
    return _places(ends, values, not right, "digitize")


@stands_in("interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    at, places, found = tensor(x, "interp"), array_of(xp, "interp"), array_of(fp, "interp")
    ends = [end for end in (left, right) if end is not None]
    if period is not None or any(not is_number(end) for end in ends):
        decline("interp with a period, or with such ends")
    if places.dim() != 1 or found.dim() != 1 or places.shape != found.shape or places.shape[0] < 2:
        decline("interp between such points")
    if outermost_first(at) != all_dims(at):
        decline("interp at places in another order")
    wide = minidynamo.float64
    at, places, found = at.to(wide).contiguous(), places.to(wide).contiguous(), found.to(wide).contiguous()
    count = places.shape[0]
    require((places[1:] >= places[:-1]).all())
    # Of the interval that contains each place; the last point has none.
    interval = minidynamo.searchsorted(places, at, right=True) - 1
    inside = interval.clamp(0, count - 2)
    low, high, first, last = places[inside], places[inside + 1], found[inside], found[inside + 1]
    slope = (last - first) / (high - low)
    value = slope * (at - low) + first
    value = minidynamo.where(value.isnan(), slope * (at - high) + last, value)
    value = minidynamo.where(value.isnan() & (first == last), first, value)
    value = minidynamo.where(low == at, first, value)
    value = minidynamo.where(interval == count - 1, found[-1], value)
    before = found[0] if left is None else minidynamo.full((), left, dtype=wide)
    after = found[-1] if right is None else minidynamo.full((), right, dtype=wide)
    value = minidynamo.where(at < places[0], before, value)
    value = minidynamo.where(at > places[-1], after, value)
    return minidynamo.where(at.isnan(), at, value)


# ---- sizes that depend on data


def _nonzero(a: Any, name: str) -> Tensor:
    """One row for each element that is not zero."""
    return minidynamo.nonzero(array_of(a, name))


@stands_in("nonzero ndarray.nonzero", returns_arrays=True, takes_complex=True)
def nonzero(a: Any) -> Any:
    found = _nonzero(a, "nonzero")
    return tuple([found[:, dim] for dim in range(found.shape[1])])


@stands_in("flatnonzero", returns_arrays=True, takes_complex=True)
def flatnonzero(a: Any) -> Any:
    return _nonzero(array_of(a, "flatnonzero").reshape(-1), "flatnonzero")[:, 0]


@stands_in("argwhere", returns_arrays=True, takes_complex=True)
def argwhere(a: Any) -> Any:
    return _nonzero(a, "argwhere").t().contiguous().t()


@stands_in("extract", returns_arrays=True, takes_complex=True)
def extract(condition: Any, arr: Any) -> Any:
    chosen, values = array_of(condition, "extract"), array_of(arr, "extract")
    if chosen.numel() != values.numel():
        decline("extract by a mask of another size")
    return values.reshape(-1)[chosen.reshape(-1).to(minidynamo.bool)]


@stands_in("compress", returns_arrays=True, takes_complex=True)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    values = array_of(a, "compress")
    if out is not None or (axis is not None and not is_axis(values, axis)) or not values.is_contiguous():
        decline("compress with out, or along such an axis")
    if axis is None:
        values, axis = values.reshape(-1), 0
    if isinstance(condition, (list, tuple)):
        if not all(isinstance(each, bool) for each in condition) or len(condition) > values.shape[axis]:
            decline("compress by such a list")
        places = [place for place, each in enumerate(condition) if each]
        if not places:
            decline("compress to nothing")
        return minidynamo.cat([values.narrow(axis, place, 1) for place in places], axis)
    chosen = array_of(condition, "compress")
    if chosen.dim() != 1 or chosen.shape[0] != values.shape[axis] or chosen.dtype is not minidynamo.bool:
        decline("compress by such a mask")
    return values[(*[slice(None)] * (axis % values.dim()), chosen)]


@stands_in("count_nonzero", takes_complex=True)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    values = array_of(a, "count_nonzero")
    if values.numel() > _MANY:
        decline("count_nonzero of many elements, which NumPy counts faster")
    if axis is None and keepdims is False:
        return (values != 0).sum()
    if not is_axis(values, axis) or outermost_first(values) != all_dims(values):
        decline("count_nonzero over such axes")
    return (values != 0).sum(axis, keepdim=keepdims)


@stands_in("bincount", returns_arrays=True)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    values = array_of(x, "bincount")
    if values.dtype not in (minidynamo.int64, minidynamo.int32) or values.dim() != 1 or values.numel() == 0:
        decline("bincount of such an array")
    if not isinstance(minlength, int) or minlength < 0:
        decline("bincount with such a length")
    if weights is not None:
        each = array_of(weights, "bincount")
        if each.shape != values.shape:
            decline("bincount with such weights")
        weights = each.to(minidynamo.float64)
    require((values >= 0).all())
    return minidynamo.bincount(values.to(minidynamo.int64), weights, minlength)


@stands_in("isin", returns_arrays=True)
def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None) -> Any:
    values = array_of(element, "isin")
    if kind is not None or not isinstance(invert, bool) or not values.is_contiguous():
        decline("isin of this kind")
    if isinstance(test_elements, (list, tuple)):
        return _is_one_of(values, test_elements, invert)
    tests = array_of(test_elements, "isin").reshape(-1)
    dtype = promoted(values.dtype, tests.dtype)
    if dtype in (minidynamo.bool, minidynamo.float16) or tests.numel() == 0:
        decline("isin of such dtypes, or among nothing")
    values, tests = values.to(dtype), tests.to(dtype)
    ordered = prims.sorted_values(tests, 0, False)
    place = minidynamo.searchsorted(ordered, values).clamp(0, tests.numel() - 1)
    found = ordered[place] == values
    return found.logical_not() if invert else found


def _is_one_of(values: Tensor, tests: Any, invert: bool) -> Tensor:
    """Of a few ints."""
    are_ints = all(is_int(each) and abs(each) < 2**31 for each in tests)
    if not 0 < len(tests) <= 8 or not are_ints:
        decline("isin of such a list")
    if values.dtype not in (minidynamo.int64, minidynamo.float64):
        values = values.to(minidynamo.int64 if not values.is_floating_point() else minidynamo.float64)
    found = values == tests[0]
    for each in tests[1:]:
        found = found | (values == each)
    return found.logical_not() if invert else found


@stands_in("unique", returns_arrays=True)
def unique(
    ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False, axis: Any = None, *,
    equal_nan: Any = True, sorted: Any = True,
) -> Any:  # fmt: skip
    values = array_of(ar, "unique")
    if axis is not None or values.dtype is minidynamo.float16 or values.numel() == 0 or sorted is not True:
        decline("unique along an axis, of halves or of nothing")
    flat = values.reshape(-1)
    order = minidynamo.sort(flat, stable=True)
    if flat.is_floating_point():
        # NaNs are last, and one alone stays.
        require(order.values[-1] == order.values[-1])
        # 0.0 and -0.0 are equal, and which of them stays follows from the algorithm.
        require((flat.signbit() & (flat == 0)).logical_not().all())
    differs = order.values[1:] != order.values[:-1]
    is_first = minidynamo.cat([minidynamo.ones(1, dtype=minidynamo.bool), differs])
    found = [order.values[is_first]]
    if return_index:
        found.append(order.indices[is_first])
    if return_inverse:
        inverse = minidynamo.zeros(flat.shape, dtype=minidynamo.int64)
        inverse[order.indices] = is_first.to(minidynamo.int64).cumsum(0) - 1
        found.append(inverse.reshape(values.shape))
    if return_counts:
        starts = minidynamo.nonzero(is_first)[:, 0]
        following = minidynamo.cat([starts[1:], minidynamo.full((1,), flat.numel(), dtype=minidynamo.int64)])
        found.append(following - starts)
    return found[0] if len(found) == 1 else tuple(found)
