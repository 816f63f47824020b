"""The objects of NumPy that make arrays of subscripts: mgrid, ogrid, r_ and c_."""

from __future__ import annotations

import math

from ..numbers import is_number
from .table import decline, numpy, rewrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _steps(key: slice) -> Any:
    """Start, step and count of a slice; of an imaginary step the count."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if not is_number(start) or not is_number(key.stop):
        decline("a grid of such ends")
    if isinstance(step, complex):
        count = int(abs(step))
        return start, ((key.stop - start) / float(count - 1) if count != 1 else 1), count, True
    if not is_number(step) or step == 0:
        decline("a grid of such steps")
    return start, step, math.ceil((key.stop - start) / step), False


@rewrites("lib._index_tricks_impl.nd_grid.__getitem__")
def grid(self: Any, key: Any) -> Any:
    if not isinstance(key, tuple) or not key or not all(isinstance(each, slice) for each in key):
        decline("a grid of one slice")
    found = [_steps(each) for each in key]
    if any(count < 1 for _, _, count, _ in found):
        decline("a grid of nothing")
    is_float = any(isinstance(start, float) or isinstance(step, float) or given for start, step, _, given in found)
    is_float = is_float or any(isinstance(each.stop, float) for each in key)
    dtype = numpy.float64 if is_float else numpy.int64
    counts = [count for _, _, count, _ in found]
    along = []
    for place, (start, step, count, _) in enumerate(found):
        values = numpy.arange(count, dtype=dtype) * step + start
        along.append(values.reshape([count if at == place else 1 for at in range(len(counts))]))
    if self is numpy.ogrid:
        return tuple(along)
    if self is not numpy.mgrid:
        decline("a grid of another object")
    whole = numpy.empty((len(counts), *counts), dtype)
    for place, values in enumerate(along):
        whole[place] = values
    return whole


@rewrites("lib._index_tricks_impl.AxisConcatenator.__getitem__")
def concatenator(self: Any, key: Any) -> Any:
    parts = list(key) if isinstance(key, tuple) else [key]
    if not all(isinstance(part, numpy.ndarray) and part.ndim > 0 for part in parts):
        decline("r_ or c_ of other than arrays")
    if self is numpy.r_:
        return numpy.concatenate(parts)
    if self is not numpy.c_ or not all(part.ndim < 3 for part in parts):
        decline("c_ of such arrays")
    return numpy.concatenate([part.reshape(-1, 1) if part.ndim == 1 else part for part in parts], axis=1)
