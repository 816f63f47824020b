"""The name of torch.fx.graph_module that programs import."""

from .._missing_names import explain_missing as _explain_missing
from . import GraphModule

__all__ = ["GraphModule"]

_explain_missing(__name__)
