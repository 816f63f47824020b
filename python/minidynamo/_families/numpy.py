"""NumPy: what its functions, methods and attributes mean, and a self-check of how its arrays are read."""

from __future__ import annotations

import operator
import sys

from .. import _C
from . import conversions, numpy_host_calls, numpy_rewrites, numpy_stand_ins, numpy_ufuncs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def load(numpy: Any) -> str | None:
    """Registers NumPy's types and functions. Returns why not, if this NumPy cannot be captured."""
    umath = sys.modules.get("numpy._core._multiarray_umath")
    if umath is None:
        return "NumPy 2.0 or newer is needed"
    if not _C._numpy.load(numpy, umath):
        return "it has the state of errstate elsewhere than expected"
    for array in _samples(numpy):
        if _C._numpy.facts(array) != _facts(array):
            return "its arrays are not laid out as expected"
    _C._numpy.start()
    numpy_ufuncs.register(numpy)
    numpy_stand_ins.ufunc_methods.find_ufuncs(numpy)
    for row in numpy_stand_ins.TABLE:
        row.register(numpy)
    for rewrite in numpy_rewrites.TABLE:
        rewrite.register()
    numpy_host_calls.functions.register()
    numpy_host_calls.start()
    for kind in (numpy.ndarray, numpy.generic):
        _C._numpy.add(kind.item, f"{kind.__name__}.item", "Element", method=True)
        _C._numpy.add(kind.tolist, f"{kind.__name__}.tolist", "Elements", method=True)
    for name in ("flat", "flags"):
        _C._numpy.add_part(name, type(getattr(numpy.zeros(1), name)), operator.attrgetter(name))
    for name, function in numpy_stand_ins.ATTRIBUTES.items():
        _C._numpy.add_attribute(name, function, takes_complex=True)
    conversions.register()
    return None


def _samples(numpy: Any) -> Iterator[Any]:
    for rank in range(9):
        yield numpy.zeros(tuple(range(2, 2 + min(rank, 4))) + (1,) * (rank - 4))
    whole = numpy.zeros((4, 6, 5))
    yield whole[1:, ::2, 3]
    yield whole.transpose(2, 0, 1)
    whole.flags.writeable = False
    yield whole
    for name in _C._dtypes:
        if name != "bfloat16":
            yield numpy.zeros(3, name)
            yield numpy.dtype(name).type(1)


def _facts(array: Any) -> tuple[Any, ...]:
    is_scalar = not hasattr(array, "ctypes")
    address = id(array) + object.__basicsize__ if is_scalar else array.ctypes.data
    writeable = not is_scalar and array.flags.writeable
    return str(array.dtype), array.shape, array.strides, address, writeable
