"""Inputs (N, C, ...) at other resolutions."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.registry import is_narrow, prims
from .byte_images import weigh_bytes, weigh_bytes_of_windows
from .cubic import cubic_weights, far_weight, near_weight

__all__ = [
    "channel_shuffle",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def _step(extent: int, size: int, align_corners: bool, scale: float | None) -> float:
    """How many elements of the input an output element is from the next."""
    if align_corners:
        return (extent - 1) / (size - 1) if size > 1 else 0.0
    return 1 / scale if scale is not None else extent / size


def _places(extent: int, size: int, align_corners: bool, scale: float | None, dtype: Any) -> Tensor:
    """The position of each output element in the input, in elements."""
    number = minidynamo.arange(size, dtype=dtype)
    step = _step(extent, size, align_corners, scale)
    return number * step if align_corners else (number + 0.5) * step - 0.5


def _place_dtype(input: Tensor) -> Any:
    """Positions and weights are computed in float32, for float64 and bytes in float64."""
    return minidynamo.float32 if input.dtype is minidynamo.float32 else minidynamo.float64


def _nearest(input: Tensor, dim: int, size: int, scale: float | None, exact: bool) -> Tensor:
    extent = input.shape[dim]
    # As in torch, scale factors of images are ignored where the size stays or doubles.
    if input.dim() == 4 and not exact and size in (extent, 2 * extent):
        scale = None
    step = 1 / scale if scale is not None else extent / size
    number = minidynamo.arange(size, dtype=minidynamo.float32)
    places = ((number + 0.5 if exact else number) * step).floor().clamp(max=extent - 1)
    return input.index_select(dim, places.long())


def _linear_taps(places: Tensor, extent: int) -> tuple[list[Tensor], list[Tensor]]:
    """The input elements of each output element, and their weights."""
    places = places.clamp(min=0)
    below = places.floor().clamp(max=extent - 1)
    weight = places - below
    return [below.long(), (below + 1).clamp(max=extent - 1).long()], [1 - weight, weight]


def _cubic_taps(places: Tensor, extent: int) -> tuple[list[Tensor], list[Tensor]]:
    below = places.floor()
    indices = [(below + step).clamp(0, extent - 1).long() for step in (-1, 0, 1, 2)]
    return indices, cubic_weights(places - below)


def _linear_filter(x: Tensor) -> Tensor:
    return (1 - x).clamp(min=0)


def _cubic_filter(x: Tensor) -> Tensor:
    return minidynamo.where(x < 1, near_weight(x, -0.5), minidynamo.where(x < 2, far_weight(x, -0.5), 0.0))


def _windows(extent: int, size: int, step: float, radius: int, dtype: Any) -> tuple[Tensor, Tensor]:
    """The input elements of each output element with antialiasing: all within a filter as wide as its step.

    Indices and weights, of shape (size, elements of the longest window).
    """
    wide = max(step, 1.0)
    reach = radius * wide
    centers = ((minidynamo.arange(size, dtype=dtype) + 0.5) * step).unsqueeze(1)
    first = (centers - reach + 0.5).floor().clamp(min=0)
    end = (centers + reach + 0.5).floor().clamp(max=extent)
    indices = first + minidynamo.arange(math.ceil(reach) * 2 + 1, dtype=dtype)
    filter_ = _linear_filter if radius == 1 else _cubic_filter
    weights = filter_(((indices - centers + 0.5) / wide).abs()).masked_fill(indices >= end, 0.0)
    total = weights.sum(1, keepdim=True)
    return indices.clamp(max=extent - 1).long(), weights / total.masked_fill(total == 0, 1.0)


def _filter_windows(input: Tensor, dim: int, indices: Tensor, weights: Tensor) -> Tensor:
    windows = input.index_select(dim, indices.flatten()).unflatten(dim, indices.shape)
    if input.dtype is minidynamo.uint8:
        return weigh_bytes_of_windows(windows, dim, weights)
    shape = [1] * windows.dim()
    shape[dim : dim + 2] = weights.shape
    return (windows * weights.reshape(shape)).sum(dim + 1)


def _weigh(input: Tensor, dim: int, indices: list[Tensor], weights: list[Tensor]) -> Tensor:
    shape = [1] * input.dim()
    shape[dim] = -1
    total: Any = None
    for index, weight in zip(indices, weights, strict=True):
        part = input.index_select(dim, index) * weight.reshape(shape)
        total = part if total is None else total + part
    return total


def _resample(
    input: Tensor, sizes: list[int], scales: list[Any], mode: str, align_corners: bool, antialias: bool
) -> Tensor:
    taps = _cubic_taps if mode == "bicubic" else _linear_taps
    bytes_ = input.dtype is minidynamo.uint8
    # Unlike torch's cubic mode, its other modes skip a dim whose size stays, even with a scale.
    leaves = bytes_ or antialias or mode != "bicubic"
    # Rounded between the dims, bytes depend on their order.
    for at in reversed(range(len(sizes))):
        dim, extent, size = 2 + at, input.shape[2 + at], sizes[at]
        if leaves and size == extent:
            continue
        if antialias:
            step = _step(extent, size, align_corners, scales[at])
            windows = _windows(extent, size, step, 2 if mode == "bicubic" else 1, _place_dtype(input))
            input = _filter_windows(input, dim, *windows)
            continue
        if not bytes_ and not minidynamo.compiler.is_compiling():
            # In graphs the elements are read by what uses them.
            step = _step(extent, size, align_corners, scales[at])
            input = prims.resample(input, dim, size, step, mode == "bicubic", align_corners)
            continue
        places = _places(extent, size, align_corners, scales[at], _place_dtype(input))
        input = (weigh_bytes if bytes_ else _weigh)(input, dim, *taps(places, extent))
    return input


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """(N, C, ...) at the resolution `size`, or at scale_factor times its own.

    mode: "nearest", "nearest-exact", "linear" (3-D), "bilinear" and "bicubic" (4-D), "trilinear" (5-D), "area".
    """
    rank = input.dim() - 2
    if rank not in (1, 2, 3):
        raise NotImplementedError(f"[interpolate] Input must be 3-D, 4-D or 5-D; shape {tuple(input.shape)}")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "interpolate(): align_corners option can only be set with the interpolating modes: linear | bilinear |"
                " bicubic | trilinear"
            )
    elif _RANKS.get(mode) != rank:
        raise NotImplementedError(
            f"[interpolate] Got {input.dim()}D input, and the mode {mode}; shape {tuple(input.shape)}"
        )
    if antialias and (rank != 2 or mode not in ("bilinear", "bicubic")):
        raise ValueError(
            "[interpolate] Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as"
            f" input; mode {mode}, shape {tuple(input.shape)}"
        )
    if (size is None) == (scale_factor is None):
        both = (
            "either size or scale_factor should be defined"
            if size is None
            else "only one of size or scale_factor should be defined"
        )
        raise ValueError(f"interpolate(): {both}")
    scales: list[Any] = [None] * rank
    if size is not None:
        sizes = [size] * rank if isinstance(size, int) else list(size)
    else:
        scales = [scale_factor] * rank if isinstance(scale_factor, (int, float)) else list(scale_factor)
        sizes = [math.floor(input.shape[2 + at] * scales[at]) for at in range(len(scales))]
    if len(sizes) != rank:
        raise ValueError(
            "interpolate(): Input and output must have the same number of spatial dimensions, but got input"
            " with spatial"
            f" dimensions of {list(input.shape[2:])} and output size of {sizes}"
        )
    if mode == "area":
        pools = minidynamo.nn.functional
        pool = (pools.adaptive_avg_pool1d, pools.adaptive_avg_pool2d, pools.adaptive_avg_pool3d)[rank - 1]
        return pool(input, sizes)
    for at in range(rank):
        if input.shape[2 + at] <= 0 or sizes[at] <= 0:
            raise RuntimeError(
                f"[interpolate] Input and output sizes should be greater than 0, but got output {sizes}; shape"
                f" {tuple(input.shape)}"
            )
    if recompute_scale_factor:
        scales = [None] * rank
    if mode.startswith("nearest"):
        for at in range(rank):
            input = _nearest(input, 2 + at, sizes[at], scales[at], mode == "nearest-exact")
        return input
    dtype = input.dtype
    if not input.is_floating_point() and (dtype is not minidynamo.uint8 or rank != 2):
        raise NotImplementedError(f"[interpolate] {mode} is not implemented for {dtype}; shape {tuple(input.shape)}")
    if antialias and is_narrow(input) and list(input.shape[2:]) != sizes:
        raise NotImplementedError(f"[interpolate] antialias is not implemented for {dtype}; shape {tuple(input.shape)}")
    # Each dim is a step that would round to the narrow dtype.
    wide = input.float() if is_narrow(input) else input
    return _resample(wide, sizes, scales, mode, bool(align_corners), antialias).to(dtype)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """interpolate."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with the nearest pixels."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with mode "bilinear" and align_corners=True."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def _count(input: Tensor) -> int:
    """How many images (C, H, W) there are."""
    count = 1
    for size in input.shape[:-3]:
        count = count * size
    return count


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""
    r = upscale_factor
    if input.dim() < 3 or r <= 0 or input.shape[-3] % (r * r) != 0:
        raise RuntimeError(
            "[pixel_shuffle] expects its input's 'channel' dimension to be divisible by the square of"
            f" upscale_factor {r};"
            f" shape {tuple(input.shape)}"
        )
    channels, height, width = input.shape[-3] // (r * r), input.shape[-2], input.shape[-1]
    parts = input.reshape(_count(input), channels, r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return prims.reshape_copy(parts, (*input.shape[:-3], channels, height * r, width * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""
    r = downscale_factor
    if input.dim() < 3 or r <= 0 or input.shape[-1] % r != 0 or input.shape[-2] % r != 0:
        raise RuntimeError(
            f"[pixel_unshuffle] expects height and width to be divisible by downscale_factor {r}; shape"
            f" {tuple(input.shape)}"
        )
    channels, height, width = input.shape[-3], input.shape[-2] // r, input.shape[-1] // r
    parts = input.reshape(_count(input), channels, height, r, width, r).permute(0, 1, 3, 5, 2, 4)
    return prims.reshape_copy(parts, (*input.shape[:-3], channels * r * r, height, width))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) dealt out from `groups` groups in turn."""
    if input.dim() < 3 or groups <= 0 or input.shape[1] % groups != 0:
        raise RuntimeError(
            f"[channel_shuffle] Number of channels must be divisible by groups {groups}; shape {tuple(input.shape)}"
        )
    parts = input.reshape(input.shape[0], groups, input.shape[1] // groups, *input.shape[2:])
    return prims.reshape_copy(parts.transpose(1, 2), input.shape)
