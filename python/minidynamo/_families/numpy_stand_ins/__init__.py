"""Functions over our tensors that stand in for NumPy's, with NumPy's parameters."""

from . import copies, creation, products, rearranging, reductions, selection  # noqa: F401
from .table import ATTRIBUTES, TABLE

__all__ = ["ATTRIBUTES", "TABLE"]
