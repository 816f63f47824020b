"""Functions over our tensors that stand in for torch's, by kind. TABLE has all, RESULTS the named tuples of results."""

from __future__ import annotations

from . import (  # noqa: F401
    copies,
    decompositions,
    forms,
    losses,
    norms,
    order,
    pointwise,
    pooling,
    sampling,
    series,
    special,
)
from .table import RESULTS, TABLE

__all__ = ["RESULTS", "TABLE"]
