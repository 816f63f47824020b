"""The threads of the BLAS in NumPy's wheel, which wait for each other in loops: of small matrices one is faster."""

from __future__ import annotations

import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_LEAST_SHARED = 512  # rows and columns of a matrix that is worth threads
_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


class OneThread:
    """A context in which that BLAS runs on one thread; without effect where it is not found."""

    def __init__(self, numpy: ModuleType, ctypes: ModuleType | None) -> None:
        self._lock = threading.Lock()
        self._inside, self._before = 0, 1
        found = _functions(numpy, ctypes) if ctypes else None
        self._get: Any = found and found[0]
        self._set: Any = found and found[1]

    def __enter__(self) -> None:
        if self._set is None:
            return
        with self._lock:
            if self._inside == 0:
                self._before = self._get()
                self._set(1)
            self._inside += 1

    def __exit__(self, *raised: Any) -> None:
        if self._set is None:
            return
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set(self._before)


def is_small(arrays: list[Any]) -> bool:
    """Whether one thread is faster, for these stacks of matrices."""
    return all(min(array.shape[-2:], default=0) < _LEAST_SHARED for array in arrays)


def _functions(numpy: ModuleType, ctypes: ModuleType) -> tuple[Any, Any] | None:
    folder = os.path.join(os.path.dirname(os.path.dirname(str(numpy.__file__))), "numpy.libs")
    if not os.path.isdir(folder):
        return None
    for file in os.listdir(folder):
        if "openblas" not in file:
            continue
        library = ctypes.CDLL(os.path.join(folder, file))
        for name in _NAMES:
            if hasattr(library, name.format("set")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None
