"""Finite differences and shifts."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites.registry import wrapped_dim
from .table import decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@stands_in("gradient")
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    dims = [*range(input.dim())] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrapped_dim("gradient", each, input.dim()) for each in dims]
    steps = [spacing] * len(dims) if not isinstance(spacing, (tuple, list)) else list(spacing)
    if len(steps) != len(dims) or edge_order not in (1, 2) or not input.is_floating_point():
        decline("gradient of other arguments")
    found = []
    for at, step in zip(dims, steps):
        if input.shape[at] < edge_order + 1:
            decline("gradient of too few elements")
        if isinstance(step, Tensor) and step.dim() > 0:
            found.append(_uneven(input, at, step, edge_order))
        elif isinstance(step, Tensor):
            decline("gradient with a step in a tensor")
        else:
            found.append(_even(input, at, 1.0 if step is None else step, edge_order))
    return tuple(found)


def _part(input: Tensor, at: int, start: int, length: int) -> Tensor:
    return input.narrow(at, start, length)


def _even(input: Tensor, at: int, step: Any, edge_order: int) -> Tensor:
    n = input.shape[at]
    first, second, last, before = [_part(input, at, place, 1) for place in (0, 1, n - 1, n - 2)]
    middle = (_part(input, at, 2, n - 2) - _part(input, at, 0, n - 2)) / (2 * step)
    if edge_order == 1:
        begin, end = (second - first) / step, (last - before) / step
    else:
        begin = (-1.5 * first + 2 * second - 0.5 * _part(input, at, 2, 1)) / step
        end = (0.5 * _part(input, at, n - 3, 1) - 2 * before + 1.5 * last) / step
    return minidynamo.cat([begin, middle, end], at)


def _uneven(input: Tensor, at: int, places: Tensor, edge_order: int) -> Tensor:
    n = input.shape[at]
    if places.dim() != 1 or places.shape[0] != n:
        decline("gradient with other places")
    sizes = [1] * input.dim()
    sizes[at] = n - 1
    widths = (places[1:] - places[:-1]).reshape(sizes)
    a, b = _part(widths, at, 0, n - 2), _part(widths, at, 1, n - 2)
    middle = (
        _part(input, at, 0, n - 2) * (-b / (a * (a + b)))
        + _part(input, at, 1, n - 2) * ((b - a) / (a * b))
        + _part(input, at, 2, n - 2) * (a / (b * (a + b)))
    )
    first, second, last, before = [_part(input, at, place, 1) for place in (0, 1, n - 1, n - 2)]
    one, end_one = _part(widths, at, 0, 1), _part(widths, at, n - 2, 1)
    if edge_order == 1:
        return minidynamo.cat([(second - first) / one, middle, (last - before) / end_one], at)
    two, end_two = _part(widths, at, 1, 1), _part(widths, at, n - 3, 1)
    begin = (
        first * (-(2.0 * one + two) / (one * (one + two)))
        + second * ((one + two) / (one * two))
        + _part(input, at, 2, 1) * (-one / (two * (one + two)))
    )
    end = (
        _part(input, at, n - 3, 1) * (end_one / (end_two * (end_one + end_two)))
        + before * (-(end_one + end_two) / (end_one * end_two))
        + last * ((2.0 * end_one + end_two) / (end_one * (end_one + end_two)))
    )
    return minidynamo.cat([begin, middle, end], at)


def _shifts(input: Tensor, dim: Any) -> Any:
    dims = [*range(input.dim())] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return [input.shape[each] for each in dims], dims


@stands_in("fft.fftshift _C._fft.fft_fftshift")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    sizes, dims = _shifts(input, dim)
    return input.roll([size // 2 for size in sizes], dims)


@stands_in("fft.ifftshift _C._fft.fft_ifftshift")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    sizes, dims = _shifts(input, dim)
    return input.roll([(size + 1) // 2 for size in sizes], dims)
