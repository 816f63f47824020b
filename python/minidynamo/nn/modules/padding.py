"""The names of torch.nn.modules.padding: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..shapes import (
    CircularPad1d,
    CircularPad2d,
    CircularPad3d,
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad1d,
    ZeroPad2d,
    ZeroPad3d,
)
from ..shapes import (
    _CircularPadNd as _CircularPadNd,
)
from ..shapes import (
    _ConstantPadNd as _ConstantPadNd,
)
from ..shapes import (
    _ReflectionPadNd as _ReflectionPadNd,
)
from ..shapes import (
    _ReplicationPadNd as _ReplicationPadNd,
)

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_explain_missing(__name__)
