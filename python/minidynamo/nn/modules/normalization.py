"""The names of torch.nn.modules.normalization: the classes of minidynamo.nn themselves."""

from ..module import Module as Module
from ..normalization import (
    GroupNorm,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
