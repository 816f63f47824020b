"""Numbers in even steps, and the axes of grids."""

from __future__ import annotations

import minidynamo

from .table import array_of, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@stands_in("linspace", returns_arrays=True)
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None,
    axis: Any = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    if retstep is not False or dtype is not None or axis != 0 or device is not None:
        decline("linspace with retstep, dtype, axis or device")
    if not _is_number(start) or not _is_number(stop) or not isinstance(num, int) or num < 2 or start == stop:
        decline("linspace of such ends, or of few numbers")
    first, last = float(start), float(stop)
    step = (last - first) / (num - 1 if endpoint else num)
    found = minidynamo.arange(num, dtype=minidynamo.float64) * step + first
    if endpoint:
        found[-1] = last
    return found


@stands_in("meshgrid", returns_arrays=True)
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


@stands_in("diag", returns_arrays=True)
def diag(v: Any, k: Any = 0) -> Any:
    values = array_of(v, "diag")
    if values.dim() != 1 or not isinstance(k, int):
        decline("diag of a matrix, a view that is read-only")
    return minidynamo.diag(values, k)
