"""Calls of ufuncs with more than operands and an array as `out`."""

from __future__ import annotations

from .table import asked, decline, numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBERS = {"bool": bool, "int": int, "float": float, "complex": complex}


@asked
def loop_dtype(ufunc: Any, at: int, dtype: Any, casting: str, *types: Any) -> Any:
    """That of an operand or of the result; NumPy raises where it has no such loop, or does not cast."""
    wanted = {} if dtype is None else {"signature": (*[None] * ufunc.nin, numpy.dtype(dtype))}
    known = tuple([_NUMBERS.get(each, each) if isinstance(each, str) else each for each in types])
    return ufunc.resolve_dtypes(known, casting=casting, **wanted)[at]


@asked
def operand_count(ufunc: Any) -> Any:
    return ufunc.nin


@asked
def may_have_ones(ufunc: Any) -> Any:
    """Whether operands may be 1 where the result does not count: no floating-point exception comes from there."""
    return ufunc is not numpy.arctanh and ufunc.signature is None


def _type_of(operand: Any) -> Any:
    if isinstance(operand, bool):
        return numpy.True_.dtype
    if isinstance(operand, int):
        return "int"
    if isinstance(operand, float):
        return "float"
    if isinstance(operand, complex):
        return "complex"
    if not isinstance(operand, (numpy.ndarray, numpy.generic)):
        decline("a ufunc of other than arrays and numbers")
    return operand.dtype


def _cast(operand: Any, dtype: Any) -> Any:
    if isinstance(operand, numpy.ndarray):
        return operand if operand.dtype == dtype else operand.astype(dtype)
    if isinstance(operand, numpy.generic) and operand.dtype != dtype:
        decline("a ufunc that casts a scalar")
    return operand


def _in_loop(ufunc: Any, operands: list[Any], dtype: Any, casting: str, out: Any) -> list[Any]:
    """The operands as the loop takes them, which NumPy then finds by itself."""
    types = [_type_of(each) for each in operands]
    result = None if out is None else out.dtype
    count = len(operands)
    found = [_cast(each, loop_dtype(ufunc, at, dtype, casting, *types, result)) for at, each in enumerate(operands)]
    types_now = [_type_of(each) for each in found]
    # The dtype of out plays no part in the choice of the loop.
    wanted = loop_dtype(ufunc, count, dtype, casting, *types, None)
    if loop_dtype(ufunc, count, None, "same_kind", *types_now, None) != wanted:
        decline("a ufunc in such a dtype")
    return found


def _where(operand: Any, where: Any) -> Any:
    """With 1 where the result is not wanted: no warning comes from there."""
    return numpy.where(where, operand, True) if isinstance(operand, numpy.ndarray) else operand


def call(
    ufunc: Any, /, *args: Any, out: Any = None, where: Any = True, casting: Any = "same_kind", order: Any = "K",
    dtype: Any = None, subok: Any = True, signature: Any = None,
) -> Any:  # fmt: skip
    if order != "K" or subok is not True or signature is not None or not isinstance(casting, str):
        decline("a ufunc with order, subok or signature")
    count = operand_count(ufunc)
    operands = list(args[:count])
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if len(args) > count:
        if out is not None or len(args) > count + 1:
            decline("a ufunc with too many arguments")
        out = args[count]
    if len(operands) != count or not (out is None or isinstance(out, numpy.ndarray)):
        decline("a ufunc with such arguments")
    if dtype is not None or casting != "same_kind" or out is not None:
        operands = _in_loop(ufunc, operands, dtype, casting, out)
    if where is True:
        return _stored(ufunc(*operands), out)
    if out is None or not may_have_ones(ufunc) or not isinstance(where, numpy.ndarray):
        decline("a ufunc with where and without out, or with such a mask")
    if where.dtype != numpy.True_.dtype:
        decline("a ufunc with such a mask")
    result = ufunc(*[_where(each, where) for each in operands])
    _require_room(result, out)
    if result.dtype != out.dtype:
        decline("a ufunc with where and an out of another dtype, whose elements NumPy casts, too")
    numpy.copyto(out, result, casting="unsafe", where=where)
    return out


def _stored(result: Any, out: Any) -> Any:
    if out is None:
        return result
    _require_room(result, out)
    out[...] = result
    return out


def _require_room(result: Any, out: Any) -> None:
    """NumPy repeats what is too small for out, but never drops an axis."""
    if result.ndim > out.ndim:
        decline("a ufunc with an out of less axes")
