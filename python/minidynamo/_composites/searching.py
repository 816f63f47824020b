"""Elements by index and indices of elements."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite, prims, require_tensor, wrapped_dim, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("function method")
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather with indices broadcast against input, where negative ones count from the end of dim; without dim,
    gather of the flattened tensor.
    """
    require_tensor("take_along_dim", input)
    require_tensor("take_along_dim", indices, "indices")
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if indices.dtype != minidynamo.int64:
        raise RuntimeError(f"[take_along_dim] dtype of indices should be Long but got {indices.dtype}")
    if input.dim() != indices.dim():
        raise RuntimeError(
            f"[take_along_dim] input and indices should have the same number of dimensions, but got {input.dim()} and"
            f" {indices.dim()}; shapes {tuple(input.shape)} and {tuple(indices.shape)}"
        )
    at = wrapped_dim("take_along_dim", dim, input.dim())
    of_input, of_indices = list(input.shape), list(indices.shape)
    of_input[at], of_indices[at] = 1, 1
    shape = list(minidynamo.broadcast_shapes(of_input, of_indices))
    of_input, of_indices = list(shape), list(shape)
    of_input[at], of_indices[at] = input.shape[at], indices.shape[at]
    indices = minidynamo.where(indices < 0, indices + input.shape[at], indices)
    return input.expand(of_input).gather(at, indices.expand(of_indices))


@composite("function method")
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened tensor at the given indices; negative ones count from the end."""
    require_tensor("take", input)
    require_tensor("take", index, "index")
    if index.dtype != minidynamo.int64:
        raise RuntimeError(f"[take] Expected a long tensor for index, but got {index.dtype}")
    return written(input.reshape(-1)[index.reshape(-1)].reshape(index.shape), out)


@composite("function method")
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with values at the positions input[indices]; with accumulate they are added to the old ones.

    indices: a tuple of tensors of integers or bools, one for each leading dim; None for a whole dim. values: of
    input's dtype, broadcast to the sizes of input[indices]; one number of any dtype where a mask is the only index.
    """
    require_tensor("index_put", input)
    return _put("index_put", input.clone(), indices, values, accumulate)


@composite("function method")
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """The in-place form of index_put."""
    require_tensor("index_put_", input)
    return _put("index_put_", input, indices, values, accumulate)


def _put(op: str, input: Tensor, indices: Any, values: Any, accumulate: bool) -> Tensor:
    require_tensor(op, values, "values")
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"{op}(): argument 'indices' must be tuple of Tensors, not {type(indices).__name__}")
    for at, index in enumerate(indices):
        if index is not None and not isinstance(index, Tensor):
            raise TypeError(
                f"{op}(): argument 'indices' must be tuple of Tensors, but element {at} is {type(index).__name__}"
            )
    if values.dtype != input.dtype:
        mask = _lone_mask(input, indices)
        if mask is not None and values.numel() == 1 and not accumulate:
            return input.masked_fill_(mask, values.item())
        raise RuntimeError(
            f"[{op}] Index put requires the source and destination dtypes match, got {input.dtype} for the"
            f" destination and {values.dtype} for the source."
        )
    key = tuple([slice(None) if index is None else index for index in indices])
    if not accumulate:
        input[key] = values
        return input
    places = minidynamo.arange(input.numel()).reshape(input.shape)[key]
    added = values.expand(places.shape).reshape(-1)
    return input.copy_(input.reshape(-1).index_add(0, places.reshape(-1), added).reshape(input.shape))


def _lone_mask(input: Tensor, indices: Any) -> Tensor | None:
    """The only index, if it is a mask over dims of input that follow those left whole; it broadcasts against input."""
    given = [(at, index) for at, index in enumerate(indices) if index is not None]
    if len(given) != 1 or given[0][1].dtype not in (minidynamo.bool, minidynamo.uint8):
        return None
    at, mask = given[0]
    if tuple(input.shape[at : at + mask.dim()]) != tuple(mask.shape):
        return None
    return mask.reshape([*mask.shape] + [1] * (input.dim() - at - mask.dim()))


@composite("function method")
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """One row of indices for each element that is not zero; with as_tuple, a tensor of indices for each dim.

    The size depends on the data: see config.capture_dynamic_output_shape_ops.
    """
    require_tensor("nonzero", input)
    return minidynamo.where(input) if as_tuple else prims.nonzero(input)


@composite("function method")
def argwhere(input: Tensor) -> Tensor:
    """nonzero."""
    require_tensor("argwhere", input)
    return input.nonzero()


@composite("function")
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Insertion positions of the elements of input in sorted sequences along the last dim: before equal ones, or after.

    sorted_sequence: (n,), or the leading dims of input and (n,). Returns int64, or int32 with out_int32.
    """
    require_tensor("searchsorted", sorted_sequence, "sorted_sequence")
    if side not in (None, "left", "right"):
        raise RuntimeError(f"[searchsorted] side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "[searchsorted] side and right can't be set to opposites, got side of left while right was True"
        )
    if not isinstance(input, Tensor):
        of_kind = isinstance(input, float) and sorted_sequence.is_floating_point()
        input = minidynamo.tensor(input, dtype=sorted_sequence.dtype if of_kind else None)
    if sorter is not None:
        if sorter.dtype != minidynamo.int64:
            raise RuntimeError(f"[searchsorted] sorter must be a tensor of long dtype but got dtype {sorter.dtype}")
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "[searchsorted] boundary and sorter must have the same size, but got"
                f" {tuple(sorted_sequence.shape)} and"
                f" {tuple(sorter.shape)}"
            )
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if sorted_sequence.dtype != input.dtype:
        common = minidynamo.promote_types(sorted_sequence.dtype, input.dtype)
        sorted_sequence, input = sorted_sequence.to(common), input.to(common)
    if sorted_sequence.dim() == 0:
        raise RuntimeError("[searchsorted] boundaries tensor should have positive dimension, but got 0 dimension")
    if sorted_sequence.dim() != 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            "[searchsorted] boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries"
            " tensor and"
            f" input value tensor must match, but got {tuple(sorted_sequence.shape)} and {tuple(input.shape)}"
        )
    found = prims.search_sorted(sorted_sequence, input, right or side == "right")
    return found.to(minidynamo.int32) if out_int32 else found


@composite("function")
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket of each element, between sorted boundaries (n,)."""
    require_tensor("bucketize", boundaries, "boundaries")
    if boundaries.dim() != 1:
        raise RuntimeError(f"[bucketize] boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _starts_of_runs(values: Tensor) -> Tensor:
    """Whether each element of a vector, or row of a matrix, differs from the preceding one; the first one does."""
    differs = values != values.roll(1, 0)
    if values.dim() == 2:
        differs = differs.any(1)
    return differs | (minidynamo.arange(values.shape[0]) == 0)


def _lengths_of_runs(starts: Tensor, count: int) -> Tensor:
    numbers = starts.cumsum(0) - 1
    lengths = minidynamo.zeros(count, dtype=minidynamo.int64)
    return lengths.scatter_add(0, numbers, minidynamo.ones_like(numbers))


def _unique_values(values: Tensor, wants_inverse: bool = True, wants_counts: bool = True) -> Any:
    """(unique elements in order, index of each element among them, counts) of a vector; None for what is not wanted."""
    places = inverse = None
    if wants_inverse:
        ordered, places = values.sort(0)
    else:
        ordered = prims.sorted_values(values, 0, False)
    starts = _starts_of_runs(ordered)
    different = ordered[starts]
    if places is not None:
        inverse = minidynamo.empty_like(places).scatter(0, places, starts.cumsum(0) - 1)
    return different, inverse, _lengths_of_runs(starts, different.shape[0]) if wants_counts else None


def _unique_results(found: Any, inverse: bool, counts: bool) -> Any:
    if inverse and counts:
        return found
    if inverse:
        return found[:2]
    return (found[0], found[2]) if counts else found[0]


@composite("function method")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The unique elements in order; on request the index of each element among them, and the counts.

    The size depends on the data: see config.capture_dynamic_output_shape_ops.
    dim: slices along it are compared as wholes.
    """
    require_tensor("unique", input)
    if dim is not None:
        return _unique_slices(input, wrapped_dim("unique", dim, input.dim()), return_inverse, return_counts)
    values, places, counts = _unique_values(input.reshape(-1), return_inverse, return_counts)
    if places is not None:
        places = places.reshape(input.shape)
    return _unique_results((values, places, counts), return_inverse, return_counts)


def _unique_slices(input: Tensor, dim: int, return_inverse: bool, return_counts: bool) -> Any:
    rows = _slices(input, dim)
    order = prims.sorted_rows(rows)
    starts = _starts_of_runs(rows.index_select(0, order))
    first = order[starts]
    places = None
    if return_inverse:
        places = minidynamo.empty_like(order).scatter(0, order, starts.cumsum(0) - 1)
    counts = _lengths_of_runs(starts, first.shape[0]) if return_counts else None
    return _unique_results((input.index_select(dim, first), places, counts), return_inverse, return_counts)


def _slices(input: Tensor, dim: int) -> Tensor:
    """The slice at each position of dim, as rows."""
    width = 1
    for at, size in enumerate(input.shape):
        width = width if at == dim else width * size
    if width == 0:
        raise RuntimeError(
            "[unique] There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return input.movedim(dim, 0).reshape(input.shape[dim], width)


@composite("function method")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Merges runs of equal elements; on request the run of each element, and the lengths."""
    require_tensor("unique_consecutive", input)
    if dim is not None:
        return _consecutive_slices(
            input, wrapped_dim("unique_consecutive", dim, input.dim()), return_inverse, return_counts
        )
    flat = input.reshape(-1)
    starts = _starts_of_runs(flat)
    values = flat[starts]
    runs, counts = starts.cumsum(0) - 1, _lengths_of_runs(starts, values.shape[0])
    return _unique_results((values, runs.reshape(input.shape), counts), return_inverse, return_counts)


def _consecutive_slices(input: Tensor, dim: int, return_inverse: bool, return_counts: bool) -> Any:
    starts = _starts_of_runs(_slices(input, dim))
    first = starts.nonzero().reshape(-1)
    runs, counts = starts.cumsum(0) - 1, _lengths_of_runs(starts, first.shape[0])
    return _unique_results((input.index_select(dim, first), runs, counts), return_inverse, return_counts)
