"""Handles of hooks that the engine knows by a number."""

from __future__ import annotations

import weakref
from itertools import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self


class NumberedHook:
    """remove() removes the hook; as a context manager it does so at the end of the block."""

    _ids = count()

    def __init__(self, owner: object, number: int, remove: Callable[[Any, int], None]) -> None:
        self.id = next(self._ids)
        self._owner = weakref.ref(owner)
        self._number = number
        self._remove = remove

    def remove(self) -> None:
        owner = self._owner()
        if owner is not None:
            self._remove(owner, self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        self.remove()
