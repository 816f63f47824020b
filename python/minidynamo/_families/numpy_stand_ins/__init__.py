"""Functions over our tensors that stand in for NumPy's, with NumPy's parameters."""

from . import (  # noqa: F401
    copies,
    creation,
    differences,
    facts,
    grids,
    joins,
    products,
    rearranging,
    reductions,
    rounding,
    selection,
    sorting,
    ufunc_methods,
)
from .table import ATTRIBUTES, TABLE

__all__ = ["ATTRIBUTES", "TABLE"]
