"""save() and load(), and which classes and functions load() may use where a checkpoint names them."""

from __future__ import annotations

from ._missing_names import explain_missing as _explain_missing
from ._serialization.allowed_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._serialization.saving import load, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_explain_missing(__name__)
