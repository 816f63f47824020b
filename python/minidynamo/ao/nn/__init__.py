"""Modules of quantized models."""

from ..._missing_names import explain_missing as _explain_missing
from . import quantized

__all__ = ["quantized"]

_explain_missing(__name__)
