"""Windows: weights of a stretch of a signal, of shape [M].

sym=True: the same read backwards; False: one period of length M of a periodic window.
ValueError for a negative M, a dtype that is no float32 or float64, or a layout that is not strided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _finished(values: Any, dtype: Any, requires_grad: bool) -> Tensor:
    """The numbers of a window, computed in float64."""
    result: Tensor = values.to(dtype if dtype is not None else minidynamo.get_default_dtype())
    return result.requires_grad_() if requires_grad else result


def _check(function: str, M: int, dtype: Any, layout: Any) -> None:
    if M < 0:
        raise ValueError(f"{function} requires non-negative window length, got M={M}")
    if layout is not None and str(layout).rpartition(".")[2] != "strided":
        raise ValueError(f"{function} is implemented for strided tensors only, got: {layout}")
    if dtype not in (None, minidynamo.float32, minidynamo.float64):
        raise ValueError(f"{function} expects float32 or float64 dtypes, got: {dtype}")


def _places(M: int) -> Tensor:
    return minidynamo.arange(M, dtype=minidynamo.float64)


def _empty(dtype: Any, requires_grad: bool) -> Tensor:
    return _finished(minidynamo.empty((0,)), dtype, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|n - center| / tau); center is the middle, and must not be given with sym=True."""
    _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return _empty(dtype, requires_grad)
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
    return _finished((-(_places(M) - middle).abs() / tau).exp(), dtype, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a period of a sine."""
    _check("cosine", M, dtype, layout)
    if M == 0:
        return _empty(dtype, requires_grad)
    period = M + 1 if not sym and M > 1 else M
    return _finished(((_places(M) + 0.5) * (math.pi / period)).sin(), dtype, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-(n - middle)**2 / (2 * std**2))"""
    _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return _empty(dtype, requires_grad)
    middle = (M if not sym and M > 1 else M - 1) / 2.0
    scaled = (_places(M) - middle) / (std * math.sqrt(2))
    return _finished((-(scaled**2)).exp(), dtype, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """I0(beta * sqrt(1 - x**2)) / I0(beta) for x from -1 to 1."""
    _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 0:
        return _empty(dtype, requires_grad)
    if M == 1:
        return _finished(minidynamo.ones((1,)), dtype, requires_grad)
    x = _places(M) * (2.0 / (M if not sym else M - 1)) - 1.0
    of_beta = minidynamo.i0(minidynamo.tensor(float(beta), dtype=minidynamo.float64))
    return _finished(minidynamo.i0(beta * (1.0 - x * x).clamp(min=0.0).sqrt()) / of_beta, dtype, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of (-1)**i * a[i] * cos(2 pi i n / period)."""
    _check("general_cosine", M, dtype, layout)
    if M == 0:
        return _empty(dtype, requires_grad)
    if M == 1:
        return _finished(minidynamo.ones((1,)), dtype, requires_grad)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    factors: Sequence[float] = list(a)
    if not factors:
        raise ValueError("Coefficients cannot be empty")
    wanted = minidynamo.get_default_dtype() if dtype is None else dtype
    step = 2 * math.pi / (M if not sym else M - 1)
    angles = minidynamo.linspace(0, (M - 1) * step, M, dtype=wanted)
    total = minidynamo.zeros(M, dtype=wanted)
    for at, factor in enumerate(factors):
        total = total + (angles * at).double().cos().to(wanted) * (factor if at % 2 == 0 else -factor)
    return _finished(total, dtype, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) * cos(2 pi n / period)"""
    factors = [alpha, 1.0 - alpha]
    return general_cosine(M, a=factors, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """general_hamming() of 0.54."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """general_hamming() of 0.5."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """0.42 - 0.5 * cos(2 pi n / period) + 0.08 * cos(4 pi n / period)"""
    factors = [0.42, 0.5, 0.08]
    return general_cosine(M, a=factors, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A triangle from 0 to 1 and back."""
    _check("bartlett", M, dtype, layout)
    if M == 0:
        return _empty(dtype, requires_grad)
    if M == 1:
        return _finished(minidynamo.ones((1,)), dtype, requires_grad)
    x = _places(M) * (2.0 / (M if not sym else M - 1)) - 1.0
    return _finished(1.0 - x.abs(), dtype, requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """general_cosine() of Nuttall's four numbers."""
    factors = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=factors, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


_explain_missing(__name__)
