"""Writes to chosen elements."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..numbers import is_int, is_number
from .table import all_dims, array_of, decline, outermost_first, require, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_element(value: Any, dtype: Any, name: str) -> Tensor:
    """A number as an element of the dtype, where NumPy stores it without a word."""
    if dtype.is_complex and isinstance(value, complex):
        return minidynamo.zeros((), dtype=dtype).fill_(value)
    if not (
        is_number(value) if dtype.is_floating_point or dtype.is_complex else is_int(value) and dtype is minidynamo.int64
    ):
        decline(f"{name} of such a number")
    return minidynamo.full((), value, dtype=dtype)


@stands_in("put ndarray.put", takes_complex=True)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    target = array_of(a, "put")
    if mode != "raise" or not target.is_contiguous():
        decline("put in this mode, or into an array in another order")
    if isinstance(ind, (list, tuple)) and ind and all(isinstance(place, int) for place in ind):
        places = minidynamo.tensor(list(ind), dtype=minidynamo.int64)
    else:
        places = array_of(ind, "put").reshape(-1)
    if places.dtype is not minidynamo.int64:
        decline("put at such places")
    if isinstance(v, (list, tuple)):
        if not v:
            decline("put of nothing")
        v = minidynamo.stack([as_element(each, target.dtype, "put") for each in v])
    if isinstance(v, Tensor):
        if v.dtype is not target.dtype or v.numel() != places.numel():
            decline("put of such values")
        values = v.reshape(-1)
    else:
        values = as_element(v, target.dtype, "put")
    target.view(-1).index_put_([places], values)


@stands_in("putmask", takes_complex=True)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    target, chosen = array_of(a, "putmask"), array_of(mask, "putmask")
    if chosen.dtype is not minidynamo.bool or chosen.shape != target.shape:
        decline("putmask by such a mask")
    if isinstance(values, Tensor):
        if values.dtype is not target.dtype or values.shape != target.shape:
            decline("putmask of such values")
        new = values
    else:
        new = as_element(values, target.dtype, "putmask")
    target.copy_(minidynamo.where(chosen, new, target))


@stands_in("place", takes_complex=True)
def place(arr: Any, mask: Any, vals: Any) -> None:
    if isinstance(vals, (list, tuple)) and len(vals) == 1:
        vals = vals[0]
    if isinstance(vals, Tensor):
        decline("place of several values")
    putmask(arr, mask, vals)


@stands_in("fill_diagonal", takes_complex=True)
def fill_diagonal(a: Any, val: Any, wrap: Any = False) -> None:
    target = array_of(a, "fill_diagonal")
    if target.dim() != 2 or wrap is not False:
        decline("fill_diagonal of such an array")
    target.diagonal().copy_(as_element(val, target.dtype, "fill_diagonal"))


@stands_in("choose", returns_arrays=True, takes_complex=True)
def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    places = array_of(a, "choose")
    if out is not None or mode != "raise" or not isinstance(choices, (list, tuple)) or not 0 < len(choices) <= 8:
        decline("choose in this mode, or among these")
    values = [array_of(each, "choose") for each in choices]
    if places.dtype not in (minidynamo.int64, minidynamo.int32) or not places.is_contiguous():
        decline("choose by such places")
    if any(each.dtype is not values[0].dtype or each.shape != places.shape for each in values):
        decline("choose among such arrays")
    if any(outermost_first(each) != all_dims(each) for each in values):
        decline("choose among arrays in another order")
    require(((places >= 0) & (places < len(values))).all())
    found = values[-1].contiguous().clone()
    for number, each in enumerate(values[:-1]):
        found = minidynamo.where(places == number, each, found)
    return found
