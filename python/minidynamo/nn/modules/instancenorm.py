"""The names of torch.nn.modules.instancenorm: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..lazy import LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d
from ..module import Module as Module
from ..normalization import (
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from ..normalization import (
    _InstanceNorm as _InstanceNorm,
)
from ..normalization import (
    _NormBase as _NormBase,
)

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]

_explain_missing(__name__)
