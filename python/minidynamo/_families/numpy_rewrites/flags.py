"""What `flags` of an array says: how its elements lie, and whether they may be written."""

from __future__ import annotations

from ... import _C
from .table import decline, rewrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _lie_in_order(array: Any, sizes: Any, strides: Any) -> bool:
    """Whether elements follow one another, where the last of these axes is the innermost one."""
    step = array.itemsize
    if array.size == 0:
        return True
    for size, stride in zip(sizes[::-1], strides[::-1]):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def _c_contiguous(array: Any, /) -> bool:
    return _lie_in_order(array, array.shape, array.strides)


def _f_contiguous(array: Any, /) -> bool:
    return _lie_in_order(array, array.shape[::-1], array.strides[::-1])


def _either(array: Any, /) -> bool:
    return _c_contiguous(array) or _f_contiguous(array)


def _fortran_alone(array: Any, /) -> bool:
    return _f_contiguous(array) and not _c_contiguous(array)


def _may_be_written(array: Any, /) -> bool:
    """Answered where the trace knows the array."""
    raise NotImplementedError


_C._numpy.add(_may_be_written, "flags.writeable", "Writable")


def _writeable(array: Any, /) -> bool:
    return _may_be_written(array)


def _aligned(array: Any, /) -> bool:
    """Others are not captured."""
    return True


# Fields of the object, which has them as items too. What else there is depends on who owns the memory.
_FIELDS = {
    **{"c_contiguous": _c_contiguous, "contiguous": _c_contiguous, "f_contiguous": _f_contiguous},
    **{"fortran": _f_contiguous, "forc": _either, "fnc": _fortran_alone, "aligned": _aligned, "writeable": _writeable},
}
_ITEMS = {name.upper(): function for name, function in _FIELDS.items()}
_ITEMS |= {"C": _c_contiguous, "F": _f_contiguous, "A": _aligned, "W": _writeable}

for _name, _function in _FIELDS.items():
    rewrites(f"_core.multiarray.flagsobj.{_name}")(_function)


@rewrites("_core.multiarray.flagsobj.__getitem__")
def item(array: Any, key: Any, /) -> bool:
    if not isinstance(key, str) or key not in _ITEMS:
        decline("such a flag of an array")
    return _ITEMS[key](array)
