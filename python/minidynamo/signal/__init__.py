"""The names of torch.signal: windows."""

from .._missing_names import explain_missing as _explain_missing
from . import windows

__all__ = ["windows"]

_explain_missing(__name__)
