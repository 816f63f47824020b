"""Convolutions. Inputs are (N, C, ...) or (C, ...); weights (O, C / groups, ...), of transposed ones (C, O / groups,
...)."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims
from .pooling import spread

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "fold",
    "unfold",
]


def _batched(op: str, rank: int, input: Tensor, weight: Tensor) -> tuple[Tensor, bool]:
    if weight.dim() != rank + 2:
        raise RuntimeError(
            f"[{op}] expected weight to be {rank + 2}D; shapes {tuple(input.shape)} and {tuple(weight.shape)}"
        )
    if input.dim() not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"[{op}] Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input, but got input of size:"
            f" {tuple(input.shape)}"
        )
    return (input, False) if input.dim() == rank + 2 else (input.unsqueeze(0), True)


def _conv(
    op: str, rank: int, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    input, added = _batched(op, rank, input, weight)
    steps, spacing = spread(op, "stride", stride, rank), spread(op, "dilation", dilation, rank)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"{op}(): Invalid padding string '{padding}', should be one of 'valid', 'same'")
        if padding == "same":
            if steps != [1] * rank:
                raise RuntimeError(f"[{op}] padding='same' is not supported for strided convolutions")
            input, padding = _padded_to_same(input, weight, spacing, rank)
        else:
            padding = 0
    result = prims.convolution(
        input, weight, bias, steps, spread(op, "padding", padding, rank), spacing, False, [0] * rank, groups
    )
    return result.squeeze(0) if added else result


def _padded_to_same(input: Tensor, weight: Tensor, dilation: list[int], rank: int) -> tuple[Tensor, list[int]]:
    """The padding on both sides, after adding one more at the end if the total is odd."""
    both: list[int]
    odd: list[int]
    both, odd = [], []
    for dim in range(rank):
        total = dilation[dim] * (weight.shape[dim + 2] - 1)
        both.append(total // 2)
        odd = [0, total % 2, *odd]
    if odd != [0] * (2 * rank):
        input = minidynamo.nn.functional.pad(input, odd)
    return input, both


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation of (N, C, L) with weight. padding may be "same" or "valid"."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation of (N, C, H, W) with weight. padding may be "same" or "valid"."""
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation of (N, C, D, H, W) with weight. padding may be "same" or "valid"."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    op: str,
    rank: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    input, added = _batched(op, rank, input, weight)
    result = prims.convolution(
        input,
        weight,
        bias,
        spread(op, "stride", stride, rank),
        spread(op, "padding", padding, rank),
        spread(op, "dilation", dilation, rank),
        True,
        spread(op, "output_padding", output_padding, rank),
        groups,
    )
    return result.squeeze(0) if added else result


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv1d, as a function of its input."""
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv2d, as a function of its input."""
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """The transpose of conv3d, as a function of its input."""
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of (N, C, H, W) as columns: (N, C * window, windows). Also without N."""
    if input.dim() not in (3, 4):
        raise RuntimeError(f"[unfold] Expected 3D or 4D (batch mode) tensor; shape {tuple(input.shape)}")
    windows = input.unsqueeze(0) if input.dim() == 3 else input
    kernel, spacing = spread("unfold", "kernel_size", kernel_size, 2), spread("unfold", "dilation", dilation, 2)
    steps, around = spread("unfold", "stride", stride, 2), spread("unfold", "padding", padding, 2)
    if around != [0, 0]:
        windows = minidynamo.nn.functional.pad(windows, (around[1], around[1], around[0], around[0]))
    for at in range(2):
        span = spacing[at] * (kernel[at] - 1) + 1
        if span > windows.shape[2 + at]:
            raise RuntimeError(
                f"[unfold] calculated shape of the array of sliding blocks must be at least one; kernel_size {kernel},"
                f" dilation {spacing}, padding {around}, stride {steps}, shape {tuple(input.shape)}"
            )
        windows = windows.unfold(2 + at, span, steps[at])
    if spacing != [1, 1]:
        windows = windows[..., :: spacing[0], :: spacing[1]]
    # (N, C, rows, columns, kernel rows, kernel columns)
    columns = windows.permute(0, 1, 4, 5, 2, 3)
    size = columns.shape[1] * kernel[0] * kernel[1]
    result = prims.reshape_copy(columns, (columns.shape[0], size, columns.shape[4] * columns.shape[5]))
    return result.squeeze(0) if input.dim() == 3 else result


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The columns of unfold (N, C * window, windows) added up where their windows were: (N, C, *output_size)."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"[fold] Expected 2D or 3D (batch mode) tensor; shape {tuple(input.shape)}")
    columns = input.unsqueeze(0) if input.dim() == 2 else input
    size = spread("fold", "output_size", output_size, 2)
    kernel, around = spread("fold", "kernel_size", kernel_size, 2), spread("fold", "padding", padding, 2)
    places = minidynamo.arange(size[0] * size[1], dtype=minidynamo.float64).reshape(1, 1, *size) + 1
    places = unfold(places, kernel_size, dilation, padding, stride).long().reshape(-1)
    count = kernel[0] * kernel[1]
    windows = places.numel() // count
    if columns.shape[1] % count != 0 or columns.shape[2] != windows:
        raise RuntimeError(
            f"[fold] expected {windows} columns of a multiple of {count} rows for output_size {size},"
            f" kernel_size {kernel},"
            f" padding {around}; shape {tuple(input.shape)}"
        )
    channels = columns.shape[1] // count
    values = columns.reshape(columns.shape[0] * channels, count * windows)
    # Position 0 collects elements in the padding.
    total = values.new_zeros(values.shape[0], size[0] * size[1] + 1).index_add(1, places, values)
    result = prims.reshape_copy(total[:, 1:], (columns.shape[0], channels, *size))
    return result.squeeze(0) if input.dim() == 2 else result
