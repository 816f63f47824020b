"""Operations made of rows of the op table: plain Python functions, which capture walks through like a program's own.

Each module holds the functions of one idea, minidynamo.linalg.composites those of linear algebra; `composite` enters
them in the table below. What `functions` holds is found under `minidynamo`, what `methods` holds under `Tensor`.
"""

from .registry import functions, methods  # isort: skip
from . import (  # noqa: F401
    comparisons,
    conversions,
    joining,
    pointwise,
    products,
    random,
    rearranging,
    searching,
    statistics,
)

__all__ = ["functions", "methods"]
