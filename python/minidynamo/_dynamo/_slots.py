"""What the methods of built-in types that Python makes of their slots (int.__add__, list.__setitem__) do, as operators.

Like the functions of _polyfills.py, these are inlined and access no globals.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Slots = dict[str, Callable[..., Any]]


def _set_item(a: Any, b: Any, c: Any, /) -> None:
    a[b] = c


def _delete_item(a: Any, b: Any, /) -> None:
    del a[b]


def _call(self: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return self(*args, **kwargs)


# Those that never decline an operand.
_WHOLE: _Slots = {
    "__len__": lambda a, /, *, _len=len: _len(a),
    "__iter__": lambda a, /, *, _iter=iter: _iter(a),
    "__next__": lambda a, /, *, _next=next: _next(a),
    "__repr__": lambda a, /, *, _repr=repr: _repr(a),
    "__str__": lambda a, /, *, _str=str: _str(a),
    "__hash__": lambda a, /, *, _hash=hash: _hash(a),
    "__bool__": lambda a, /, *, _bool=bool: _bool(a),
    "__int__": lambda a, /, *, _int=int: _int(a),
    "__index__": lambda a, /, *, _int=int: _int(a),
    "__float__": lambda a, /, *, _float=float: _float(a),
    "__abs__": lambda a, /, *, _abs=abs: _abs(a),
    "__neg__": lambda a, /: -a,
    "__pos__": lambda a, /: +a,
    "__invert__": lambda a, /: ~a,
    "__getitem__": lambda a, b, /: a[b],
    "__setitem__": _set_item,
    "__delitem__": _delete_item,
    "__contains__": lambda a, b, /: b in a,
    "__call__": _call,
}

_COMPARISONS: _Slots = {
    "__eq__": lambda a, b, /: a == b,
    "__ne__": lambda a, b, /: a != b,
    "__lt__": lambda a, b, /: a < b,
    "__le__": lambda a, b, /: a <= b,
    "__gt__": lambda a, b, /: a > b,
    "__ge__": lambda a, b, /: a >= b,
}

_ARITHMETIC: _Slots = {
    "__add__": lambda a, b, /: a + b,
    "__sub__": lambda a, b, /: a - b,
    "__mul__": lambda a, b, /: a * b,
    "__matmul__": lambda a, b, /: a @ b,
    "__truediv__": lambda a, b, /: a / b,
    "__floordiv__": lambda a, b, /: a // b,
    "__mod__": lambda a, b, /: a % b,
    "__divmod__": lambda a, b, /, *, _divmod=divmod: _divmod(a, b),
    "__pow__": lambda a, b, /: a**b,
    "__lshift__": lambda a, b, /: a << b,
    "__rshift__": lambda a, b, /: a >> b,
    "__and__": lambda a, b, /: a & b,
    "__or__": lambda a, b, /: a | b,
    "__xor__": lambda a, b, /: a ^ b,
    "__radd__": lambda a, b, /: b + a,
    "__rsub__": lambda a, b, /: b - a,
    "__rmul__": lambda a, b, /: b * a,
    "__rmatmul__": lambda a, b, /: b @ a,
    "__rtruediv__": lambda a, b, /: b / a,
    "__rfloordiv__": lambda a, b, /: b // a,
    "__rmod__": lambda a, b, /: b % a,
    "__rdivmod__": lambda a, b, /, *, _divmod=divmod: _divmod(b, a),
    "__rpow__": lambda a, b, /: b**a,
    "__rlshift__": lambda a, b, /: b << a,
    "__rrshift__": lambda a, b, /: b >> a,
    "__rand__": lambda a, b, /: b & a,
    "__ror__": lambda a, b, /: b | a,
    "__rxor__": lambda a, b, /: b ^ a,
}


def _in_place() -> _Slots:
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


def register(register_slot: Callable[[str, str, Callable[..., Any]], object]) -> None:
    """Registers each name with its form, by which slot_calls.cpp tells whether it may decline an operand."""
    forms = {"whole": _WHOLE, "comparison": _COMPARISONS, "arithmetic": {**_ARITHMETIC, **_in_place()}}
    for form, slots in forms.items():
        for name, function in slots.items():
            register_slot(name, form, function)
