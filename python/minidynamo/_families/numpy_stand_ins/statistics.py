"""Order statistics, reductions that leave NaNs out, covariances and histograms."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from ..numbers import is_int, is_number
from .reductions import extreme_of_numbers, mean_of_numbers, spread_of_numbers, stored
from .table import all_dims, array_of, decline, is_axis, outermost_first, require, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _line(a: Any, axis: Any, name: str) -> tuple[Tensor, int]:
    """An array, and one of its dims: the flattened one without an axis."""
    values = array_of(a, name)
    if values.numel() == 0 or values.dtype in (minidynamo.bool, minidynamo.float16):
        decline(f"{name} of such an array")
    if axis is None:
        values, axis = values.reshape(-1), 0
    if not is_axis(values, axis) or outermost_first(values) != all_dims(values):
        decline(f"{name} over such axes")
    return values, axis % values.dim()


def _with_kept_axis(result: Tensor, a: Tensor, axis: Any, dim: int, keepdims: Any) -> Tensor:
    if keepdims is False:
        return result
    return result.reshape([1] * a.dim()) if axis is None else result.unsqueeze(dim)


def _nan_where_it_was(found: Tensor, last: Tensor) -> Tensor:
    """NaNs are the largest: a slice that contains one has it as its result."""
    return minidynamo.where(last.isnan(), last, found) if last.is_floating_point() else found


@stands_in("median")
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    if overwrite_input is not False:
        decline("median that overwrites its input")
    values, dim = _line(a, axis, "median")
    size = values.shape[dim]
    ranks = [size // 2, size - 1] if size % 2 else [size // 2, size - 1, size // 2 - 1]
    middle, last, *before = prims.take_ranks(values, ranks, dim).unbind(dim)
    if not values.is_floating_point():
        middle = middle.to(minidynamo.float64)
    if size % 2 == 0:
        middle = (before[0] + middle) / 2
    # A sum of zeros, as NumPy's means begin, has no sign.
    found = _nan_where_it_was(middle + 0.0, last)
    return stored(_with_kept_axis(found, a, axis, dim, keepdims), out)


def _ranks_of(part: float, size: int) -> tuple[int, int, float]:
    """The ranks around a part of the way from the least to the largest element, and how far from the first it is."""
    place = (size - 1) * part
    below = size - 1 if place >= size - 1 else int(place)
    share = place - int(place) if below < size - 1 else place - (size - 1)
    return below, min(below + 1, size - 1), share


def _between(low: Tensor, high: Tensor, share: float) -> Tensor:
    """As numpy rounds it."""
    step = high - low
    if not low.is_floating_point():
        low, high, step = low.to(minidynamo.float64), high.to(minidynamo.float64), step.to(minidynamo.float64)
    if share >= 0.5:
        return high - step * (1 - share)
    return low + step * share


def _parts(q: Any, scale: int, name: str) -> list[float]:
    parts = list(q) if isinstance(q, (list, tuple)) else [q]
    if not parts or not all(is_number(part) for part in parts):
        decline(f"{name} at such parts")
    found = [part / scale for part in parts]
    if not all(0 <= part <= 1 for part in found):
        decline(f"{name} at parts out of range")
    return found


def _are_ints(q: Any) -> bool:
    return all(isinstance(part, int) for part in (q if isinstance(q, (list, tuple)) else (q,)))


def _quantile(
    name: str, scale: int, a: Any, q: Any, axis: Any, out: Any, overwrite_input: Any, method: Any, keepdims: Any,
    weights: Any,
) -> Any:  # fmt: skip
    parts = _parts(q, scale, name)
    if weights is not None:
        decline(f"{name} with weights")
    if method != "linear" or overwrite_input is not False or keepdims is not False:
        decline(f"{name} by another method, that overwrites its input, or with keepdims")
    values, dim = _line(a, axis, name)
    if not values.is_floating_point() and scale == 1 and _are_ints(q):
        decline(f"{name} of whole numbers at whole parts, which stays whole")
    # Parts of float32 are rounded as NumPy's release does.
    if values.dtype is minidynamo.float32:
        decline(f"{name} of float32")
    size = values.shape[dim]
    if size == 1:
        decline(f"{name} of single elements, which keep the sign of zero")
    places = [_ranks_of(part, size) for part in parts]
    ranks = [size - 1] + [rank for below, above, _ in places for rank in (below, above)]
    last, *around = prims.take_ranks(values, ranks, dim).unbind(dim)
    found = []
    for at, (_, _, share) in enumerate(places):
        found.append(_nan_where_it_was(_between(around[2 * at], around[2 * at + 1], share), last))
    return stored(minidynamo.stack(found) if isinstance(q, (list, tuple)) else found[0], out)


@stands_in("percentile")
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    return _quantile("percentile", 100, a, q, axis, out, overwrite_input, method, keepdims, weights)


@stands_in("quantile")
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, method: Any = "linear",
    keepdims: Any = False, *, weights: Any = None,
) -> Any:  # fmt: skip
    return _quantile("quantile", 1, a, q, axis, out, overwrite_input, method, keepdims, weights)


# ---- without NaNs; of slices that have nothing else NumPy warns


@stands_in("nanmean")
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    return mean_of_numbers(tensor(a, "nanmean"), axis, dtype, out, keepdims, where)


@stands_in("nanvar")
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    return spread_of_numbers("var", tensor(a, "nanvar"), axis, dtype, out, ddof, keepdims, where)


@stands_in("nanstd")
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True,
) -> Any:  # fmt: skip
    return spread_of_numbers("std", tensor(a, "nanstd"), axis, dtype, out, ddof, keepdims, where)


@stands_in("nanmax")
def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return extreme_of_numbers("max", tensor(a, "nanmax"), axis, out, keepdims)


@stands_in("nanmin")
def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return extreme_of_numbers("min", tensor(a, "nanmin"), axis, out, keepdims)


def _place(a: Any, axis: Any, out: Any, keepdims: Any, name: str) -> Any:
    values = array_of(a, name)
    if out is not None or keepdims is not False or values.numel() == 0 or values.dtype is minidynamo.float16:
        decline(f"{name} with out or keepdims, or of such an array")
    if axis is not None and not is_axis(values, axis):
        decline(f"{name} over such an axis")
    if values.dtype is minidynamo.bool or outermost_first(values) != all_dims(values):
        decline(f"{name} of such an array")
    function = minidynamo.argmax if name == "nanargmax" else minidynamo.argmin
    if not values.is_floating_point():
        return function(values, axis)
    missing = values.isnan()
    # Of NaNs alone NumPy raises.
    require((missing.all() if axis is None else missing.all(axis)).any().logical_not())
    worst = minidynamo.full((), float("-inf") if name == "nanargmax" else float("inf"), dtype=values.dtype)
    return function(minidynamo.where(missing, worst, values), axis)


@stands_in("nanargmax")
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _place(a, axis, out, keepdims, "nanargmax")


@stands_in("nanargmin")
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _place(a, axis, out, keepdims, "nanargmin")


# ---- covariances


def _covariance(m: Any, y: Any, rowvar: Any, bias: Any, ddof: Any, fweights: Any, aweights: Any, dtype: Any) -> Tensor:
    values = array_of(m, "cov")
    if y is not None or fweights is not None or aweights is not None or dtype is not None:
        decline("cov of two arrays, with weights or dtype")
    if not isinstance(rowvar, bool) or not isinstance(bias, bool) or not (ddof is None or isinstance(ddof, int)):
        decline("cov with such arguments")
    if values.dim() > 2 or values.dtype is minidynamo.bool:
        decline("cov of such an array")
    rows = values.to(minidynamo.float64)
    if values.dim() == 1:
        rows = rows.unsqueeze(0)
    elif not rowvar:
        rows = rows.t()
    freedom = rows.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    if rows.shape[0] == 0 or freedom <= 0:
        decline("cov without degrees of freedom")
    rows = (rows - rows.mean(1, keepdim=True)).contiguous()
    return minidynamo.matmul(rows, rows.t()) * (1 / freedom)


@stands_in("cov", returns_arrays=True)
def cov(
    m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    return _covariance(m, y, rowvar, bias, ddof, fweights, aweights, dtype).squeeze()


@stands_in("corrcoef", returns_arrays=True)
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    found = _covariance(x, y, rowvar, False, None, None, None, dtype)
    if found.shape[0] == 1:
        decline("corrcoef of one variable")
    spread = found.diagonal().sqrt()
    return (found / spread.unsqueeze(1) / spread).clamp(-1, 1)


# ---- histograms


def _edges_of(values: Tensor, range: Any) -> tuple[Tensor, Tensor]:
    if range is None:
        first, last = values.amin(), values.amax()
        require(first.isfinite() & last.isfinite())
    else:
        is_pair = isinstance(range, (list, tuple)) and len(range) == 2
        if not is_pair or any(not is_number(end) for end in range):
            decline("histogram over such a range")
        if not float("-inf") < range[0] <= range[1] < float("inf"):
            decline("histogram over such a range")
        first = minidynamo.full((), float(range[0]), dtype=values.dtype)
        last = minidynamo.full((), float(range[1]), dtype=values.dtype)
    is_empty = first == last
    return minidynamo.where(is_empty, first - 0.5, first), minidynamo.where(is_empty, last + 0.5, last)


@stands_in("histogram", returns_arrays=True)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    values = array_of(a, "histogram").reshape(-1)
    if not is_int(bins) or bins < 1 or density not in (None, False):
        decline("histogram by such bins, or as density")
    if values.dtype is not minidynamo.float64 or values.numel() == 0:
        decline("histogram of such an array")
    if weights is None:
        shares = minidynamo.ones(values.shape, dtype=minidynamo.int64)
    else:
        shares = array_of(weights, "histogram").reshape(-1)
        if shares.dtype is not minidynamo.float64 or shares.shape != values.shape:
            decline("histogram with such weights")
    first, last = _edges_of(values, range)
    edges = minidynamo.arange(bins + 1, dtype=minidynamo.float64) * ((last - first) / bins) + first
    edges = minidynamo.cat([edges[:-1], last.reshape(1)])
    require((edges[:-1] < edges[1:]).all())
    counts = (values >= first) & (values <= last)
    places = ((values - first) / (last - first) * bins).clamp(0, bins).to(minidynamo.int64)
    places = minidynamo.where(counts, places.clamp(0, bins - 1), 0)
    places = places - (values < edges[places]).to(minidynamo.int64)
    places = places.clamp(0, bins - 1)
    places = places + ((values >= edges[places + 1]) & (places != bins - 1)).to(minidynamo.int64)
    shares = minidynamo.where(counts, shares, minidynamo.zeros((), dtype=shares.dtype))
    found = minidynamo.zeros(bins, dtype=shares.dtype).scatter_add(0, places, shares)
    return found, edges
