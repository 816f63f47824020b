"""The table of functions over NumPy's own callables, loaded where NumPy is."""

from __future__ import annotations

import sys

from ... import _C
from ..decline import decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ["TABLE", "asked", "decline", "numpy", "rewrites"]

if "numpy" not in sys.modules:
    raise ImportError(
        "imported by itself: this module stands on NumPy, which the program has not imported", name="numpy"
    )
numpy: Any = sys.modules["numpy"]


# The classes of `flat` and `flags`: ours are called with the array.
_PARTS = ("flatiter.", "_core.multiarray.flagsobj.")


class Rewrite:
    """A function of ours over NumPy's in the place of NumPy's at `path`; a kind of tensor_callables.def."""

    def __init__(self, path: str, function: Callable[..., Any] | None, kind: str) -> None:
        self.path, self.function, self.kind = path, function, kind

    def register(self) -> None:
        """Adds it, if this NumPy has the place."""
        value = numpy
        for part in self.path.split("."):
            value = getattr(value, part, None)
        if value is not None:
            is_of_part = self.path.startswith(_PARTS)
            _C._numpy.add(value, self.path, self.kind, self.function, of_part=is_of_part)


TABLE: list[Rewrite] = []


def rewrites(paths: str) -> Callable[[_Function], _Function]:
    def enter(function: _Function) -> _Function:
        TABLE.extend(Rewrite(path, function, "Rewritten") for path in paths.split())
        return function

    return enter


def asked(function: _Function) -> _Function:
    """A function of constants, which is called while a region is captured."""
    _C._numpy.add(function, function.__name__, "Asked")
    return function
