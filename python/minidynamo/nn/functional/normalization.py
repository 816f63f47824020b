"""Normalisation over batches, groups, instances and lengths."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor

__all__ = ["batch_norm", "group_norm", "instance_norm", "local_response_norm", "normalize", "rms_norm"]


def _per_channel(values: Tensor, rank: int) -> Tensor:
    return values.reshape(1, -1, *([1] * (rank - 2)))


def _holds(result: Tensor, other: Tensor) -> bool:
    """Whether the other may be added in place to a new result: it has the same dtype."""
    return result.dtype is other.dtype


def _joined(input: Tensor, *parameters: Any) -> Tensor:
    """input in the common dtype with the parameters (which may be None), half types in float32."""
    dtype = input.dtype
    for parameter in parameters:
        if parameter is not None and parameter.dtype is not dtype:
            dtype = minidynamo.promote_types(dtype, parameter.dtype)
    return input.to(minidynamo.float32 if dtype in (minidynamo.float16, minidynamo.bfloat16) else dtype)


def _scaled(input: Tensor, mean: Tensor, var: Tensor, weight: Any, bias: Any, eps: float) -> Tensor:
    """input with mean 0 and variance 1, times weight plus bias: one factor and one offset for each channel."""
    mean, var = mean.to(input.dtype), var.to(input.dtype)
    factor = (var + eps).rsqrt()
    if weight is not None:
        factor = factor * weight
    offset = -mean * factor if bias is None else bias - mean * factor
    result = input * _per_channel(factor, input.dim())
    offset = _per_channel(offset, input.dim())
    return result.add_(offset) if _holds(result, offset) else result + offset


def _require_channels(op: str, input: Tensor, *parameters: Any) -> None:
    if input.dim() < 2:
        raise RuntimeError(f"[{op}] expects an input of at least two dims (N, C, ...); shape {tuple(input.shape)}")
    for parameter in parameters:
        if parameter is not None and parameter.numel() != input.shape[1]:
            raise RuntimeError(
                f"[{op}] running_mean, running_var, weight and bias should contain {input.shape[1]} elements not"
                f" {parameter.numel()}; shapes {tuple(input.shape)} and {tuple(parameter.shape)}"
            )


def _move_towards(running: Tensor, of_batch: Tensor, momentum: float) -> None:
    """Writes a running number in place, without a history."""
    running.copy_(running.to(of_batch.dtype) * (1 - momentum) + of_batch.detach() * momentum)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel of (N, C, ...): by the running ones, in training by those of the batch.

    In training the running ones move by momentum towards the batch's, the variance without bias. The result has
    input's dtype, also where the others are wider.
    """
    if input.dim() == 1 and input.numel() == 0:
        return input.clone()
    _require_channels("batch_norm", input, running_mean, running_var, weight, bias)
    dtype = input.dtype
    input = _joined(input, running_mean, running_var, weight, bias)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("[batch_norm] Expected running_mean and running_var to be defined when training=False")
        return _scaled(input, running_mean, running_var, weight, bias, eps).to(dtype)
    count = input.numel() // input.shape[1]
    if count <= 1:
        raise ValueError(
            f"batch_norm(): Expected more than 1 value per channel when training, got input size {tuple(input.shape)}"
        )
    dims = [0, *range(2, input.dim())]
    mean, var = input.mean(dims), input.var(dims, correction=0)
    if running_mean is not None:
        _move_towards(running_mean, mean, momentum)
    if running_var is not None:
        _move_towards(running_var, var * (count / (count - 1)), momentum)
    return _scaled(input, mean, var, weight, bias, eps).to(dtype)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel of each example of (N, C, ...)."""
    _require_channels("instance_norm", input, running_mean, running_var, weight, bias)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    dtype = input.dtype
    input = _joined(input, running_mean, running_var, weight, bias)
    dims = list(range(2, input.dim()))
    count = 1
    for dim in dims:
        count = count * input.shape[dim]
    if count <= 1:
        raise ValueError(
            f"instance_norm(): Expected more than 1 spatial element when training, got input size {tuple(input.shape)}"
        )
    mean, var = input.mean(dims, keepdim=True), input.var(dims, correction=0, keepdim=True)
    if running_mean is not None:
        _move_towards(running_mean, mean.reshape(input.shape[:2]).mean(0), momentum)
    if running_var is not None:
        _move_towards(running_var, var.reshape(input.shape[:2]).mean(0) * (count / (count - 1)), momentum)
    result = (input - mean) * (var + eps).rsqrt()
    if weight is not None:
        result = result * _per_channel(weight, input.dim())
    return (result if bias is None else result + _per_channel(bias, input.dim())).to(dtype)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Mean 0 and variance 1 for each group of channels of each example of (N, C, ...)."""
    _require_channels("group_norm", input, weight, bias)
    if num_groups <= 0 or input.shape[1] % num_groups != 0:
        raise RuntimeError(
            f"[group_norm] Expected number of channels in input to be divisible by num_groups, but got input of shape"
            f" {tuple(input.shape)} and num_groups={num_groups}"
        )
    dtype = input.dtype
    input = _joined(input, weight, bias)
    width = input.shape[1] // num_groups
    for size in input.shape[2:]:
        width = width * size
    groups = input.reshape(input.shape[0], num_groups, width)
    result = minidynamo.layer_norm(groups, [groups.shape[2]], None, None, eps).reshape(input.shape)
    if weight is not None:
        result = result * _per_channel(weight, input.dim())
    if bias is not None:
        bias = _per_channel(bias, input.dim())
        result = result.add_(bias) if weight is not None and _holds(result, bias) else result + bias
    return result.to(dtype)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """input divided by the root of the mean square over the last dims, times weight. eps: the dtype's when None."""
    normalized = list(normalized_shape)
    rank = len(normalized)
    if rank == 0 or rank > input.dim() or list(input.shape[input.dim() - rank :]) != normalized:
        raise RuntimeError(
            f"[rms_norm] Given normalized_shape={normalized}, expected input with shape [*, {normalized}], but"
            " got input of"
            f" size {tuple(input.shape)}"
        )
    if input.is_complex():
        raise NotImplementedError("[rms_norm] not implemented for complex numbers")
    wide = input if input.dtype == minidynamo.float64 else input.float()
    smallest = minidynamo.finfo(wide.dtype).eps if eps is None else eps
    scale = (wide.square().mean(list(range(-rank, 0)), keepdim=True) + smallest).rsqrt()
    result = (wide * scale).to(input.dtype)
    return result if weight is None else (result * weight).to(input.dtype)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """input divided by its p-norm along dim, which counts as eps at least."""
    result = input / input.norm(p, dim, keepdim=True).clamp(min=eps)
    return result if out is None else out.copy_(result)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """input / (k + alpha * the mean of the squares of `size` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError(
            f"local_response_norm(): Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    squares = input.square().movedim(1, -1)
    squares = minidynamo.nn.functional.pad(squares, (size // 2, (size - 1) // 2))
    windows = squares.unfold(-1, size, 1)
    # Integers stay integers: their mean is the truncated quotient.
    floating = input.is_floating_point()
    mean = windows.mean(-1) if floating else windows.sum(-1).div(size, rounding_mode="trunc")
    mean = mean.movedim(-1, 1)
    return input / (mean * alpha + k) ** beta
