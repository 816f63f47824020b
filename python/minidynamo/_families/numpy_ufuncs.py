"""The rows of the op table that NumPy's ufuncs are."""

from __future__ import annotations

from .. import _C
from . import numpy_rewrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# By the name of the row: that of the ufunc.
UFUNCS = {
    **{"abs": "absolute", "acos": "arccos", "acosh": "arccosh", "add": "add", "asin": "arcsin", "asinh": "arcsinh"},
    **{"atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "bitwise_and": "bitwise_and"},
    **{"bitwise_left_shift": "left_shift", "bitwise_not": "invert", "bitwise_or": "bitwise_or"},
    **{"bitwise_right_shift": "right_shift", "bitwise_xor": "bitwise_xor", "ceil": "ceil", "copysign": "copysign"},
    **{
        "conj": "conjugate",
        "cos": "cos",
        "cosh": "cosh",
        "div": "divide",
        "eq": "equal",
        "exp": "exp",
        "exp2": "exp2",
        "expm1": "expm1",
    },
    **{"floor": "floor", "floor_divide": "floor_divide", "fmax": "fmax", "fmin": "fmin", "fmod": "fmod"},
    **{"ge": "greater_equal", "gt": "greater", "hypot": "hypot"},
    **{"isfinite": "isfinite", "isinf": "isinf"},
    **{"isnan": "isnan", "le": "less_equal", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2"},
    **{"logaddexp": "logaddexp", "logical_and": "logical_and", "logical_not": "logical_not"},
    **{"logical_or": "logical_or", "logical_xor": "logical_xor", "lt": "less"},
    **{"matmul": "matmul", "maximum": "maximum", "minimum": "minimum"},
    **{"mul": "multiply", "ne": "not_equal", "neg": "negative", "pow": "power"},
    **{"modulo": "remainder", "reciprocal": "reciprocal", "round": "rint", "signbit": "signbit"},
    **{"sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "sub": "subtract", "tan": "tan"},
    **{"tanh": "tanh", "trunc": "trunc"},
}

# What the kernels of integers and complex numbers do not do as NumPy does: csrc/frontends/numpy/promotion.h.
_EXACT_LOOPS = {"pow": "ByNumber", "reciprocal": "None"}


def register(numpy: Any) -> None:
    """Registers the ufuncs themselves as callables, and how their operands are promoted."""
    for row in _C._op_rows():
        name = UFUNCS.get(row["name"].split(".")[0])
        if name is not None:
            _C._numpy.add_ufunc(row["name"], getattr(numpy, name), _EXACT_LOOPS.get(row["name"].split(".")[0], "Same"))
    for row, name in UFUNCS.items():
        ufunc = getattr(numpy, name)
        _C._numpy.add(ufunc, name, "Op", row, elaborate=numpy_rewrites.ufunc_arguments.call)
