"""The names of torch.nn.modules.instancenorm: the classes of minidynamo.nn themselves."""

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

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
