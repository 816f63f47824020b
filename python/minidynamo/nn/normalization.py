"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from . import functional as F
from .functional import layer_norm
from .module import Module
from .parameter import Parameter


def _reset(module: Module) -> None:
    with minidynamo.no_grad():
        if module.weight is not None:
            module.weight.fill_(1)
        if getattr(module, "bias", None) is not None:
            module.bias.fill_(0)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias of the shape normalized_shape."""

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = minidynamo.ones(self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))
        offset = minidynamo.zeros(self.normalized_shape, dtype=dtype) if elementwise_affine and bias else None
        self.register_parameter("bias", None if offset is None else Parameter(offset))

    def reset_parameters(self) -> None:
        """weight becomes 1, bias 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={bias}"


class RMSNorm(Module):
    """Divided by the root of the mean square over the last dimensions, times weight of the shape normalized_shape."""

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = minidynamo.ones(self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", None if weight is None else Parameter(weight))

    def reset_parameters(self) -> None:
        """weight becomes 1."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Mean 0 and variance 1 for each of num_groups groups of channels of (N, C, ...), then weight and bias (C,)."""

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", Parameter(minidynamo.ones(num_channels, dtype=dtype)) if affine else None)
        offset = minidynamo.zeros(num_channels, dtype=dtype) if affine and bias else None
        self.register_parameter("bias", None if offset is None else Parameter(offset))

    def reset_parameters(self) -> None:
        """weight becomes 1, bias 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class _NormBase(Module):
    """weight, bias, running_mean and running_var of size num_features, each if requested."""

    ranks: tuple[int, ...] = ()
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", Parameter(minidynamo.ones(num_features, dtype=dtype)) if affine else None)
        offset = minidynamo.zeros(num_features, dtype=dtype) if affine and bias else None
        self.register_parameter("bias", None if offset is None else Parameter(offset))
        tracks = track_running_stats
        self.register_buffer("running_mean", minidynamo.zeros(num_features, dtype=dtype) if tracks else None)
        self.register_buffer("running_var", minidynamo.ones(num_features, dtype=dtype) if tracks else None)
        count = minidynamo.tensor(0, dtype=minidynamo.int64) if tracks else None
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """The running mean becomes 0, the variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]  # not None then
            self.running_var.fill_(1)  # type: ignore[union-attr]  # not None then
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]  # not None then

    def reset_parameters(self) -> None:
        """weight becomes 1, bias 0, and the running statistics are reset."""
        self.reset_running_stats()
        _reset(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if not self.ranks:
            raise NotImplementedError
        if input.dim() not in self.ranks:
            wanted = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine},"
            f" bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracks = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracks else None,
            self.running_var if tracks else None,
            self.weight,
            self.bias,
            by_batch,
            momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C) or (N, C, L): of the batch in training, else the running
    ones."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, H, W): of the batch in training, else the running ones."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C, D, H, W): of the batch in training, else the running ones."""

    ranks = (5,)


class _InstanceNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        single = input.dim() == self.ranks[0]
        result = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if single else result


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each example of (N, C, L)."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each example of (N, C, H, W)."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each example of (N, C, D, H, W)."""

    ranks = (4, 5)


class LocalResponseNorm(Module):
    """x / (k + alpha * the mean of the squares of `size` neighbouring channels) ** beta."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
