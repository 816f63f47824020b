"""Questions about dtypes, which NumPy answers during the trace, and functions whose bodies in NumPy can be followed."""

from __future__ import annotations

import math

from .table import TABLE, Rewrite, decline, numpy, rewrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ASKED = ("issubdtype", "dtype", "can_cast", "promote_types", "_core.numerictypes.obj2sctype")
_FOLLOWED = ("fix", "logspace", "polyval", "resize", "isposinf", "isneginf", "piecewise", "union1d")
TABLE.extend(Rewrite(path, None, "Asked") for path in _ASKED)
TABLE.extend(Rewrite(path, getattr(numpy, path)._implementation, "Rewritten") for path in _FOLLOWED)


@rewrites("divmod")
def divmod_of(x1: Any, x2: Any, /, *out: Any, **options: Any) -> Any:
    if out or options:
        decline("divmod with more than operands")
    return numpy.floor_divide(x1, x2), numpy.remainder(x1, x2)


@rewrites("float_power")
def float_power(x1: Any, x2: Any, /, *out: Any, **options: Any) -> Any:
    if out or options:
        decline("float_power with more than operands")
    if not isinstance(x1, numpy.ndarray) or x1.dtype.kind not in "iuf" or isinstance(x2, (bool, numpy.generic)):
        decline("float_power of such operands")
    power = x2.astype(numpy.float64) if isinstance(x2, numpy.ndarray) else float(x2)
    return numpy.power(x1.astype(numpy.float64), power)


@rewrites("sinc")
def sinc(x: Any) -> Any:
    if not isinstance(x, numpy.ndarray) or x.dtype.kind != "f" or x.itemsize < 4:
        decline("sinc of such an array")
    # What is so near to zero has 1 as its result.
    angle = math.pi * numpy.where(x == 0, 1.0e-20, x)
    return numpy.sin(angle) / angle
