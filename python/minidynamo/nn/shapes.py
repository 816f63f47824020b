"""Layers that change shapes and resolutions, pad, and measure distances."""

from __future__ import annotations

from collections.abc import Sequence

import minidynamo

from .._C import Tensor
from . import functional as F
from .module import Module
from .parameter import Parameter


class Flatten(Module):
    """The dims from start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """dim as several dims."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("unflattened_size must be a tuple of ints and dim an int")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Upsample(Module):
    """functional.interpolate."""

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: float | tuple[float, ...] | None = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """interpolate by the nearest elements."""

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | tuple[float, ...] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """interpolate between four elements, the corners aligned."""

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | tuple[float, ...] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels dealt out from groups in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Unfold(Module):
    """The windows of (N, C, H, W) as columns."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """The columns of Unfold added up where their windows were."""

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation},"
            f" padding={self.padding}, stride={self.stride}"
        )


class CosineSimilarity(Module):
    """The dot product along dim divided by the norms."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dim."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class Bilinear(Module):
    """x1 @ weight @ x2 + bias: (*, in1_features) and (*, in2_features) give (*, out_features)."""

    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        bound = in1_features**-0.5
        weight = minidynamo.empty(out_features, in1_features, in2_features, dtype=dtype)
        self.weight = Parameter(weight.uniform_(-bound, bound))
        offset = minidynamo.empty(out_features, dtype=dtype).uniform_(-bound, bound) if bias else None
        self.register_parameter("bias", None if offset is None else Parameter(offset))

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


class _Pad(Module):
    rank = 0
    mode = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.rank) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPadNd(_Pad):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """functional.pad of the last 1 dim(s), mode 'constant'."""

    rank = 1


class ConstantPad2d(_ConstantPadNd):
    """functional.pad of the last 2 dim(s), mode 'constant'."""

    rank = 2


class ConstantPad3d(_ConstantPadNd):
    """functional.pad of the last 3 dim(s), mode 'constant'."""

    rank = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """functional.pad of the last 1 dim(s), mode 'constant'."""

    rank = 1


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """functional.pad of the last 2 dim(s), mode 'constant'."""

    rank = 2


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """functional.pad of the last 3 dim(s), mode 'constant'."""

    rank = 3


class _ReflectionPadNd(_Pad):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """functional.pad of the last 1 dim(s), mode 'reflect'."""

    rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    """functional.pad of the last 2 dim(s), mode 'reflect'."""

    rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    """functional.pad of the last 3 dim(s), mode 'reflect'."""

    rank = 3


class _ReplicationPadNd(_Pad):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """functional.pad of the last 1 dim(s), mode 'replicate'."""

    rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    """functional.pad of the last 2 dim(s), mode 'replicate'."""

    rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    """functional.pad of the last 3 dim(s), mode 'replicate'."""

    rank = 3


class _CircularPadNd(_Pad):
    mode = "circular"


class CircularPad1d(_CircularPadNd):
    """functional.pad of the last 1 dim(s), mode 'circular'."""

    rank = 1


class CircularPad2d(_CircularPadNd):
    """functional.pad of the last 2 dim(s), mode 'circular'."""

    rank = 2


class CircularPad3d(_CircularPadNd):
    """functional.pad of the last 3 dim(s), mode 'circular'."""

    rank = 3
