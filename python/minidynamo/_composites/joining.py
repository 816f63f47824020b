"""Joining and splitting tensors."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .autocast import as_given, is_autocasting
from .pointwise import in_one_dtype
from .registry import composite, require_tensor, require_tensors, wrapped_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _at_least(input: Tensor, rank: int) -> Tensor:
    if rank == 0:
        return input
    if rank == 1:
        return input.reshape(1) if input.dim() == 0 else input
    if rank == 2:
        return input.reshape(1, 1) if input.dim() == 0 else input.unsqueeze(0) if input.dim() == 1 else input
    if input.dim() == 0:
        return input.reshape(1, 1, 1)
    if input.dim() == 1:
        return input.unsqueeze(0).unsqueeze(-1)
    return input.unsqueeze(-1) if input.dim() == 2 else input


def _each_at_least(op: str, tensors: tuple[Any, ...], rank: int) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    elif len(tensors) == 1:
        require_tensor(op, tensors[0])
        return _at_least(tensors[0], rank)
    require_tensors(op, tensors)
    return tuple([_at_least(tensor, rank) for tensor in tensors])


@composite("function")
def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or each of several, with at least one dim."""
    return _each_at_least("atleast_1d", tensors, 1)


@composite("function")
def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or each of several, with at least two dims: a vector becomes a row."""
    return _each_at_least("atleast_2d", tensors, 2)


@composite("function")
def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or each of several, with at least three dims: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1)."""
    return _each_at_least("atleast_3d", tensors, 3)


def _parts(op: str, tensors: Any, rank: int) -> list[Tensor]:
    require_tensors(op, tensors)
    if not tensors:
        raise RuntimeError(f"[{op}] expects a non-empty TensorList")
    return [_at_least(tensor, rank) for tensor in tensors]


@composite("function")
def hstack(tensors: Any) -> Tensor:
    """The tensors side by side: along dim 1, vectors along dim 0."""
    parts = _parts("hstack", tensors, 1)
    return minidynamo.cat(parts, 0 if parts[0].dim() == 1 else 1)


@composite("function", "row_stack")
def vstack(tensors: Any) -> Tensor:
    """The tensors one below the other, vectors as rows."""
    return minidynamo.cat(_parts("vstack", tensors, 2), 0)


@composite("function")
def dstack(tensors: Any) -> Tensor:
    """The tensors along dim 2, after atleast_3d."""
    return minidynamo.cat(_parts("dstack", tensors, 3), 2)


@composite("function")
def column_stack(tensors: Any) -> Tensor:
    """The tensors side by side, vectors as columns."""
    parts = _parts("column_stack", tensors, 0)
    return minidynamo.cat([part.reshape(part.numel(), 1) if part.dim() <= 1 else part for part in parts], 1)


@composite("function")
def block_diag(*tensors: Any) -> Tensor:
    """The matrix with the given ones along its diagonal, zero elsewhere; vectors are rows."""
    if is_autocasting():
        return as_given(block_diag, *tensors)
    require_tensors("block_diag", tensors)
    if len(tensors) == 0:
        return minidynamo.empty(1, 0)
    parts = [_at_least(tensor, 2) for tensor in in_one_dtype(*tensors)]
    for part in parts:
        if part.dim() > 2:
            raise RuntimeError(f"[block_diag] Input tensors must have 2 or fewer dimensions; shape {tuple(part.shape)}")
    width = 0
    for part in parts:
        width = width + part.shape[1]
    rows, before = [], 0
    for part in parts:
        after = width - before - part.shape[1]
        left = part.new_zeros(part.shape[0], before)
        rows.append(minidynamo.cat([left, part, part.new_zeros(part.shape[0], after)], 1))
        before = before + part.shape[1]
    return minidynamo.cat(rows, 0)


@composite("function method")
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along dim: a number of parts of about equal size, or the parts between the given indices."""
    require_tensor("tensor_split", input)
    if input.dim() == 0:
        raise RuntimeError("[tensor_split] expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    at = wrapped_dim("tensor_split", dim, input.dim())
    extent = input.shape[at]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, int):
        bounds = [0, *indices_or_sections, extent]
        parts = []
        for number in range(len(bounds) - 1):
            stop = bounds[number + 1] if number + 2 < len(bounds) else None
            parts.append(_between(input, at, bounds[number], stop))
        return tuple(parts)
    if indices_or_sections <= 0:
        raise RuntimeError(f"[tensor_split] number of sections must be larger than 0, got {indices_or_sections}")
    small, larger = extent // indices_or_sections, extent % indices_or_sections
    # Views of their own: those of split() are not written under a history.
    sizes = [small + 1] * larger + [small] * (indices_or_sections - larger)
    return tuple(input.narrow(at, sum(sizes[:number]), size) for number, size in enumerate(sizes))


def _between(input: Tensor, dim: int, start: int, stop: int | None) -> Tensor:
    key: list[Any] = [slice(None)] * dim
    return input[(*key, slice(start, stop))]


def _split_along(op: str, input: Tensor, parts: Any, dim: int, least: int) -> tuple[Tensor, ...]:
    require_tensor(op, input)
    if input.dim() < least:
        raise RuntimeError(
            f"[{op}] requires a tensor with at least {least} dimension(s), but got a tensor with {input.dim()}"
            " dimensions"
        )
    if isinstance(parts, int) and (parts == 0 or input.shape[dim] % parts != 0):
        raise RuntimeError(
            f"[{op}] attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is not"
            f" divisible by the split_size {parts}!"
        )
    return tensor_split(input, parts, dim)


@composite("function method")
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along dim 1, of a vector along dim 0."""
    require_tensor("hsplit", input)
    return _split_along("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


@composite("function method")
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along dim 0 of at least two dims."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@composite("function method")
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along dim 2 of at least three dims."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


@composite("function")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples of elements of the vectors, one in a row, in the order of itertools.product."""
    require_tensors("cartesian_prod", tensors)
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"[cartesian_prod] Expect a 1D vector, but got shape {tuple(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = minidynamo.meshgrid(*tensors, indexing="ij")
    return minidynamo.stack([grid.reshape(-1) for grid in grids], 1)
