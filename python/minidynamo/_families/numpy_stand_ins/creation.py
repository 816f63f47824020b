"""New arrays."""

from __future__ import annotations

import math

import minidynamo

from ..numbers import is_int, is_number
from .table import MOST_DIMS, decline, dtype_of, holds, stands_in, tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _require_plain(name: str, order: Any, device: Any, like: Any) -> None:
    if order not in ("C", "F") or device is not None or like is not None:
        decline(f"{name} with order, device or like")


def _in_order(function: Any, sizes: tuple[Any, ...], order: Any, *args: Any, **options: Any) -> Any:
    """The function of sizes, in C's or in Fortran's order."""
    if order == "C" or len(sizes) < 2:
        return function(sizes, *args, **options)
    dims = list(range(len(sizes)))[::-1]
    return function(sizes[::-1], *args, **options).permute(dims)


def _sizes(shape: Any) -> Any:
    sizes = (shape,) if isinstance(shape, int) else shape
    if not isinstance(sizes, (tuple, list)) or len(sizes) > MOST_DIMS:
        decline("a shape")
    return tuple(sizes)


# What is not written of an empty array may be anything: zeros are as good.
@stands_in("zeros empty", returns_arrays=True, takes_complex=True)
def zeros(shape: Any, dtype: Any = float, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    _require_plain("zeros", order, device, like)
    return _in_order(minidynamo.zeros, _sizes(shape), order, dtype=_dtype(dtype))


@stands_in("ones", returns_arrays=True, takes_complex=True)
def ones(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
    _require_plain("ones", order, device, like)
    return _in_order(minidynamo.ones, _sizes(shape), order, dtype=_dtype(dtype))


def _dtype(dtype: Any) -> Any:
    return minidynamo.float64 if dtype is None or dtype is float else dtype_of(dtype, takes_complex=True)


@stands_in("full", returns_arrays=True, takes_complex=True)
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    _require_plain("full", order, device, like)
    if isinstance(fill_value, complex):
        return _full_of_complex(shape, fill_value, dtype, order)
    if not isinstance(fill_value, (bool, int, float)):
        decline("full of no number")
    if dtype is None:
        dtype = (
            minidynamo.bool
            if isinstance(fill_value, bool)
            else minidynamo.int64
            if isinstance(fill_value, int)
            else minidynamo.float64
        )
    wanted = dtype_of(dtype, takes_complex=True)
    is_bool = wanted is minidynamo.bool and isinstance(fill_value, bool)
    if not wanted.is_floating_point and not wanted.is_complex and not is_bool and not holds(wanted, fill_value):
        decline("full of a dtype of other numbers")
    return _in_order(minidynamo.full, _sizes(shape), order, fill_value, dtype=wanted)


def _full_of_complex(shape: Any, value: complex, dtype: Any, order: Any) -> Any:
    wanted = minidynamo.complex128 if dtype is None else dtype_of(dtype, takes_complex=True)
    if not wanted.is_complex:
        decline("a complex number in a dtype of real ones")
    return _in_order(minidynamo.zeros, _sizes(shape), order, dtype=wanted).fill_(value)


@stands_in("full_like", returns_arrays=True, takes_complex=True)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    model, wanted = _like("full_like", a, dtype, order, subok, shape, device)
    return full(model.shape, fill_value, wanted)


def _like(name: str, a: Any, dtype: Any, order: Any, subok: Any, shape: Any, device: Any) -> Any:
    """The model and the dtype."""
    if order not in ("K", "C") or shape is not None or device is not None:
        decline(f"{name} with order, shape or device")
    model = tensor(a, name)
    if not model.is_contiguous():
        decline(f"{name} of an array that is not contiguous")
    return model, model.dtype if dtype is None else dtype_of(dtype, takes_complex=True)


@stands_in("zeros_like", returns_arrays=True, takes_complex=True)
def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
) -> Any:
    model, dtype = _like("zeros_like", a, dtype, order, subok, shape, device)
    return minidynamo.zeros(model.shape, dtype=dtype)


@stands_in("ones_like", returns_arrays=True, takes_complex=True)
def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
) -> Any:
    model, dtype = _like("ones_like", a, dtype, order, subok, shape, device)
    return minidynamo.ones(model.shape, dtype=dtype)


@stands_in("empty_like", returns_arrays=True, takes_complex=True)
def empty_like(
    prototype: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
) -> Any:
    return zeros_like(prototype, dtype, order, subok, shape, device=device)


@stands_in("arange", returns_arrays=True)
def arange(*args: Any, dtype: Any = None, device: Any = None, like: Any = None) -> Any:
    _require_plain("arange", "C", device, like)
    if any(isinstance(arg, float) for arg in args) and dtype in (None, minidynamo.float64):
        return _float_steps(args)
    if not all(is_int(arg) for arg in args) or not args or len(args) > 3:
        decline("arange of other numbers")
    wanted = minidynamo.int64 if dtype is None else dtype_of(dtype)
    if wanted not in (minidynamo.float64, minidynamo.float32) and not all(holds(wanted, arg) for arg in args):
        decline("arange of this dtype")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) == 3 else 1)
    if step == 0 or (stop - start) * step <= 0:
        decline("arange of nothing")
    return minidynamo.arange(start, stop, step, dtype=minidynamo.int64).to(wanted)


def _float_steps(args: tuple[Any, ...]) -> Any:
    if not all(is_number(arg) for arg in args) or len(args) > 3:
        decline("arange of other numbers")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], args[2] if len(args) == 3 else 1)
    if step == 0 or not 0 < (stop - start) / step < 2**53:
        decline("arange of nothing")
    first = float(start)
    count = math.ceil((stop - start) / step)
    return minidynamo.arange(count, dtype=minidynamo.float64) * (first + step - first) + first


@stands_in("eye", returns_arrays=True, takes_complex=True)
def eye(
    N: int, M: Any = None, k: int = 0, dtype: Any = float, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    _require_plain("eye", order, device, like)
    if k != 0 or order != "C":
        decline("eye of another diagonal")
    return minidynamo.eye(N, N if M is None else M, dtype=_dtype(dtype))


@stands_in("identity", returns_arrays=True, takes_complex=True)
def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    _require_plain("identity", "C", None, like)
    return minidynamo.eye(n, dtype=_dtype(dtype))
