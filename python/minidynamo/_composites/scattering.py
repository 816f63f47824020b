"""Writes by index or mask that combine what they meet."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import composite, in_place, prims, require_data, require_tensor, wrapped_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _require_alike(op: str, input: Tensor, source: Tensor, name: str) -> None:
    require_tensor(op, input)
    require_tensor(op, source, name)
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"[{op}] Expected self.dtype to be equal to {name}.dtype, but got {input.dtype} and {source.dtype}"
        )


@in_place()
@composite("function method")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with source at places of the flattened tensor; with accumulate they are added."""
    _require_alike("put", input, source, "source")
    require_tensor("put", index, "index")
    if index.dtype != minidynamo.int64:
        raise RuntimeError(f"[put] put_(): Expected a long tensor for index, but got {index.dtype}")
    if index.numel() != source.numel():
        raise IndexError(
            "[put] put_(): Expected source and index to have the same number of elements, but got source.numel() ="
            f" {source.numel()}, index.numel() = {index.numel()}"
        )
    flat = input.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return _laid_out_as(input, flat.reshape(input.shape))


def _laid_out_as(input: Tensor, result: Tensor) -> Tensor:
    """With the strides of a clone."""
    copy = minidynamo.empty_like(input)
    return result if copy.stride() == result.stride() else copy.copy_(result)


@in_place()
@composite("function method")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input, but at the places of a mask the elements of source in order; as many as the mask has must be there."""
    _require_alike("masked_scatter", input, source, "source")
    require_tensor("masked_scatter", mask, "mask")
    if mask.dtype != minidynamo.bool:
        raise RuntimeError(f"[masked_scatter] masked_scatter_ only supports boolean masks, but got mask {mask.dtype}")
    sizes = minidynamo.broadcast_shapes(input.shape, mask.shape)
    whole, chosen, flat = input.expand(sizes), mask.expand(sizes).contiguous(), source.reshape(-1)
    message = "[masked_scatter] Number of elements of source < number of ones in mask"
    require_data(mask.expand(sizes).sum() <= flat.numel(), message)
    if flat.numel() == 0:
        return whole.clone()
    if not minidynamo.compiler.is_compiling():
        at = minidynamo.where(chosen.reshape(-1))
        return whole.reshape(-1).index_put(at, flat[: at[0].shape[0]]).reshape(sizes)
    places = chosen.reshape(-1).to(minidynamo.int64).cumsum(0) - 1
    taken = flat[places.clamp(0, flat.numel() - 1)].reshape(sizes)
    return minidynamo.where(chosen, taken, whole).contiguous()


@in_place()
@composite("function method")
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Combines the elements of src that an index along dim sends to one place: sum, prod, mean, amax or amin.

    index: int64, at most as long as src in each dim. include_self False leaves out what was at these places.
    """
    _require_alike("scatter_reduce", input, src, "src")
    require_tensor("scatter_reduce", index, "index")
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"[scatter_reduce] reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    at = wrapped_dim("scatter_reduce", dim, input.dim())
    if index.numel() == 0:
        return input.clone()
    if index.dtype not in (minidynamo.int64, minidynamo.int32):
        raise RuntimeError("[scatter_reduce] Expected dtype int32 or int64 for index")
    # A 0-d tensor is a vector of one element.
    rows, index, src = (each.reshape(-1) if each.dim() == 0 else each for each in (input, index, src))
    if index.dim() != rows.dim() or src.dim() != rows.dim():
        raise RuntimeError("[scatter_reduce] Index tensor must have the same number of dimensions as self tensor")
    for each in range(rows.dim()):
        if index.shape[each] > src.shape[each] or (each != at and index.shape[each] > rows.shape[each]):
            raise RuntimeError(
                f"[scatter_reduce] Expected index {list(index.shape)} to be no larger than self {list(input.shape)}"
                f" apart from dimension {dim} and to be no larger size than src {list(src.shape)}"
            )
    src = src[tuple([slice(0, size) for size in index.shape])]
    return _laid_out_as(input, _reduced(rows, at, index, src, reduce, include_self).reshape(input.shape))


@in_place()
@composite("function method")
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Combines the slices of source along dim that an index (n,) sends to one place: prod, mean, amax or amin.

    include_self False leaves out what was at these places.
    """
    _require_alike("index_reduce", input, source, "source")
    require_tensor("index_reduce", index, "index")
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"[index_reduce] index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    at = wrapped_dim("index_reduce", dim, input.dim())
    if index.dim() > 1:
        raise IndexError("[index_reduce] index_reduce_(): Index is supposed to be a vector")
    if index.numel() != (source.shape[at] if source.dim() > 0 else 1):
        raise RuntimeError("[index_reduce] Number of indices should be equal to source.size(dim)")
    if input.dim() == 0 or source.dim() == 0:
        rows = [each.reshape(-1) for each in (input, index, source)]
        return _reduced(rows[0], 0, rows[1].long(), rows[2], reduce, include_self).reshape(input.shape)
    if source.numel() == 0:
        return input.clone()
    ranks = [1] * input.dim()
    ranks[at] = index.numel()
    places = index.to(minidynamo.int64).reshape(ranks).expand(source.shape)
    return _laid_out_as(input, _reduced(input, at, places, source, reduce, include_self))


def _reduced(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    index = index.to(minidynamo.int64)
    if reduce in ("amax", "amin"):
        return _extreme(input, dim, index, src, reduce == "amax", include_self)
    start = input if include_self else input.scatter(dim, index, 1 if reduce == "prod" else 0)
    if reduce == "prod":
        return start.scatter(dim, index, src, reduce="multiply")
    total = start.scatter_add(dim, index, src)
    if reduce == "sum":
        return total
    counts = minidynamo.ones_like(input) if include_self else minidynamo.zeros_like(input)
    counts = counts.scatter_add(dim, index, minidynamo.ones_like(src)).clamp(min=1)
    return total / counts if total.is_floating_point() else total.div(counts, rounding_mode="floor")


def _least(dtype: Any, largest: bool) -> Any:
    """What every number of a dtype is at least as good as."""
    if dtype.is_floating_point:
        return -math.inf if largest else math.inf
    if dtype == minidynamo.bool:
        return not largest
    info = minidynamo.iinfo(dtype)
    return info.min if largest else info.max


def _in_order(values: Tensor, largest: bool) -> tuple[Tensor, Tensor]:
    """(sorted values, places), the wanted extreme last; NaN is both."""
    if largest:
        return values.sort(0, stable=True)
    if not values.is_floating_point():
        return values.sort(0, stable=True, descending=True)
    negated, places = (-values).sort(0, stable=True)
    return -negated, places


def _extreme(input: Tensor, dim: int, index: Tensor, src: Tensor, largest: bool, include_self: bool) -> Tensor:
    """With a slope, of sorted values the last one of each place."""
    if not (input.requires_grad or src.requires_grad):
        start = input if include_self else input.scatter(dim, index, _least(input.dtype, largest))
        return prims.scatter_extreme(start, dim, index, src, largest)
    places = minidynamo.arange(input.numel()).reshape(input.shape).gather(dim, index).reshape(-1)
    values, order = _in_order(src.reshape(-1), largest)
    places, by_place = places[order].sort(0, stable=True)
    values = values[by_place]
    ends = places != places.roll(-1, 0)
    ends = ends | (minidynamo.arange(places.numel()) == places.numel() - 1)
    # All others go to a place behind the result.
    targets = minidynamo.where(ends, places, input.numel())
    flat = minidynamo.cat([input.reshape(-1), input.new_zeros((1,))])
    found = flat.scatter(0, targets, values)[: input.numel()].reshape(input.shape)
    if not include_self:
        return found
    return minidynamo.maximum(input, found) if largest else minidynamo.minimum(input, found)
