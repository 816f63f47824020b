"""Checks of numbers, which stay in the graph if the number is read from a tensor."""

from __future__ import annotations

from collections.abc import Callable

from .._C import _holds


def _check(cond: bool, message: Callable[[], object] | None = None) -> None:
    """Raises RuntimeError, with the text returned by `message`, if `cond` is False."""
    if not _holds(cond):
        raise RuntimeError("Expected cond to be True, but got False." if message is None else str(message()))


def _check_is_size(i: int, message: Callable[[], object] | None = None, *, max: int | None = None) -> None:
    """Raises RuntimeError if `i` is negative, or above `max` if that is not None."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)
