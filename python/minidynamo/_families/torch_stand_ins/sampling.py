"""Values of an image between its pixels, at the places of a grid."""

from __future__ import annotations

from ..._C import Tensor
from ...nn.functional.grid import MODES, PADDINGS, sampled
from .table import decline, stands_in


@stands_in("grid_sampler grid_sampler_2d grid_sampler_3d")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    rank = input.dim() - 2
    fits = rank in (2, 3) and grid.dim() == input.dim() and grid.shape[-1] == rank and grid.shape[0] == input.shape[0]
    wide = input.dtype == grid.dtype and input.is_floating_point() and input.dtype.itemsize > 2
    if not fits or not wide or input.numel() == 0 or grid.numel() == 0:
        decline("grid_sampler of other sizes or dtypes")
    if interpolation_mode == 2 and rank != 2:
        decline("bicubic volumes")
    return sampled(input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)
