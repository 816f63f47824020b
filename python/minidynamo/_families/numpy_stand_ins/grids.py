"""Numbers in even steps, and the axes of grids."""

from __future__ import annotations

import minidynamo

from ..._composites.registry import prims
from ..numbers import is_int, is_number
from .table import array_of, decline, dtype_of, require, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@stands_in("linspace", returns_arrays=True)
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None,
    axis: Any = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    if retstep is not False or axis != 0 or device is not None:
        decline("linspace with retstep, axis or device")
    wanted = minidynamo.float64 if dtype is None else _dtype(dtype)
    if not wanted.is_floating_point:
        decline("linspace of such a dtype")
    if not is_number(start) or not is_number(stop) or not isinstance(num, int) or num < 2 or start == stop:
        decline("linspace of such ends, or of few numbers")
    first, last = float(start), float(stop)
    step = (last - first) / (num - 1 if endpoint else num)
    found = minidynamo.arange(num, dtype=minidynamo.float64) * step + first
    if endpoint:
        found[-1] = last
    return found.to(wanted)


@stands_in("meshgrid", returns_arrays=True, takes_complex=True)
def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    if copy is not True or sparse is not False or indexing not in ("xy", "ij") or not xi:
        decline("meshgrid with copy, sparse or another indexing")
    values = [array_of(each, "meshgrid") for each in xi]
    if any(value.dim() != 1 for value in values):
        decline("meshgrid of other than vectors")
    places = list(range(len(values)))
    if indexing == "xy" and len(values) > 1:
        places[0], places[1] = 1, 0
    sizes = [0] * len(values)
    for value, place in zip(values, places):
        sizes[place] = value.shape[0]
    found = []
    for value, place in zip(values, places):
        along = value.reshape([-1 if dim == place else 1 for dim in range(len(values))])
        found.append(along.expand(sizes).clone(memory_format=minidynamo.contiguous_format))
    return tuple(found)


@stands_in("diag", returns_arrays=True, takes_complex=True)
def diag(v: Any, k: Any = 0) -> Any:
    values = array_of(v, "diag")
    if not 1 <= values.dim() <= 2 or not isinstance(k, int):
        decline("diag of such an array")
    return minidynamo.diag(values, k) if values.dim() == 1 else prims.read_only(values.diagonal(k))


def _dtype(dtype: Any) -> Any:
    if dtype is float or dtype is int:
        return minidynamo.float64 if dtype is float else minidynamo.int64
    return dtype_of(dtype)


def _is_size(value: Any) -> bool:
    return is_int(value) and value > 0


@stands_in("indices", returns_arrays=True)
def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    if not isinstance(dimensions, (list, tuple)) or not dimensions or not all(_is_size(each) for each in dimensions):
        decline("indices of such sizes")
    rank = len(dimensions)
    along = [
        minidynamo.arange(size).to(_dtype(dtype)).reshape([-1 if at == dim else 1 for at in range(rank)])
        for dim, size in enumerate(dimensions)
    ]
    if sparse is not False:
        return tuple(along)
    return minidynamo.stack([each.expand(dimensions) for each in along])


@stands_in("ix_", returns_arrays=True)
def ix_(*args: Any) -> Any:
    found = []
    for place, each in enumerate(args):
        values = array_of(each, "ix_")
        if values.dim() != 1 or values.dtype is minidynamo.bool or not values.is_contiguous():
            decline("ix_ of such an array")
        found.append(values.reshape([-1 if at == place else 1 for at in range(len(args))]))
    return tuple(found)


@stands_in("tri", returns_arrays=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    columns = N if M is None else M
    if not _is_size(N) or not _is_size(columns) or not isinstance(k, int) or like is not None:
        decline("tri of such sizes")
    below = minidynamo.arange(N).unsqueeze(1) + k >= minidynamo.arange(columns)
    return below.to(_dtype(dtype))


def _places_in_rows(starts: Any, counts: Any, total: int) -> Any:
    """Row by row, the places from each start on."""
    ends = counts.cumsum(0)
    at = minidynamo.arange(total)
    rows = minidynamo.searchsorted(ends, at, right=True)
    return rows, at - (ends - counts)[rows] + starts[rows]


@stands_in("tril_indices", returns_arrays=True)
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    columns = n if m is None else m
    if not _is_size(n) or not _is_size(columns) or not isinstance(k, int):
        decline("tril_indices of such sizes")
    total = sum([min(max(row + k + 1, 0), columns) for row in range(n)])
    if total == 0:
        decline("tril_indices of nothing")
    counts = (minidynamo.arange(n) + (k + 1)).clamp(0, columns)
    return _places_in_rows(minidynamo.zeros(n, dtype=minidynamo.int64), counts, total)


@stands_in("triu_indices", returns_arrays=True)
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    columns = n if m is None else m
    if not _is_size(n) or not _is_size(columns) or not isinstance(k, int):
        decline("triu_indices of such sizes")
    total = sum([columns - min(max(row + k, 0), columns) for row in range(n)])
    if total == 0:
        decline("triu_indices of nothing")
    starts = (minidynamo.arange(n) + k).clamp(0, columns)
    return _places_in_rows(starts, columns - starts, total)


@stands_in("unravel_index")
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    places = tensor(indices, "unravel_index")
    if order != "C" or places.dtype is not minidynamo.int64 or not places.is_contiguous():
        decline("unravel_index of such places")
    if not isinstance(shape, (list, tuple)) or not all(_is_size(each) for each in shape):
        decline("unravel_index in such a shape")
    count = 1
    for size in shape:
        count *= size
    require(((places >= 0) & (places < count)).all())
    found = []
    for size in shape[::-1]:
        found.append(places % size)
        places = places // size
    if places.dim() == 0:
        return tuple(found[::-1])
    # Views of one array.
    return minidynamo.stack(found[::-1], -1).unbind(-1)
