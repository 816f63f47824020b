"""Numbers at given distances, and differences over distances."""

from __future__ import annotations

import warnings

import minidynamo

from .. import _C
from .._C import Tensor
from .registry import as_floating, composite, is_inexact, require_tensor, wrapped_dim, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("function")
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """base to the powers of linspace(start, end, steps)."""
    wanted = _C.get_default_dtype() if dtype is None else dtype
    if wanted.is_complex:
        raise NotImplementedError("[logspace] not implemented for complex numbers")
    if not wanted.is_floating_point:  # between integers
        start, end = int(start), int(end)
    powers = minidynamo.linspace(start, end, steps, dtype=minidynamo.float64)
    result = minidynamo.pow(minidynamo.full((), float(base), dtype=minidynamo.float64), powers).to(wanted)
    result = written(result, out)
    return result.requires_grad_() if requires_grad else result


@composite("function")
def range_of(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """arange() with its end, of the default dtype."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        stacklevel=2,
    )
    start, end = (0, start) if end is None else (start, end)
    if step == 0:
        raise RuntimeError("[range] step must be nonzero")
    if (step > 0 and start > end) or (step < 0 and start < end):
        raise RuntimeError("[range] upper bound and lower bound inconsistent with step sign")
    count = int((end - start) / step) + 1
    wanted = _C.get_default_dtype() if dtype is None else dtype
    if wanted.is_floating_point:
        result = minidynamo.arange(start, start + (count - 0.5) * step, step, dtype=wanted)
    else:
        result = (minidynamo.arange(count, dtype=minidynamo.float64) * step + start).to(wanted)
    result = written(result, out)
    return result.requires_grad_() if requires_grad else result


@composite("function")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector, (n, N), from the largest to 0, or from 0 up."""
    require_tensor("vander", x, "x")
    if x.dim() != 1:
        raise RuntimeError("[vander] x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("[vander] N must be non-negative.")
    columns = minidynamo.linalg.vander(x, N=count) if count > 1 else None
    if columns is None:
        whole = x if is_inexact(x) else x.long()
        columns = whole.new_ones((x.shape[0], count))
    return columns if increasing else columns.flip(1)


@composite("function")
def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """The derivatives along dims by differences of neighbours: of elements `spacing` apart, or at coordinates.

    spacing: a number, a list of numbers, or a list of tensors of coordinates, one for each dim. edge_order 2 uses three
    elements at the ends.
    """
    require_tensor("gradient", input)
    spacing = 1 if spacing is None else spacing
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrapped_dim("gradient", each, input.dim()) for each in dims]
    _check_gradient(input, dims, spacing, edge_order)
    steps = [spacing] * len(dims) if isinstance(spacing, (int, float, complex)) else list(spacing)
    x = as_floating(input)
    return [_slopes(x, each, step, edge_order) for each, step in zip(dims, steps)]


def _check_gradient(input: Tensor, dims: list[int], spacing: Any, edge_order: int) -> None:
    if edge_order not in (1, 2):
        raise RuntimeError("[gradient] torch.gradient only supports edge_order=1 and edge_order=2.")
    if len(set(dims)) != len(dims):
        raise RuntimeError("[gradient] dim appears multiple times in the list of dims")
    if isinstance(spacing, (list, tuple)) and len(spacing) != len(dims):
        raise RuntimeError(
            f"[gradient] torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {len(dims)}', but got a list of length {len(spacing)}"
        )
    for each in dims:
        if input.shape[each] < edge_order + 1:
            raise RuntimeError("[gradient] torch.gradient expected each dimension size to be at least edge_order+1")


def _slopes(x: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    size = x.shape[dim]
    if isinstance(step, Tensor):
        if step.dim() == 0:
            return _slopes(x, dim, step.item(), edge_order)
        widths: Any = (step[1:] - step[:-1]).reshape([-1 if at == dim else 1 for at in range(x.dim())])
    else:
        widths = None
    differences = x.narrow(dim, 1, size - 1) - x.narrow(dim, 0, size - 1)
    if widths is None:
        inner = (x.narrow(dim, 2, size - 2) - x.narrow(dim, 0, size - 2)) / (2 * step) if size > 2 else None
        slopes = differences / step
        first, last = slopes.narrow(dim, 0, 1), slopes.narrow(dim, size - 2, 1)
        if edge_order == 2:
            a, b, c = (x.narrow(dim, at, 1) for at in (0, 1, 2))
            first = (-1.5 * a + 2.0 * b - 0.5 * c) / step
            a, b, c = (x.narrow(dim, size - at, 1) for at in (1, 2, 3))
            last = (1.5 * a - 2.0 * b + 0.5 * c) / step
    else:
        slopes = differences / widths
        first, last = slopes.narrow(dim, 0, 1), slopes.narrow(dim, size - 2, 1)
        before, after = widths.narrow(dim, 0, size - 2), widths.narrow(dim, 1, size - 2)
        left, middle, right = (x.narrow(dim, at, size - 2) for at in (0, 1, 2))
        inner = (
            left * (-after / (before * (before + after)))
            + middle * ((after - before) / (before * after))
            + right * (before / (after * (before + after)))
            if size > 2
            else None
        )
        if edge_order == 2:
            first, last = _uneven_ends(x, dim, widths)
    return minidynamo.cat([first, last] if inner is None else [first, inner, last], dim)


def _uneven_ends(x: Tensor, dim: int, widths: Tensor) -> tuple[Tensor, Tensor]:
    size = x.shape[dim]
    one, two = widths.narrow(dim, 0, 1), widths.narrow(dim, 1, 1)
    a, b, c = (x.narrow(dim, at, 1) for at in (0, 1, 2))
    first = (
        a * (-(2.0 * one + two) / (one * (one + two)))
        + b * ((one + two) / (one * two))
        - c * (one / (two * (one + two)))
    )
    one, two = widths.narrow(dim, size - 3, 1), widths.narrow(dim, size - 2, 1)
    a, b, c = (x.narrow(dim, size - at, 1) for at in (3, 2, 1))
    last = (
        a * (two / (one * (one + two)))
        - b * ((one + two) / (one * two))
        + c * ((2.0 * two + one) / (two * (one + two)))
    )
    return first, last
