"""Computations on numbers without a branch on their values, so that sizes that depend on data stay in the graph."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def sym_not(a: Any) -> bool:
    """not a."""
    return not a


def sym_float(a: Any) -> float:
    """float(a)."""
    return float(a)


def sym_int(a: Any) -> int:
    """int(a): a without its fraction."""
    return int(a)


def _require_numbers(a: Any, b: Any) -> None:
    for number in (a, b):
        if not isinstance(number, (int, float)):
            raise AssertionError(f"expected {(int, float)}, got {type(number)}")


def sym_max(a: Any, b: Any) -> Any:
    """The larger one of two numbers, a float if one of them is."""
    _require_numbers(a, b)
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller one of two numbers, a float if one of them is."""
    _require_numbers(a, b)
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_sum(*args: Any) -> Any:
    """The sum of numbers: sym_sum(a, b), or sym_sum([a, b])."""
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    for number in args:
        if not isinstance(number, int):
            return sum(args)
    total = 0
    for number in args:
        total = total + number
    return total


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """t if b else f, which have one type; of integers without a branch."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    if type(t) is int:
        return f + (t - f) * int(b)
    return t if b else f


class SymInt:
    """torch's class of symbolic sizes, for isinstance: sizes are ints here, in captured code too."""

    def __new__(cls, *args: object) -> SymInt:
        raise TypeError(f"{cls.__name__} has no objects: minidynamo's sizes and numbers are Python's")


class SymFloat(SymInt):
    """The same of floats."""


class SymBool(SymInt):
    """The same of bools."""
