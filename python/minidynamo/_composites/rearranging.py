"""Other shapes and orders of the same elements."""

from __future__ import annotations

import minidynamo

from .._C import Tensor, _as_size
from .registry import composite, prims, require_data, require_tensor, require_tensors, sizes_of, wrapped_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("function method")
def tile(input: Tensor, *dims: Any) -> Tensor:
    """The tensor repeated: as repeat, but with ones for leading dims missing in `dims`. tile(x, 2, 3) or tile(x,
    (2, 3))."""
    require_tensor("tile", input)
    counts = sizes_of("tile", dims)
    missing = input.dim() - len(counts)
    if missing > 0:
        counts = (1,) * missing + counts
    return input.repeat(counts)


@composite("function method")
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """movedim."""
    require_tensor("moveaxis", input)
    return input.movedim(source, destination)


@composite("function method")
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """split into parts of the given sizes."""
    require_tensor("split_with_sizes", input)
    return input.split(sizes_of("split_with_sizes", (split_sizes,), "split_sizes"), dim)


@composite("method")
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view with the sizes of other."""
    require_tensor("view_as", other, "other")
    return input.view(other.shape)


@composite("method")
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """reshape to the sizes of other."""
    require_tensor("reshape_as", other, "other")
    return input.reshape(other.shape)


@composite("function method")
def ravel(input: Tensor) -> Tensor:
    """All elements in one dim; a view if possible."""
    require_tensor("ravel", input)
    return input.contiguous().view(-1)


@composite("function method")
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """dim split into dims of the given sizes, of which one may be -1."""
    require_tensor("unflatten", input)
    at = wrapped_dim("unflatten", dim, input.dim())
    parts = sizes_of("unflatten", (sizes,), "sizes")
    if not parts:
        raise RuntimeError("[unflatten] sizes must be non-empty")
    known = 1
    for part in parts:
        known = known * part if part != -1 else known
    whole = input.shape[at] if input.dim() > 0 else 1
    fits = whole % known == 0 if -1 in parts and known != 0 else whole == known
    if fits and known != 0:
        # Next to a dim of size 0, -1 can only be inferred from the dim itself.
        parts = tuple([whole // known if part == -1 else part for part in parts])
    if not fits:
        raise RuntimeError(
            f"[unflatten] Provided sizes {list(parts)} don't multiply up to the size of dim {dim} ({whole}) in"
            " the input"
            f" tensor; shape {tuple(input.shape)}"
        )
    return input.reshape((*input.shape[:at], *parts, *input.shape[at + 1 :]))


@composite("function method")
def adjoint(input: Tensor) -> Tensor:
    """The last two dims swapped, of complex numbers their conjugates in memory of their own."""
    require_tensor("adjoint", input)
    swapped = input.transpose(-2, -1) if input.dim() else input.view(())
    return swapped.conj()


@composite("function method")
def fliplr(input: Tensor) -> Tensor:
    """The order along dim 1 reversed."""
    require_tensor("fliplr", input)
    if input.dim() < 2:
        raise RuntimeError(f"[fliplr] Input must be >= 2-d; shape {tuple(input.shape)}")
    return input.flip(1)


@composite("function method")
def flipud(input: Tensor) -> Tensor:
    """The order along dim 0 reversed."""
    require_tensor("flipud", input)
    if input.dim() < 1:
        raise RuntimeError(f"[flipud] Input must be >= 1-d; shape {tuple(input.shape)}")
    return input.flip(0)


@composite("function method")
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two dims turned k times by 90 degrees, from the first dim towards the second."""
    require_tensor("rot90", input)
    if len(dims) != 2:
        raise RuntimeError(f"[rot90] expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"[rot90] expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = wrapped_dim("rot90", dims[0], input.dim()), wrapped_dim("rot90", dims[1], input.dim())
    if first == second:
        raise RuntimeError(
            f"[rot90] expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 1:
        return input.flip(second).transpose(first, second)
    if turns == 2:
        return input.flip((first, second))
    if turns == 3:
        return input.flip(first).transpose(first, second)
    return input.clone()


@composite("function method")
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Square matrices that are zero except for the last dim of input, on their diagonals."""
    require_tensor("diag_embed", input)
    rank = input.dim() + 1
    first, second = wrapped_dim("diag_embed", dim1, rank), wrapped_dim("diag_embed", dim2, rank)
    if first == second:
        raise RuntimeError(
            f"[diag_embed] diagonal dimensions cannot be identical {dim1}, {dim2}; shape {tuple(input.shape)}"
        )
    extent, sizes = input.shape[-1] + abs(offset), list(input.shape[:-1])
    sizes.insert(min(first, second), extent)
    sizes.insert(max(first, second), extent)
    made = input.new_zeros(sizes)
    made.diagonal(offset, first, second).copy_(input)
    return made


@composite("function method")
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """For a vector, the matrix with it on a diagonal; for a matrix, a diagonal."""
    require_tensor("diag", input)
    if input.dim() == 1:
        return diag_embed(input, diagonal)
    if input.dim() != 2:
        raise RuntimeError(f"[diag] Supports 1D or 2D tensors. Got {input.dim()}D; shape {tuple(input.shape)}")
    return input.diagonal(diagonal).clone()


@composite("function method")
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements on a diagonal."""
    require_tensor("diagflat", input)
    return diag_embed(input.reshape(-1), offset)


def _repeated_places(counts: Tensor, size: int | None) -> Tensor:
    """0 counts[0] times, then 1 counts[1] times, and so on: `size` in all, if that is known."""
    if counts.dim() != 1 or counts.is_floating_point() or counts.dtype == minidynamo.bool:
        raise RuntimeError(
            f"[repeat_interleave] only accept 1D vector of whole numbers as repeats, got {counts.dtype}; shape"
            f" {tuple(counts.shape)}"
        )
    require_data((counts >= 0).all(), "[repeat_interleave] repeats can not be negative")
    total = counts.sum()
    if size is None:
        size = _as_size(total)
    else:
        require_data(total == size, "[repeat_interleave] allocated size does not match required size")
    return minidynamo.searchsorted(counts.cumsum(0), minidynamo.arange(size), right=True)


@composite("function method")
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated in place: `repeats` times, or as often as a tensor of counts says, along dim or flattened.

    repeat_interleave(counts) alone returns the repeated indices. With a tensor of counts and without output_size, the
    sum of counts, the size depends on the data: see config.capture_dynamic_output_shape_ops.
    """
    require_tensor("repeat_interleave", input)
    if repeats is None:
        places = _repeated_places(input, output_size)
        return places.to(minidynamo.int32) if input.dtype == minidynamo.int32 else places
    if dim is None:
        input, dim = input.reshape(-1), 0
    at = wrapped_dim("repeat_interleave", dim, input.dim())
    if input.dim() == 0:
        input = input.reshape(1)
    if not isinstance(repeats, Tensor):
        if not isinstance(repeats, int) or isinstance(repeats, bool):
            raise TypeError(
                f"repeat_interleave(): argument 'repeats' must be Tensor or int, not {type(repeats).__name__}"
            )
        if repeats < 0:
            raise RuntimeError("[repeat_interleave] Repeats must be non-negative")
        spread = input.unsqueeze(at + 1)
        sizes = list(spread.shape)
        sizes[at + 1] = repeats
        result = list(input.shape)
        result[at] = result[at] * repeats
        return prims.reshape_copy(spread.expand(sizes), result)
    if repeats.dim() > 1:
        raise RuntimeError("[repeat_interleave] repeats must be 0-dim or 1-dim tensor")
    # Sizes that depend on data decide nothing: equal ones are known to be.
    if repeats.dim() == 0 or (repeats.shape[0] != input.shape[at] and repeats.shape[0] == 1):
        repeats = repeats.reshape(1).expand(input.shape[at])
    if repeats.shape[0] != input.shape[at]:
        raise RuntimeError(
            f"[repeat_interleave] repeats must have the same size as input along dim, but got repeats.size(0) ="
            f" {repeats.shape[0]} and input.size({dim}) = {input.shape[at]}"
        )
    return input.index_select(at, _repeated_places(repeats, output_size))


@composite("function")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to the sizes that they broadcast to."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    require_tensors("broadcast_tensors", tensors)
    shape = broadcast_shapes(*[tensor.shape for tensor in tensors])
    return tuple([tensor.expand(shape) for tensor in tensors])


@composite("function")
def broadcast_shapes(*shapes: Any) -> Any:
    """The sizes that shapes broadcast to, as a Size."""
    rank = 0
    whole = []
    for shape in shapes:
        whole.append((shape,) if isinstance(shape, int) else tuple(shape))
        rank = max(rank, len(whole[-1]))
    result = [1] * rank
    for shape in whole:
        for at in range(-1, -len(shape) - 1, -1):
            if shape[at] < 0:
                raise RuntimeError(f"[broadcast_shapes] Trying to create tensor with negative dimension ({shape[at]})")
            if shape[at] == 1 or shape[at] == result[at]:
                continue
            if result[at] != 1:
                raise RuntimeError(
                    f"[broadcast_shapes] Shape mismatch: objects cannot be broadcast to a single shape; shapes {whole}"
                )
            result[at] = shape[at]
    return minidynamo.Size(result)


@composite("function")
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """One grid for each vector, over all of them; indexing="xy" swaps the first two dims, as NumPy has it."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    require_tensors("meshgrid", tensors)
    if not tensors:
        raise RuntimeError("[meshgrid] expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'[meshgrid] indexing must be one of "xy" or "ij", but received: {indexing}')
    for tensor in tensors:
        if tensor.dim() > 1:
            raise RuntimeError(f"[meshgrid] Expected 0D or 1D tensor in the tensor list but got: {tuple(tensor.shape)}")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("[meshgrid] expects all tensors to have the same dtype")
    swaps = indexing == "xy" and len(tensors) > 1
    order = (tensors[1], tensors[0], *tensors[2:]) if swaps else tensors
    sizes = [tensor.numel() for tensor in order]
    grids = []
    for at, tensor in enumerate(order):
        shape = [1] * len(order)
        shape[at] = sizes[at]
        grids.append(tensor.reshape(shape).expand(sizes))
    if swaps:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)
