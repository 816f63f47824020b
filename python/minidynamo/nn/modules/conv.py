"""The names of torch.nn.modules.conv: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from ..convolution import (
    _ConvNd as _ConvNd,
)
from ..convolution import (
    _ConvTransposeNd as _ConvTransposeNd,
)
from ..lazy import LazyConv1d, LazyConv2d, LazyConv3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d
from ..module import Module as Module

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_explain_missing(__name__)
