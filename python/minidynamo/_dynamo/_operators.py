"""What operators, and the statements that the operator module has functions for, do: by the names of special methods.

Like the functions of _polyfills.py, these are inlined and access no globals.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Operators = dict[str, Callable[..., Any]]


def _setitem(a: Any, b: Any, c: Any, /) -> None:
    a[b] = c


def _delitem(a: Any, b: Any, /) -> None:
    del a[b]


def _call(self: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return self(*args, **kwargs)


# Those that Python asks of one operand alone.
WHOLE: _Operators = {
    "__neg__": lambda a, /: -a,
    "__pos__": lambda a, /: +a,
    "__invert__": lambda a, /: ~a,
    "__getitem__": lambda a, b, /: a[b],
    "__setitem__": _setitem,
    "__delitem__": _delitem,
    "__contains__": lambda a, b, /: b in a,
    "__call__": _call,
}

COMPARISONS: _Operators = {
    "__eq__": lambda a, b, /: a == b,
    "__ne__": lambda a, b, /: a != b,
    "__lt__": lambda a, b, /: a < b,
    "__le__": lambda a, b, /: a <= b,
    "__gt__": lambda a, b, /: a > b,
    "__ge__": lambda a, b, /: a >= b,
}

ARITHMETIC: _Operators = {
    "__add__": lambda a, b, /: a + b,
    "__sub__": lambda a, b, /: a - b,
    "__mul__": lambda a, b, /: a * b,
    "__matmul__": lambda a, b, /: a @ b,
    "__truediv__": lambda a, b, /: a / b,
    "__floordiv__": lambda a, b, /: a // b,
    "__mod__": lambda a, b, /: a % b,
    "__pow__": lambda a, b, /: a**b,
    "__lshift__": lambda a, b, /: a << b,
    "__rshift__": lambda a, b, /: a >> b,
    "__and__": lambda a, b, /: a & b,
    "__or__": lambda a, b, /: a | b,
    "__xor__": lambda a, b, /: a ^ b,
}


def _in_place() -> _Operators:
    def iadd(a: Any, b: Any, /) -> Any:
        a += b
        return a

    def isub(a: Any, b: Any, /) -> Any:
        a -= b
        return a

    def imul(a: Any, b: Any, /) -> Any:
        a *= b
        return a

    def imatmul(a: Any, b: Any, /) -> Any:
        a @= b
        return a

    def itruediv(a: Any, b: Any, /) -> Any:
        a /= b
        return a

    def ifloordiv(a: Any, b: Any, /) -> Any:
        a //= b
        return a

    def imod(a: Any, b: Any, /) -> Any:
        a %= b
        return a

    def ipow(a: Any, b: Any, /) -> Any:
        a **= b
        return a

    def ilshift(a: Any, b: Any, /) -> Any:
        a <<= b
        return a

    def irshift(a: Any, b: Any, /) -> Any:
        a >>= b
        return a

    def iand(a: Any, b: Any, /) -> Any:
        a &= b
        return a

    def ior(a: Any, b: Any, /) -> Any:
        a |= b
        return a

    def ixor(a: Any, b: Any, /) -> Any:
        a ^= b
        return a

    arithmetic = iadd, isub, imul, imatmul, itruediv, ifloordiv, imod, ipow, ilshift, irshift, iand, ior, ixor
    return {f"__{function.__name__}__": function for function in arithmetic}


IN_PLACE: _Operators = _in_place()
