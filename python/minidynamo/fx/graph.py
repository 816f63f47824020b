"""The name of torch.fx.graph that programs import."""

from .._missing_names import explain_missing as _explain_missing
from . import Graph

__all__ = ["Graph"]

_explain_missing(__name__)
