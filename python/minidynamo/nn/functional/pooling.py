"""Pooling over windows. Inputs are (N, C, ...) or (C, ...)."""

from __future__ import annotations

from typing import Any

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from ..._composites.registry import prims

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


def spread(op: str, name: str, value: Any, rank: int) -> list[int]:
    """One number for all dims, or one for each."""
    values = [value] * rank if isinstance(value, int) else list(value)
    if len(values) == 1:
        values = values * rank
    if len(values) != rank:
        raise RuntimeError(f"[{op}] {name} must either be a single int, or a tuple of {rank} ints, got {values}")
    return values


def _steps(op: str, stride: Any, kernel: list[int]) -> list[int]:
    """The stride, by default that of the kernel."""
    if stride is None or (not isinstance(stride, int) and len(stride) == 0):
        return kernel
    return spread(op, "stride", stride, len(kernel))


def _max_pool(
    op: str,
    rank: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    kernel = spread(op, "kernel_size", kernel_size, rank)
    steps, around = _steps(op, stride, kernel), spread(op, "padding", padding, rank)
    apart = spread(op, "dilation", dilation, rank)
    if not return_indices and not input.requires_grad:
        return prims.max_pool_values(input, kernel, steps, around, apart, ceil_mode)
    values, indices = prims.max_pool(input, kernel, steps, around, apart, ceil_mode)
    return (values, indices) if return_indices else values


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; with return_indices also where it is."""
    return _max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; with return_indices also where it is in the flattened plane."""
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; with return_indices also where it is in the flattened volume."""
    if not return_indices and is_autocasting():
        return full_precision(max_pool3d, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    op: str,
    rank: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    kernel = spread(op, "kernel_size", kernel_size, rank)
    if divisor_override == 0:
        raise RuntimeError(f"[{op}] divisor must be not zero")
    return prims.avg_pool(
        input,
        kernel,
        _steps(op, stride, kernel),
        spread(op, "padding", padding, rank),
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window; padding counts as zeros unless count_include_pad is False."""
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum over divisor_override."""
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum over divisor_override."""
    if is_autocasting():
        return full_precision(
            avg_pool3d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _output_sizes(op: str, input: Tensor, output_size: Any, rank: int) -> list[int]:
    wanted = [output_size] * rank if output_size is None or isinstance(output_size, int) else list(output_size)
    if len(wanted) == 1:
        wanted = wanted * rank
    if len(wanted) != rank:
        raise RuntimeError(f"[{op}] output_size must be {rank} ints, got {wanted}")
    return [input.shape[at - rank] if size is None else size for at, size in enumerate(wanted)]


def _sizes_or_kept(input: Tensor, output_size: Any) -> Any:
    """output_size, where None keeps a size; the input must have a batch or channel dim besides these."""
    if isinstance(output_size, (list, tuple)) and input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    return output_size


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of output_size windows, which cover the input evenly."""
    return prims.adaptive_avg_pool(input, _output_sizes("adaptive_avg_pool1d", input, output_size, 1))


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of output_size windows, which cover the input evenly; None keeps a size."""
    return prims.adaptive_avg_pool(
        input, _output_sizes("adaptive_avg_pool2d", input, _sizes_or_kept(input, output_size), 2)
    )


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of output_size windows, which cover the input evenly; None keeps a size."""
    if is_autocasting():
        return full_precision(adaptive_avg_pool3d, input, output_size)
    return prims.adaptive_avg_pool(
        input, _output_sizes("adaptive_avg_pool3d", input, _sizes_or_kept(input, output_size), 3)
    )


def _adaptive_max_pool(op: str, input: Tensor, output_size: Any, rank: int, return_indices: bool) -> Any:
    values, indices = prims.adaptive_max_pool(input, _output_sizes(op, input, output_size, rank))
    return (values, indices) if return_indices else values


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of output_size windows, which cover the input evenly."""
    return _adaptive_max_pool("adaptive_max_pool1d", input, output_size, 1, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of output_size windows, which cover the input evenly."""
    return _adaptive_max_pool("adaptive_max_pool2d", input, _sizes_or_kept(input, output_size), 2, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of output_size windows, which cover the input evenly."""
    if is_autocasting():
        return full_precision(adaptive_max_pool3d, input, output_size, return_indices)
    return _adaptive_max_pool("adaptive_max_pool3d", input, _sizes_or_kept(input, output_size), 3, return_indices)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-norm of each window."""
    mean = avg_pool1d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return ((mean.sign() * mean.abs().relu()) * kernel_size) ** (1.0 / norm_type)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-norm of each window."""
    height, width = spread("lp_pool2d", "kernel_size", kernel_size, 2)
    mean = avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return ((mean.sign() * mean.abs().relu()) * (height * width)) ** (1.0 / norm_type)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm_type-norm of each window."""
    depth, height, width = spread("lp_pool3d", "kernel_size", kernel_size, 3)
    mean = avg_pool3d(input**norm_type, kernel_size, stride, 0, ceil_mode)
    return ((mean.sign() * mean.abs().relu()) * (depth * height * width)) ** (1.0 / norm_type)
