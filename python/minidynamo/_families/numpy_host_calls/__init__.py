"""Functions of NumPy that regions call as they are: results, exceptions and states are NumPy's."""

from . import functions  # noqa: F401
from .table import ROWS, start

__all__ = ["ROWS", "start"]
