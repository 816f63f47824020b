"""The names of torch.nn.modules.channelshuffle: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..shapes import (
    ChannelShuffle,
)

__all__ = ["ChannelShuffle"]
