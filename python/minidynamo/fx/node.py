"""The name of torch.fx.node that programs import."""

from .._missing_names import explain_missing as _explain_missing
from . import Node

__all__ = ["Node"]

_explain_missing(__name__)
