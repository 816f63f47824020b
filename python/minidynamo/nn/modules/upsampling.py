"""The names of torch.nn.modules.upsampling: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..shapes import (
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
