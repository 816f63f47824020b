"""Functions of NumPy written anew over NumPy's own: each step promotes, lays out and warns as NumPy's does."""

from . import comparisons, conversions, flags, flat, outer, subscripts, ufunc_arguments  # noqa: F401
from .table import TABLE

__all__ = ["TABLE"]
