"""The functions of torch.nn.functional: those in the op table, and those composed of them."""

import minidynamo

from ... import _C
from ..._composites import series
from ..._missing_names import explain_missing as _explain_missing
from ...overrides import handle_torch_function as handle_torch_function
from ...overrides import has_torch_function as has_torch_function
from ...overrides import has_torch_function_unary as has_torch_function_unary
from ...overrides import has_torch_function_variadic as has_torch_function_variadic
from . import (
    activation,
    attention,
    connectionist,
    convolution,
    grid,
    in_place,
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
    *(activation, attention, connectionist, convolution, grid, in_place, losses, margins, multi_head),
    *(normalization, padding, pooling, sampling, sparse, unpooling),
)
COMPOSITES = {name: getattr(module, name) for module in _MODULES for name in module.__all__}
globals().update(COMPOSITES)
pdist = series.pdist
_canonical_mask = multi_head._canonical_mask
_none_or_dtype = multi_head._none_or_dtype

# torch has these at the top, too; as ordinary attributes, which capture reads.
vars(minidynamo).update((name, globals()[name]) for name in minidynamo._FUNCTIONAL_NAMES)

__all__ = sorted([*_C._functional, *COMPOSITES])

_explain_missing(__name__)
