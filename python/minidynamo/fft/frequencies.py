"""The frequencies of a transform's elements, and their order."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.registry import require_tensor, written

Dims = int | tuple[int, ...] | list[int] | None


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of fft() of n elements that lie d apart, [0, 1, ..., -1] / (n * d), of shape [n]."""
    numbers = minidynamo.arange(n, dtype=dtype or minidynamo.get_default_dtype(), device=device)
    numbers = minidynamo.where(numbers < (n + 1) // 2, numbers, numbers - n)
    return _scaled(numbers, n * d, out, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of rfft() of n elements that lie d apart, of shape [n // 2 + 1]."""
    numbers = minidynamo.arange(n // 2 + 1, dtype=dtype or minidynamo.get_default_dtype(), device=device)
    return _scaled(numbers, n * d, out, requires_grad)


def _scaled(numbers: Tensor, length: float, out: Tensor | None, requires_grad: bool) -> Tensor:
    result: Tensor = written(numbers * (1.0 / length), out)
    return result.requires_grad_() if requires_grad else result


def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """Rolls each dim, or those given, by half of its size: the frequency 0 comes to the middle."""
    require_tensor("fftshift", input)
    dims = _dims(input, dim)
    return input.roll([input.shape[each] // 2 for each in dims], dims) if dims else input.clone()


def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of fftshift()."""
    require_tensor("ifftshift", input)
    dims = _dims(input, dim)
    return input.roll([(input.shape[each] + 1) // 2 for each in dims], dims) if dims else input.clone()


def _dims(input: Tensor, dim: Dims) -> list[int]:
    if dim is None:
        return list(range(input.dim()))
    return [dim] if isinstance(dim, int) else list(dim)
