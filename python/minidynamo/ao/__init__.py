"""The names of torch.ao that models import: stubs of quantization, which is not done here."""

from .._missing_names import explain_missing as _explain_missing
from . import nn, quantization

__all__ = ["nn", "quantization"]

_explain_missing(__name__)
