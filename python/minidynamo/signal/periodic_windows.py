"""The windows that torch has at the top: periodic unless periodic=False, in any floating dtype."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from . import windows


def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle from 0 to 1 and back, of shape [window_length]."""
    return _in_dtype("bartlett", window_length, periodic, dtype, requires_grad)


def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's window, of shape [window_length]."""
    return _in_dtype("blackman", window_length, periodic, dtype, requires_grad)


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - beta * cos(2 pi n / period), of shape [window_length]."""
    return _in_dtype("general_cosine", window_length, periodic, dtype, requires_grad, a=[alpha, beta])


def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """0.5 - 0.5 * cos(2 pi n / period), of shape [window_length]."""
    return _in_dtype("hann", window_length, periodic, dtype, requires_grad)


def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window of shape beta, of shape [window_length]."""
    return _in_dtype("kaiser", window_length, periodic, dtype, requires_grad, beta=beta)


def _in_dtype(name: str, length: int, periodic: bool, dtype: Any, requires_grad: bool, **more: Any) -> Tensor:
    function = f"{name.removeprefix('general_')}_window"
    if length < 0:
        raise RuntimeError(f"[{function}] requires non-negative window_length, got window_length={length}")
    dtype = minidynamo.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise RuntimeError(f"[{function}] expects floating point dtypes, got: {dtype}")
    result: Tensor = getattr(windows, name)(length, sym=not periodic, dtype=minidynamo.float64, **more).to(dtype)
    return result.requires_grad_() if requires_grad else result
