"""Writes by index or mask that combine what they meet."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import require_data, wrapped_dim
from .table import both, decline, stands_in


@stands_in(both("put"))
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    if index.numel() != source.numel() or input.dtype != source.dtype:
        decline("put of other sizes or dtypes")
    flat = input.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return _laid_out_as(input, flat.reshape(input.shape))


def _laid_out_as(input: Tensor, result: Tensor) -> Tensor:
    """torch writes into a clone, which has the layout of its input."""
    copy = minidynamo.empty_like(input)
    return result if copy.stride() == result.stride() else copy.copy_(result)


@stands_in(both("masked_scatter"))
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    if input.dtype != source.dtype or mask.dtype != minidynamo.bool:
        decline("masked_scatter of other dtypes")
    sizes = minidynamo.broadcast_shapes(input.shape, mask.shape)
    input, mask, flat = input.expand(sizes), mask.expand(sizes).contiguous(), source.reshape(-1)
    if flat.numel() == 0:
        decline("masked_scatter of nothing")
    places = mask.reshape(-1).to(minidynamo.int64).cumsum(0) - 1
    require_data(mask.sum() <= flat.numel(), "masked_scatter of too few elements")
    taken = flat[places.clamp(0, flat.numel() - 1)].reshape(sizes)
    return minidynamo.where(mask, taken, input).contiguous()


@stands_in(both("scatter_reduce"))
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if input.dtype != src.dtype:
        decline("scatter_reduce of two dtypes")
    if input.dim() == 0:
        return scatter_reduce(
            input.reshape(1), dim, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self
        ).reshape(())
    if index.dim() != input.dim() or index.numel() == 0:
        decline("scatter_reduce without elements")
    return _laid_out_as(
        input, _reduced(input, wrapped_dim("scatter_reduce", dim, input.dim()), index, src, reduce, include_self)
    )


@stands_in(both("index_reduce"))
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if input.dtype != source.dtype or reduce == "sum":
        decline("index_reduce of two dtypes")
    if input.dim() == 0:
        return index_reduce(
            input.reshape(1), dim, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self
        ).reshape(())
    at = wrapped_dim("index_reduce", dim, input.dim())
    if source.numel() == 0 or index.dim() > 1 or source.dim() != input.dim():
        decline("index_reduce without elements")
    ranks = [1] * input.dim()
    ranks[at] = index.numel()
    places = index.to(minidynamo.int64).reshape(ranks).expand(source.shape)
    return _laid_out_as(input, _reduced(input, at, places, source, reduce, include_self))


def _reduced(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    if reduce in ("amax", "amin"):
        return _extreme(input, dim, index, src, reduce == "amax", include_self)
    start = input if include_self else input.scatter(dim, index, 1 if reduce == "prod" else 0)
    if reduce == "prod":
        return start.scatter(dim, index, src, reduce="multiply")
    total = start.scatter_add(dim, index, src)
    if reduce == "sum":
        return total
    if reduce != "mean":
        decline(f"reduction {reduce}")
    ones = minidynamo.ones_like(src)
    count = minidynamo.ones_like(input) if include_self else minidynamo.zeros_like(input)
    count = count.scatter_add(dim, index, ones).clamp(min=1)
    return total / count if total.is_floating_point() else total.div(count, rounding_mode="floor")


def _extreme(input: Tensor, dim: int, index: Tensor, src: Tensor, largest: bool, include_self: bool) -> Tensor:
    """Of sorted values, the last one of each place."""
    if not src.is_floating_point():
        decline("amax and amin of integers")
    places = minidynamo.arange(input.numel()).reshape(input.shape).gather(dim, index).reshape(-1)
    cut = src[tuple([slice(0, size) for size in index.shape])].reshape(-1)
    values, order = (cut if largest else -cut).sort(0, stable=True)
    places, by_place = places[order].sort(0, stable=True)
    values = values[by_place]
    ends = places != places.roll(-1, 0)
    ends = ends | (minidynamo.arange(places.numel()) == places.numel() - 1)
    values = values if largest else -values
    # All others go to a place behind the result.
    targets = minidynamo.where(ends, places, input.numel())
    flat = minidynamo.cat([input.reshape(-1), input.new_zeros((1,))])
    found = flat.scatter(0, targets, values)[: input.numel()].reshape(input.shape)
    if not include_self:
        return found
    return minidynamo.maximum(input, found) if largest else minidynamo.minimum(input, found)
