"""Order statistics and choices of elements."""

from __future__ import annotations

import itertools
import math
from collections import namedtuple

import minidynamo

from .._C import Tensor
from .registry import composite, is_inexact, prims, require_tensor, wrapped_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_Found = namedtuple("_Found", ["values", "indices"])


@composite("function method")
def msort(input: Tensor) -> Tensor:
    """The elements in order along dim 0."""
    require_tensor("msort", input)
    return prims.sorted_values(input, 0, False)


@composite("function method")
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """median of the elements that are not NaN: of all, or (values, indices) along dim."""
    require_tensor("nanmedian", input)
    if not is_inexact(input):
        return minidynamo.median(input) if dim is None else minidynamo.median(input, dim, keepdim)
    if dim is None:
        flat = input.reshape(-1)
        return flat.new_full((), math.nan) if flat.numel() == 0 else prims.middle(flat, 0, False, True)[0]
    at = wrapped_dim("nanmedian", dim, input.dim())
    if input.dim() > 0 and input.shape[at] == 0:
        raise IndexError(f"[nanmedian] nanmedian(): Expected reduction dim {at} to have non-zero size.")
    values, indices = prims.middle(input, at, keepdim, True)
    return _Found(values, indices)


@composite("function")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, one a row, in order."""
    require_tensor("combinations", input)
    if input.dim() != 1:
        raise RuntimeError(f"[combinations] Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"[combinations] Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    if r == 2:
        first, second = triu_indices(input.shape[0], input.shape[0], 0 if with_replacement else 1)
        return minidynamo.stack([input[first], input[second]], 1)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.shape[0]), r))
    if not rows:
        return minidynamo.stack([input[:0]] * r, 1)
    return minidynamo.stack([input[[row[at] for row in rows]] for at in range(r)], 1)


def _triangle(op: str, row: int, col: int, offset: int, dtype: Any, upper: bool) -> Tensor:
    if row < 0 or col < 0:
        name, value = ("row", row) if row < 0 else ("col", col)
        raise RuntimeError(f"[{op}] {name} must be non-negative, got{value}")
    # The rows that have elements, and of them those whose number grows or shrinks with the row.
    first, last = (0, min(row, col - offset)) if upper else (min(max(0, -offset), row), row)
    last = max(first, last) if col else first
    bent = min(max(first, -offset if upper else col - offset), last)
    rows = last - bent if upper else bent - first
    widest = (col - offset - bent if upper else bent + offset) if rows else 0
    total = rows * widest - rows * (rows - 1) // 2 + (bent - first if upper else last - bent) * col
    if total >= 2**59:
        raise RuntimeError(f"[{op}] Storage size calculation overflowed with sizes=[2, {total}]")
    if not minidynamo.compiler.is_compiling() and row * col <= 4 * total:
        whole = minidynamo.ones((row, col), dtype=minidynamo.bool)
        places = minidynamo.where(whole.triu(offset) if upper else whole.tril(offset))
        return minidynamo.stack(places).to(minidynamo.int64 if dtype is None else dtype)
    at = minidynamo.arange(first, last)
    starts = (at + offset).clamp(min=0) if upper else minidynamo.zeros_like(at)
    counts = (minidynamo.full_like(at, col) if upper else (at + offset + 1).clamp(max=col)) - starts
    shifts = starts - (counts.cumsum(0) - counts)
    columns = minidynamo.arange(total) + minidynamo.repeat_interleave(shifts, counts, output_size=total)
    found = minidynamo.stack((minidynamo.repeat_interleave(at, counts, output_size=total), columns))
    return found if dtype is None else found.to(dtype)


@composite("function")
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """(2, n): rows and columns of the elements on and below a diagonal of a matrix."""
    return _triangle("tril_indices", row, col, offset, dtype, False)


@composite("function")
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """(2, n): rows and columns of the elements on and above a diagonal of a matrix."""
    return _triangle("triu_indices", row, col, offset, dtype, True)


@composite("function")
def unravel_index(indices: Tensor, shape: Any) -> Any:
    """The index along each dim of places in a flattened tensor of this shape."""
    require_tensor("unravel_index", indices, "indices")
    if indices.is_floating_point() or indices.dtype == minidynamo.bool:
        raise TypeError(f"unravel_index(): expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"unravel_index(): expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"unravel_index(): expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index(): 'shape' cannot have negative values, but got {sizes}")
    indices, found, step = indices.long(), [], 1
    for size in reversed(sizes):
        found.append(indices.div(step, rounding_mode="floor") % size)
        step = step * size
    return tuple(found[::-1])
