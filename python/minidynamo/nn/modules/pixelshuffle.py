"""The names of torch.nn.modules.pixelshuffle: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..shapes import (
    PixelShuffle,
    PixelUnshuffle,
)

__all__ = ["PixelShuffle", "PixelUnshuffle"]
