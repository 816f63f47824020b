"""Functions over our tensors that stand in for NumPy's, with NumPy's parameters."""

from __future__ import annotations

from . import copies, creation, products, reductions, rearranging, selection
from .table import ATTRIBUTES, TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["copies", "creation", "products", "reductions", "rearranging", "register", "selection"]


def register(numpy: Any) -> None:
    """Registers them for the functions and methods of this NumPy."""
    from ... import _C

    for row in TABLE:
        row.register(numpy)
    for name, function in ATTRIBUTES.items():
        _C._numpy.add_attribute(name, function)
