"""The names of torch.nn.modules.normalization: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..normalization import (
    GroupNorm,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)

__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

_explain_missing(__name__)
