"""Comparisons for tests, with torch's texts."""

from .._missing_names import explain_missing as _explain_missing
from .comparison import assert_close

__all__ = ["assert_close"]

_explain_missing(__name__)
