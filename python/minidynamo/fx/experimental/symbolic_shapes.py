"""Questions about sizes: in minidynamo a size is an int in eager code, and compiled code guards on what is decided."""

from __future__ import annotations

from typing import Any

from ..._missing_names import explain_missing as _explain_missing

__all__ = [
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "is_concrete_int",
    "statically_known_false",
    "statically_known_true",
]


def guard_int(a: Any) -> int:
    """The number itself."""
    return int(a)


def guard_float(a: Any) -> float:
    """The number itself."""
    return float(a)


def guard_bool(a: Any) -> bool:
    """The truth of it."""
    return bool(a)


def guard_size_oblivious(expr: Any) -> bool:
    """The truth of it."""
    return bool(expr)


def guard_or_false(a: Any) -> bool:
    """The truth of it."""
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """The truth of it."""
    return bool(a)


def statically_known_true(x: Any) -> bool:
    """The truth of it."""
    return bool(x)


def statically_known_false(x: Any) -> bool:
    """Whether it is false."""
    return not x


def has_free_symbols(val: Any) -> bool:
    """False: numbers are known in eager code."""
    return False


def is_concrete_int(a: Any) -> bool:
    """Whether it is an int."""
    return isinstance(a, int)


_explain_missing(__name__)
