"""Functions that give one library's tensors to another, over the same memory."""

from __future__ import annotations

import sys

import minidynamo

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def register() -> None:
    """Tells of those between the libraries that are known by now."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is None:
        return
    _register(numpy, minidynamo, _C._numpy.add)
    if torch is not None and torch is not minidynamo:
        _register(numpy, torch, _C._torch.add)


def _register(numpy: Any, library: Any, add: Any) -> None:
    inward, outward = library.from_numpy, library.Tensor.numpy
    _C._numpy.add(inward, "from_numpy", "Converted")
    if library is not minidynamo:
        add(outward, "numpy", "Converted")
    _C._add_library_conversion(inward, numpy.ndarray, library.Tensor)
    _C._add_library_conversion(outward, library.Tensor, numpy.ndarray)
