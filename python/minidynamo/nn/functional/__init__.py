"""The functions of torch.nn.functional: those in the op table, and those composed of them."""

from ... import _C
from ..._missing_names import explain_missing as _explain_missing
from . import activation, attention, convolution, losses, normalization, padding, pooling, sampling, sparse

globals().update(_C._functional)

_MODULES = (activation, attention, convolution, losses, normalization, padding, pooling, sampling, sparse)
COMPOSITES = {name: getattr(module, name) for module in _MODULES for name in module.__all__}
globals().update(COMPOSITES)

__all__ = sorted([*_C._functional, *COMPOSITES])

_explain_missing(__name__)
