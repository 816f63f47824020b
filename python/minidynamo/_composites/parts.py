"""Copies of a tensor in which one part is replaced."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite, require_tensor, wrapped_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _replaced(op: str, copy: Tensor, part: Tensor, src: Tensor) -> Tensor:
    require_tensor(op, src, "src")
    if part.shape != src.shape:
        raise RuntimeError(
            f"[{op}] expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size"
            f" = {list(part.shape)}"
        )
    part.copy_(src)
    return copy


@composite("function method")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy in which input.select(dim, index) is src."""
    require_tensor("select_scatter", input)
    copy = input.clone()
    return _replaced("select_scatter", copy, copy.select(dim, index), src)


@composite("function method")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy in which the elements start, start + step, ... below end along dim are src."""
    require_tensor("slice_scatter", input)
    if input.dim() == 0:
        raise IndexError("[slice_scatter] slice() cannot be applied to a 0-dim tensor.")
    at = wrapped_dim("slice_scatter", dim, input.dim())
    if step <= 0:
        raise RuntimeError("[slice_scatter] slice step must be positive")
    copy = input.clone()
    key = (slice(None),) * at + (slice(start, end, step),)
    return _replaced("slice_scatter", copy, copy[key], src)


@composite("function method")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy in which input.diagonal(offset, dim1, dim2) is src."""
    require_tensor("diagonal_scatter", input)
    copy = input.clone()
    return _replaced("diagonal_scatter", copy, copy.diagonal(offset, dim1, dim2), src)


@composite("function method")
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy in which as_strided(size, stride, storage_offset) is src."""
    require_tensor("as_strided_scatter", input)
    offset = input.storage_offset() if storage_offset is None else storage_offset
    if input.numel() == 0 or any(step == 0 and length > 1 for length, step in zip(input.shape, input.stride())):
        copy = input.clone()
        return _replaced("as_strided_scatter", copy, copy.as_strided(size, stride, offset), src)
    # Places count from the beginning of the memory, of which the copy has as much as input needs.
    last = sum([(length - 1) * step for length, step in zip(input.shape, input.stride())])
    whole = input.as_strided((input.storage_offset() + last + 1,), (1,), 0).clone()
    whole = _replaced("as_strided_scatter", whole, whole.as_strided(size, stride, offset), src)
    return whole.as_strided(input.shape, input.stride(), input.storage_offset())


@composite("method")
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Sets the main diagonal to a number; wrap goes on in tall matrices after one empty row.

    More than 2 dims must be of equal sizes.
    """
    require_tensor("fill_diagonal_", input)
    rank = input.dim()
    if rank < 2:
        raise RuntimeError("[fill_diagonal_] dimensions must larger than 1")
    if rank > 2 and any(size != input.shape[0] for size in input.shape):
        raise RuntimeError("[fill_diagonal_] all dimensions of input must be of equal length")
    size = min(input.shape)
    places = minidynamo.arange(size)
    if rank == 2 and wrap and input.shape[0] > input.shape[1] + 1 and size > 0:
        rows, columns = input.shape
        flat = minidynamo.arange(0, rows * columns, columns + 1)
        input[flat.div(columns, rounding_mode="floor"), flat % columns] = fill_value
    else:
        input[(places,) * rank] = fill_value
    return input


@composite("function method")
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of narrow."""
    require_tensor("narrow_copy", input)
    if dim >= input.dim():
        raise RuntimeError(f"[narrow_copy] Expected dim < {input.dim()}, but got {dim}")
    return input.narrow(dim, start, length).clone(memory_format=minidynamo.contiguous_format)
