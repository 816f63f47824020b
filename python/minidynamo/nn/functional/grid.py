"""Images sampled at the places of a grid."""

from __future__ import annotations

import warnings
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from ..._composites.registry import prims, require_tensor, widened
from .cubic import cubic_weights

__all__ = ["affine_grid", "grid_sample"]

# In the order of torch's numbers for them.
MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def _places(place: Tensor, size: int, align_corners: bool) -> Tensor:
    """From [-1, 1] to pixels."""
    return ((place + 1) / 2) * (size - 1) if align_corners else ((place + 1) * size - 1) / 2


def _reflected(place: Tensor, low: int, high: int) -> Tensor:
    """low and high: twice the bounds."""
    if low == high:
        return minidynamo.zeros_like(place)
    least, span = low / 2, (high - low) / 2
    apart = (place - least).abs()
    rest = apart.fmod(span)
    flips = (apart / span).floor()
    return minidynamo.where(flips.fmod(2.0) == 0, rest + least, span - rest + least)


def _inside(place: Tensor, size: int, padding: str, align_corners: bool) -> Tensor:
    # NaN counts as outside, as in torch: at the first pixel once clamped.
    if padding == "border":
        return minidynamo.where(place.isnan(), 0.0, place.clamp(0, size - 1))
    if padding == "reflection":
        bounds = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        found = _reflected(place, *bounds).clamp(0, size - 1)
        return minidynamo.where(found.isnan(), 0.0, found)
    return place


def _pixels(input: Tensor, places: Any) -> Tensor:
    """(N, C, ...) of the pixels at whole places, one tensor (N, ...) for each dim of the image; 0 outside."""
    sizes = input.shape[2:]
    valid: Any = None
    flat: Any = 0
    for place, size in zip(places, sizes):
        fits = (place >= 0) & (place < size)
        valid = fits if valid is None else valid & fits
        flat = flat * size + minidynamo.where(fits, place, 0.0).to(minidynamo.int64)
    count, channels = input.shape[0], input.shape[1]
    cells = flat.reshape(count, 1, -1).expand(count, channels, -1)
    found = input.reshape(count, channels, -1).gather(2, cells).reshape(count, channels, *flat.shape[1:])
    return minidynamo.where(valid.unsqueeze(1), found, 0.0)


def _linear(input: Tensor, places: Any) -> Tensor:
    lows = [place.floor() for place in places]
    total: Any = None
    for corner in range(2 ** len(places)):
        at: list[Any] = []
        weight: Any = None
        for dim, (place, low) in enumerate(zip(places, lows)):
            up = corner >> (len(places) - 1 - dim) & 1
            at.append(low + up)
            part = place - low if up else low + 1 - place
            weight = part if weight is None else weight * part
        term = _pixels(input, at) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _cubic(input: Tensor, y: Tensor, x: Tensor, padding: str, align_corners: bool) -> Tensor:
    top, left = y.floor(), x.floor()
    rows, columns = cubic_weights(y - top), cubic_weights(x - left)
    total: Any = None
    for i in range(4):
        line: Any = None
        for j in range(4):
            row = _inside(top + (i - 1), input.shape[2], padding, align_corners)
            column = _inside(left + (j - 1), input.shape[3], padding, align_corners)
            term = _pixels(input, (row, column)) * columns[j].unsqueeze(1)
            line = term if line is None else line + term
        line = line * rows[i].unsqueeze(1)
        total = line if total is None else total + line
    return total


def _check_sizes(input: Tensor, grid: Tensor, mode: str) -> None:
    if input.dtype != grid.dtype:
        raise RuntimeError(
            "[grid_sample] grid_sampler(): expected input and grid to have same dtype, but input has"
            f" {input.dtype} and grid has {grid.dtype}"
        )
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            "[grid_sample] grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got"
            f" input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "[grid_sample] grid_sampler(): expected grid and input to have same batch size, but got input with sizes"
            f" {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"[grid_sample] grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got"
            f" grid with sizes {list(grid.shape)}"
        )
    for at in range(2, input.dim()):
        if input.shape[at] == 0:
            raise RuntimeError(
                "[grid_sample] grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes"
                f" {list(input.shape)} with dimension {at} being empty"
            )
    if input.dim() == 5 and mode == "bicubic":
        raise RuntimeError("[grid_sample] grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point():
        raise NotImplementedError(f'[grid_sample] "grid_sampler" not implemented for {input.dtype}')


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """(N, C, H_out, W_out) of an image (N, C, H, W) at the places of a grid (N, H_out, W_out, 2), (x, y) in [-1, 1];
    of a volume (N, C, D, H, W) with a grid (N, D_out, H_out, W_out, 3).

    mode           "bilinear", "nearest" or, for images, "bicubic"
    padding_mode   what lies outside: "zeros", "border", the nearest pixel, or "reflection"
    align_corners  whether -1 and 1 are the centres of the outermost pixels, or their edges (by default, with a warning)
    """
    if is_autocasting():
        return full_precision(grid_sample, input, grid, mode, padding_mode, align_corners)
    require_tensor("grid_sample", input)
    require_tensor("grid_sample", grid, "grid")
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got:"
            f" '{padding_mode}'"
        )
    if align_corners is None:
        _warn_of_corners("grid_sample")
        align_corners = False
    _check_sizes(input, grid, mode)
    if input.numel() == 0 or grid.numel() == 0:
        return input.new_zeros((*input.shape[:2], *grid.shape[1:-1]))
    wide_input, wide_grid = widened(input, grid)
    return sampled(wide_input, wide_grid, mode, padding_mode, align_corners).to(input.dtype)


def sampled(image: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    """grid_sample with checked arguments, no size 0 and one wide dtype."""
    if minidynamo.is_grad_enabled() and (image.requires_grad or grid.requires_grad):
        return _composed(image, grid, mode, padding, align_corners)
    return prims.grid_sample(image, grid, MODES.index(mode), PADDINGS.index(padding), align_corners)


def _composed(image: Tensor, grid: Tensor, mode: str, padding: str, align_corners: bool) -> Tensor:
    """By operations that have derivatives."""
    sizes = image.shape[2:]
    rank = len(sizes)
    # The grid names the last dim of the image first.
    places = [_places(grid[..., rank - 1 - at], sizes[at], align_corners) for at in range(rank)]
    if mode == "bicubic":
        return _cubic(image, places[0], places[1], padding, align_corners)
    places = [_inside(place, size, padding, align_corners) for place, size in zip(places, sizes)]
    if mode == "nearest":
        return _pixels(image, [place.round() for place in places])
    return _linear(image, places)


def _warn_of_corners(name: str) -> None:
    warnings.warn(
        f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please specify"
        f" align_corners=True if the old behavior is desired. See the documentation of {name} for details.",
        stacklevel=3,
    )


def _steps(size: int, align_corners: bool, theta: Tensor) -> Tensor:
    """The places of pixels in [-1, 1]."""
    if size <= 1:
        return theta.new_zeros((size,))
    steps = minidynamo.linspace(-1, 1, size, dtype=theta.dtype)
    return steps if align_corners else steps * ((size - 1) / size)


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid for grid_sample that affine maps give: theta (N, 2, 3) with size (N, C, H, W) gives (N, H, W, 2), and
    (N, 3, 4) with (N, C, D, H, W) gives (N, D, H, W, 3)."""
    require_tensor("affine_grid", theta, "theta")
    if align_corners is None:
        _warn_of_corners("affine_grid")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"[affine_grid] Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "[affine_grid] affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively."
            f" Got size {size}."
        )
    rank = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != rank or theta.shape[-1] != rank + 1:
        raise ValueError(
            f"[affine_grid] Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {size}."
            f" Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"[affine_grid] Expected non-zero, positive output size. Got {size}")
    axes = [_steps(each, align_corners, theta) for each in size[2:]]
    grids = list(minidynamo.meshgrid(*axes, indexing="ij"))[::-1]
    base = minidynamo.stack([*grids, minidynamo.ones_like(grids[0])], -1).reshape(1, -1, rank + 1)
    places = base.expand(size[0], -1, -1).bmm(theta.transpose(1, 2))
    return places.reshape(size[0], *size[2:], rank)
