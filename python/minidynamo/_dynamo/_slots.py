"""What the methods of built-in types that Python makes of their slots (int.__add__, list.__setitem__) do.

Like the functions of _polyfills.py, these are inlined and access no globals.
"""

from __future__ import annotations

from . import _operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Slots = dict[str, Callable[..., Any]]

# Those that never decline an operand.
_WHOLE: _Slots = {
    **_operators.WHOLE,
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
}

_ARITHMETIC: _Slots = {
    **_operators.ARITHMETIC,
    "__divmod__": lambda a, b, /, *, _divmod=divmod: _divmod(a, b),
}


def _reflected(name: str) -> str:
    return "__r" + name.removeprefix("__")


def register(register_slot: Callable[[str, str, Callable[..., Any]], object]) -> None:
    """Registers each name with its form.

    By the form slot_calls.cpp tells whether it may decline an operand, and whether it takes the operands in reverse.
    """
    forms = {
        "whole": _WHOLE,
        "comparison": _operators.COMPARISONS,
        "arithmetic": {**_ARITHMETIC, **_operators.IN_PLACE},
        "reflected": {_reflected(name): function for name, function in _ARITHMETIC.items()},
    }
    for form, slots in forms.items():
        for name, function in slots.items():
            register_slot(name, form, function)
