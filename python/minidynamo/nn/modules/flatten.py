"""The names of torch.nn.modules.flatten: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..shapes import (
    Flatten,
    Unflatten,
)

__all__ = ["Flatten", "Unflatten"]

_explain_missing(__name__)
