"""Elements changed one by one, by functions that are no ufuncs."""

from __future__ import annotations

import math

import minidynamo

from ..._C import Tensor
from .table import array_of, decline, require_within, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _floats(value: Any, name: str) -> Tensor:
    values = tensor(value, name)
    if values.dtype not in (minidynamo.float32, minidynamo.float64):
        decline(f"{name} of this dtype")
    return values


@stands_in("round around ndarray.round generic.round")
def round_to(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    values = _floats(a, "round")
    if out is not None or not isinstance(decimals, int):
        decline("round with out, or by such decimals")
    if decimals == 0:
        return values.round()
    if not values.is_contiguous():
        decline("round of an array in another order")
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return (values * scale).round() / scale
    return (values / scale).round() * scale


@stands_in("nan_to_num")
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    values = _floats(x, "nan_to_num")
    numbers = [number for number in (nan, posinf, neginf) if number is not None]
    if copy is not True or not all(isinstance(number, (int, float)) for number in numbers):
        decline("nan_to_num in place, or by arrays")
    for number in numbers:
        require_within(number, values.dtype, "nan_to_num")
    return minidynamo.nan_to_num(values, float(nan), posinf, neginf)


@stands_in("radians deg2rad")
def radians(x: Any, /) -> Any:
    return _floats(x, "radians") * (math.pi / 180)


@stands_in("degrees rad2deg")
def degrees(x: Any, /) -> Any:
    return _floats(x, "degrees") * (180 / math.pi)


@stands_in("fabs")
def fabs(x: Any, /) -> Any:
    return _floats(x, "fabs").abs()


@stands_in("positive", takes_complex=True)
def positive(x: Any, /) -> Any:
    values = tensor(x, "positive")
    if values.dtype is minidynamo.bool:
        decline("positive of bools")
    return values.clone()


@stands_in("sign")
def sign(x: Any, /) -> Any:
    values = tensor(x, "sign")
    if values.dtype is minidynamo.bool:
        decline("sign of bools")
    found = values.sign()
    return minidynamo.where(values.isnan(), values, found) if values.is_floating_point() else found


@stands_in("heaviside")
def heaviside(x1: Any, x2: Any, /) -> Any:
    values, at_zero = _floats(x1, "heaviside"), _floats(x2, "heaviside")
    if values.dtype is not at_zero.dtype:
        decline("heaviside of two dtypes")
    return minidynamo.where(values.isnan(), values, minidynamo.heaviside(values, at_zero))


@stands_in("tril", returns_arrays=True, takes_complex=True)
def tril(m: Any, k: Any = 0) -> Any:
    return _triangle(minidynamo.tril, m, k)


@stands_in("triu", returns_arrays=True, takes_complex=True)
def triu(m: Any, k: Any = 0) -> Any:
    return _triangle(minidynamo.triu, m, k)


def _triangle(function: Any, m: Any, k: Any) -> Any:
    values = array_of(m, "tril or triu")
    if values.dim() < 2 or not values.is_contiguous() or not isinstance(k, int):
        decline("a triangle of such an array")
    return function(values, k)
