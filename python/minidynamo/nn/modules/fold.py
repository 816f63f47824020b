"""The names of torch.nn.modules.fold: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..shapes import (
    Fold,
    Unfold,
)

__all__ = ["Fold", "Unfold"]

_explain_missing(__name__)
