"""The functions of torch.nn.functional: those in the op table, and those composed of them."""

from ... import _C
from ..._composites import series
from . import (
    activation,
    attention,
    connectionist,
    convolution,
    grid,
    losses,
    margins,
    multi_head,
    normalization,
    padding,
    pooling,
    sampling,
    sparse,
    unpooling,
)

globals().update(_C._functional)

_MODULES = (
    *(activation, attention, connectionist, convolution, grid, losses, margins, multi_head, normalization, padding),
    *(pooling, sampling, sparse, unpooling),
)
COMPOSITES = {name: getattr(module, name) for module in _MODULES for name in module.__all__}
globals().update(COMPOSITES)
pdist = series.pdist

__all__ = sorted([*_C._functional, *COMPOSITES])
