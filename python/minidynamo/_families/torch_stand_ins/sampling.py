"""Values of an image between its pixels, at the places of a grid."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

where = minidynamo.where


def _unnormalised(place: Tensor, size: int, align_corners: bool) -> Tensor:
    return ((place + 1) / 2) * (size - 1) if align_corners else ((place + 1) * size - 1) / 2


def _reflected(place: Tensor, low: int, high: int) -> Tensor:
    """low and high: twice the bounds."""
    if low == high:
        return minidynamo.zeros_like(place)
    least, span = low / 2, (high - low) / 2
    apart = (place - least).abs()
    rest = apart.fmod(span)
    flips = (apart / span).floor()
    return where(flips.fmod(2.0) == 0, rest + least, span - rest + least)


def _inside(place: Tensor, size: int, padding: int, align_corners: bool) -> Tensor:
    if padding == 1:
        return place.clamp(0, size - 1)
    if padding == 2:
        bounds = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        return _reflected(place, *bounds).clamp(0, size - 1)
    return place


def _pixels(input: Tensor, places: Any) -> Tensor:
    """(N, C, ...) of the pixels at whole places, one tensor (N, ...) for each dim of the image; 0 outside."""
    sizes = input.shape[2:]
    valid: Any = None
    flat: Any = 0
    for place, size in zip(places, sizes):
        fits = (place >= 0) & (place < size)
        valid = fits if valid is None else valid & fits
        whole = where(fits, place, 0.0).to(minidynamo.int64)
        flat = flat * size + whole
    count, channels = input.shape[0], input.shape[1]
    cells = flat.reshape(count, 1, -1).expand(count, channels, flat.numel() // count)
    found = input.reshape(count, channels, -1).gather(2, cells).reshape(count, channels, *flat.shape[1:])
    return where(valid.unsqueeze(1), found, 0.0)


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


def _cubic_weights(t: Tensor) -> Any:
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _cubic(input: Tensor, y: Tensor, x: Tensor, padding: int, align_corners: bool) -> Tensor:
    top, left = y.floor(), x.floor()
    rows, columns = _cubic_weights(y - top), _cubic_weights(x - left)
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


@stands_in("grid_sampler grid_sampler_2d grid_sampler_3d")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    rank = input.dim() - 2
    fits = rank in (2, 3) and grid.dim() == input.dim() and grid.shape[-1] == rank and grid.shape[0] == input.shape[0]
    wide = input.dtype == grid.dtype and input.is_floating_point() and input.dtype.itemsize > 2
    if not fits or not wide or input.numel() == 0 or grid.numel() == 0:
        decline("grid_sampler of other sizes or dtypes")
    sizes = input.shape[2:]
    # The grid names the last dim of the image first.
    places = [_unnormalised(grid[..., rank - 1 - at], sizes[at], align_corners) for at in range(rank)]
    if interpolation_mode == 2:
        if rank != 2:
            decline("bicubic volumes")
        return _cubic(input, places[0], places[1], padding_mode, align_corners)
    places = [_inside(place, size, padding_mode, align_corners) for place, size in zip(places, sizes)]
    if interpolation_mode == 1:
        return _pixels(input, [place.round() for place in places])
    return _linear(input, places)
