"""Copies and conversions."""

from __future__ import annotations

import minidynamo

from ..._composites.registry import is_inexact
from .table import cast, decline, dtype_of, holds, may_store, repeats_nothing, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@stands_in("ndarray.copy", returns_arrays=True, takes_complex=True)
def copy_method(self: Any, order: Any = "C") -> Any:
    if order != "C":
        decline("copy in another order")
    return self.clone(memory_format=minidynamo.contiguous_format)


@stands_in("copy", returns_arrays=True, takes_complex=True)
def copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    values = tensor(a, "copy")
    if order != "K":
        decline("copy in another order")
    return repeats_nothing(values, "copy").clone()


@stands_in("generic.astype", takes_complex=True)
@stands_in("ndarray.astype", returns_arrays=True, takes_complex=True)
def astype(
    self: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Any:
    if order != "K" or casting not in ("unsafe", "same_kind") or not isinstance(copy, bool):
        decline("astype with order, casting or copy")
    wanted = dtype_of(dtype, takes_complex=True)
    if casting == "same_kind" and not may_store(self.dtype, wanted):
        decline("astype that NumPy refuses")
    return cast(repeats_nothing(self, "astype"), wanted, copy=copy)


@stands_in("ndarray.fill", takes_complex=True)
def fill(self: Any, value: Any, /) -> None:
    is_held = isinstance(value, (int, float)) and is_inexact(self)
    if not holds(self.dtype, value) and not is_held and not (isinstance(value, complex) and self.is_complex()):
        decline("fill by such a number")
    self.fill_(value)
