"""Runs a function as plain Python and compiled, and holds that nobody can tell the two apart.

Compared are: the result, what became of the arguments and of the named globals, which of all these objects are the same
object, what was printed, the warnings and their lines, and the exception with its message, its chain and its traceback.
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
