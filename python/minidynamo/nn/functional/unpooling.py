"""What puts the elements of max pools back, and pools with names of their own."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from ..._composites.registry import require_data
from .pooling import spread

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _sizes(input: Tensor, kernel: list[int], stride: list[int], padding: list[int], output_size: Any) -> list[int]:
    rank = len(kernel)
    plain = [(input.shape[at - rank] - 1) * stride[at] + kernel[at] - 2 * padding[at] for at in range(rank)]
    if output_size is None:
        return plain
    sizes = list(output_size)
    if len(sizes) == rank + 2:
        sizes = sizes[2:]
    if len(sizes) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it has a length of"
            f" '{len(sizes)}'"
        )
    for at in range(rank):
        least, most = plain[at] - stride[at], plain[at] + stride[at]
        if not least < sizes[at] < most:
            raise ValueError(f'invalid output_size "{sizes}" (dim {at} must be between {least} and {most})')
    return sizes


def _unpool(
    op: str, rank: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    kernel = spread(op, "kernel_size", kernel_size, rank)
    steps = kernel if stride is None else spread(op, "stride", stride, rank)
    sizes = _sizes(input, kernel, steps, spread(op, "padding", padding, rank), output_size)
    if indices.dtype != minidynamo.int64:
        raise RuntimeError(f"[{op}] elements in indices should be type int64 but got: {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"[{op}] Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got"
            f" indices tensor with shape: {list(indices.shape)}"
        )
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(f"[{op}] Input to {op} should be a {rank + 1}d or {rank + 2}d Tensor, got {input.dim()}")
    return put_back(op, input, indices, sizes)


def put_back(op: str, input: Tensor, indices: Tensor, sizes: Any) -> Tensor:
    """(..., *sizes): zeros but for the elements of input at the indices, each in a flattened volume. RuntimeError for
    an index beyond it."""
    leading = list(input.shape[: input.dim() - len(sizes)])
    cells = 1
    for size in sizes:
        cells = cells * size
    if input.numel() == 0:
        return input.new_zeros((*leading, *sizes))
    fits = ((indices >= 0) & (indices < cells)).all()
    require_data(fits, f"[{op}] Found an invalid max index (output volumes are of size {sizes})")
    flat = input.new_zeros((*leading, cells))
    found = flat.scatter(-1, indices.reshape(*leading, -1), input.reshape(*leading, -1))
    return found.reshape(*leading, *sizes)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros but for the elements of input, at the places that max_pool1d found them."""
    if is_autocasting():
        return full_precision(max_unpool1d, input, indices, kernel_size, stride, padding, output_size)
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros but for the elements of input, at the places that max_pool2d found them."""
    if is_autocasting():
        return full_precision(max_unpool2d, input, indices, kernel_size, stride, padding, output_size)
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros but for the elements of input, at the places that max_pool3d found them."""
    if is_autocasting():
        return full_precision(max_unpool3d, input, indices, kernel_size, stride, padding, output_size)
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
