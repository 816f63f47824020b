"""Handles of hooks that are kept in tables."""

from __future__ import annotations

from itertools import count

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """remove() removes a hook; as a context manager it does so at the end of the block."""

    _ids = count()

    def __init__(self, *tables: dict[int, Any]) -> None:
        self.id = next(self._ids)
        self._tables = tables

    def remove(self) -> None:
        for table in self._tables:
            table.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        self.remove()


def add_hook(table: dict[int, Any], hook: Any, *marks: dict[int, Any], prepend: bool = False) -> RemovableHandle:
    """Enters a hook in a table, last or first, and its number in each table of marks."""
    handle = RemovableHandle(table, *marks)
    earlier = dict(table) if prepend else {}
    if prepend:
        table.clear()
    table[handle.id] = hook
    table.update(earlier)
    for mark in marks:
        mark[handle.id] = True
    return handle


_explain_missing(__name__)
