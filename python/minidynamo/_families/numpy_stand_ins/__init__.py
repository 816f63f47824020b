"""Functions over our tensors that stand in for NumPy's, with NumPy's parameters."""

from . import (  # noqa: F401
    convolutions,
    copies,
    creation,
    differences,
    facts,
    grids,
    joins,
    padding,
    placing,
    products,
    rearranging,
    reductions,
    rounding,
    searching,
    selection,
    sorting,
    statistics,
    ufunc_methods,
    windows,
)
from .table import ATTRIBUTES, TABLE

__all__ = ["ATTRIBUTES", "TABLE"]
