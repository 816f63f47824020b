"""record, which training scripts decorate their main function with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...._missing_names import explain_missing as _explain_missing

__all__ = ["ChildFailedError", "record"]

_F = TypeVar("_F", bound=Callable[..., Any])


class ChildFailedError(Exception):
    """For except clauses: there are no child processes."""


def record(fn: _F, error_handler: Any = None) -> _F:
    """The function: its exceptions are reported to no launcher."""
    return fn


_explain_missing(__name__)
