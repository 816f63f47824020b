"""ops.aten: torch's operators by name, which are the functions and methods of minidynamo.

ops.aten.add and its overloads, ops.aten.add.Tensor, are one function here: its arguments say which overload is meant.
"""

from __future__ import annotations

from typing import Any

import minidynamo

from .._missing_names import explain_missing as _explain_missing


class AtenOverload:
    """One of an operator's forms; called, it is the operator."""

    def __init__(self, operator: AtenOperator, name: str) -> None:
        self.overloadpacket = operator
        self._overloadname = name
        self.__name__ = f"{operator.__name__}.{name}"
        self._function = operator._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def name(self) -> str:
        """aten::add.Tensor"""
        last = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"aten::{self.overloadpacket.__name__}{last}"

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"


class AtenOperator:
    """A function by torch's name; attributes are its overloads."""

    def __init__(self, name: str, function: Any) -> None:
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> AtenOverload:
        if name.startswith("_"):
            raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{name}'")
        found = self.__dict__[name] = AtenOverload(self, name)
        return found

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


class AtenOperators:
    """The namespace. AttributeError for an operator that is neither a function nor a method here."""

    _name = "aten"

    def __getattr__(self, name: str) -> AtenOperator:
        function = _function_of(name)
        if function is None:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        found = self.__dict__[name] = AtenOperator(name, function)
        return found


def _to_copy(input: Any, *, dtype: Any = None, non_blocking: bool = False, memory_format: Any = None, **_: Any) -> Any:
    return input.to(input.dtype if dtype is None else dtype, copy=True)


def _slice(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return input[(*[slice(None)] * (dim % input.dim()), slice(start, end, step))]


def _index(input: Any, indices: Any) -> Any:
    return input[tuple([slice(None) if each is None else each for each in indices])]


def _alias(input: Any) -> Any:
    return input.view(input.shape)


def _pin_memory(input: Any, device: Any = None) -> Any:
    return input.pin_memory(device)


def _sparse_addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    return minidynamo.sparse.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def _sparse_mm_reduce_impl(input: Any, other: Any, reduce: str) -> Any:
    raise NotImplementedError(f"sparse.mm: minidynamo has no reduce={reduce!r}")


# Operators that are spelled as syntax, or have no name of their own.
_OTHERS = {
    "_pin_memory": _pin_memory,
    "_sparse_addmm": _sparse_addmm,
    "_sparse_mm_reduce_impl": _sparse_mm_reduce_impl,
    "_to_copy": _to_copy,
    "alias": _alias,
    "index": _index,
    "slice": _slice,
}


def _function_of(name: str) -> Any:
    if name in _OTHERS:
        return _OTHERS[name]
    # Methods first: torch's operators take what its methods take, and self as the first argument.
    for place in (minidynamo.Tensor, minidynamo, minidynamo.nn.functional):
        found = vars(place).get(name)
        if callable(found) and not isinstance(found, type) and not name.startswith("__"):
            return found
    return None


_explain_missing(__name__)
