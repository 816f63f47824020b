"""Operations composed of rows of the op table: Python functions, which capture traces like user code.

Each module holds the functions of one topic, minidynamo.linalg.composites those of linear algebra; `composite` enters
them in the table below. `functions` are exported by `minidynamo`, `methods` by `Tensor`.
"""

from .registry import functions, methods  # isort: skip
from . import (  # noqa: F401
    comparisons,
    complex_numbers,
    conversions,
    copies,
    exponentials,
    exponents,
    gamma_functions,
    joining,
    lazy_methods,
    older_methods,
    ordering,
    other_names,
    parts,
    pointwise,
    products,
    random,
    rearranging,
    resizing,
    scattering,
    searching,
    series,
    spacing,
    sparse,
    special_functions,
    statistics,
    whole_numbers,
)

__all__ = ["functions", "methods"]
