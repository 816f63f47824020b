"""The names of torch.nn.modules.channelshuffle: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..shapes import (
    ChannelShuffle,
)

__all__ = ["ChannelShuffle"]

_explain_missing(__name__)
