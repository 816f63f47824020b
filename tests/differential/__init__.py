"""Runs a function eagerly and compiled, and asserts that the two cannot be distinguished.

It compares the result, the arguments and the named globals afterwards, which of all these objects are the same object, the
printed output, the warnings and their lines, and the exception with its message, its chain and its traceback.
"""

from .checking import Report, assert_same, check, count_engine
from .comparing import differences
from .observing import Outcome, observe
from .snippets import Snippet, snippet, snippets, whole, whole_on_311

__all__ = [
    "Outcome",
    "Report",
    "Snippet",
    "assert_same",
    "check",
    "count_engine",
    "differences",
    "observe",
    "snippet",
    "snippets",
    "whole",
    "whole_on_311",
]
