"""Copies of views, and copies with one view replaced."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import wrapped_dim
from .table import TABLE, StandIn, both, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _copied(view: Callable[..., Tensor]) -> Callable[..., Any]:
    def copy(*args: Any, **keywords: Any) -> Any:
        return view(*args, **keywords).clone(memory_format=minidynamo.contiguous_format)

    return copy


def _all_copied(views: Callable[..., Any]) -> Callable[..., Any]:
    def copy(*args: Any, **keywords: Any) -> Any:
        return tuple([view.clone(memory_format=minidynamo.contiguous_format) for view in views(*args, **keywords)])

    return copy


def _alias(self: Tensor) -> Tensor:
    return self


def _as_strided(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    return self.as_strided(size, stride, storage_offset)


def _diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return self.diagonal(offset, dim1, dim2)


def _expand(self: Tensor, size: Any, *, implicit: bool = False) -> Tensor:
    return self.expand(size)


def _narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    return self.narrow(dim, start, length)


def _permute(self: Tensor, dims: Any) -> Tensor:
    return self.permute(dims)


def _select(self: Tensor, dim: int, index: int) -> Tensor:
    return self.select(dim, index)


def _squeeze(self: Tensor, dim: Any = None) -> Tensor:
    return self.squeeze() if dim is None else self.squeeze(dim)


def _t(self: Tensor) -> Tensor:
    return self.t()


def _transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return self.transpose(dim0, dim1)


def _unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return self.unfold(dimension, size, step)


def _unsqueeze(self: Tensor, dim: int) -> Tensor:
    return self.unsqueeze(dim)


def _view(self: Tensor, size: Any) -> Tensor:
    if not isinstance(size, (tuple, list)):
        decline("view_copy in another dtype")
    return self.reshape(size)


def _unbind(self: Tensor, dim: int = 0) -> Any:
    return self.unbind(dim)


def _split(self: Tensor, split_size: int, dim: int = 0) -> Any:
    return self.split(split_size, dim)


def _split_with_sizes(self: Tensor, split_sizes: Any, dim: int = 0) -> Any:
    return self.split(split_sizes, dim)


TABLE.extend(
    StandIn(f"{view.__name__[1:]}_copy", _copied(view))
    for view in (
        *(_alias, _as_strided, _diagonal, _expand, _narrow, _permute, _select, _squeeze, _t, _transpose, _unfold),
        *(_unsqueeze, _view),
    )
)
TABLE.append(StandIn("detach_copy", _copied(_alias)))
TABLE.append(StandIn("Tensor.narrow_copy", _copied(_narrow)))
TABLE.extend(
    StandIn(f"{views.__name__[1:]}_copy", _all_copied(views)) for views in (_unbind, _split, _split_with_sizes)
)


def _dense_copy(op: str, input: Tensor) -> Tensor:
    """A copy with the same strides."""
    copy = input.clone()
    if copy.stride() != input.stride():
        decline(f"{op} of a tensor with gaps or overlaps")
    return copy


def _replaced(op: str, copy: Tensor, part: Tensor, src: Tensor) -> Tensor:
    if part.shape != src.shape:
        decline(f"{op} of another shape")
    part.copy_(src)
    return copy


@stands_in(both("select_scatter"))
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    copy = _dense_copy("select_scatter", input)
    return _replaced("select_scatter", copy, copy.select(dim, index), src)


@stands_in(both("slice_scatter"))
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    copy = _dense_copy("slice_scatter", input)
    key = (slice(None),) * (dim % copy.dim()) + (slice(start, end, step),)
    return _replaced("slice_scatter", copy, copy[key], src)


@stands_in(both("diagonal_scatter"))
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    copy = _dense_copy("diagonal_scatter", input)
    return _replaced("diagonal_scatter", copy, copy.diagonal(offset, dim1, dim2), src)


@stands_in(both("as_strided_scatter"))
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    if input.storage_offset() != 0:
        decline("as_strided_scatter of a tensor that begins behind its storage")
    copy = _dense_copy("as_strided_scatter", input)
    return _replaced("as_strided_scatter", copy, copy.as_strided(size, stride, storage_offset), src)


@stands_in("Tensor.sum_to_size")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    leading = input.dim() - len(sizes)
    if leading < 0:
        decline("sum_to_size of fewer dims")
    if not sizes:
        return input.sum()
    for have, want in zip(input.shape[leading:], sizes):
        if want not in (1, have):
            decline("sum_to_size of another shape")
    dims = [*range(leading)]
    for at, want in enumerate(sizes):
        if want == 1 and input.shape[leading + at] != 1:
            dims.append(leading + at)
    summed = input.sum(dims, keepdim=True) if dims else input
    return summed.view(sizes) if leading > 0 else summed


@stands_in("constant_pad_nd")
def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    return minidynamo.nn.functional.pad(input, pad, "constant", value)


@stands_in(both("conj", "conj_physical", "resolve_conj", "resolve_neg") + " real")
def itself(input: Tensor) -> Tensor:
    """Of a real tensor without the bit of a lazy negation."""
    return input


@stands_in(both("diag_embed"))
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    first, second = [wrapped_dim("diag_embed", dim, input.dim() + 1) for dim in (dim1, dim2)]
    if input.dim() == 0 or first == second:
        decline("diag_embed of other dims")
    size, sizes = input.shape[-1] + abs(offset), list(input.shape[:-1])
    sizes.insert(min(first, second), size)
    sizes.insert(max(first, second), size)
    result = input.new_zeros(sizes)
    result.diagonal(offset, first, second).copy_(input)
    return result


@stands_in(both("rot90"))
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The transposed of a tensor that lies as input does."""
    turned = minidynamo.rot90(input, k, dims)
    place = minidynamo.empty_like(input)
    return (place.transpose(*dims) if k % 2 else place).copy_(turned)


@stands_in("nn.functional.pad")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    if mode == "circular" and input.dim() > 3 and not input.is_contiguous():
        decline("circular padding in another memory format")
    if mode in ("reflect", "replicate") and input.dtype == minidynamo.bool:
        decline("bools padded with their neighbours")
    return minidynamo.nn.functional.pad(input, pad, mode, value)
