"""Order statistics, comparisons of whole tensors, and return types of functions that we have."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..._composites import registry, searching, statistics
from ..._composites.registry import wrapped_dim
from .pointwise import evenly_spaced
from .table import both, decline, results, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Kthvalue = results("kthvalue", "values indices")
Nanmedian = results("nanmedian", "values indices")
Median = results("median", "values indices")
Mode = results("mode", "values indices")
Aminmax = results("aminmax", "min max")


@stands_in(both("median"))
def median(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    found = statistics.median(input, dim, keepdim)
    return found if dim is None else Median(found[0], found[1])


@stands_in(both("mode"))
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    found = registry.functions["mode"](input, dim, keepdim)
    return Mode(found[0], found[1])


@stands_in(both("aminmax"))
def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> Any:
    found = statistics.aminmax(input, dim=dim, keepdim=keepdim)
    return Aminmax(found[0], found[1])


@stands_in(both("kthvalue"))
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    at = wrapped_dim("kthvalue", dim, input.dim())
    if not 0 < k <= (input.shape[at] if input.dim() > 0 else 1):
        decline("kthvalue beyond the size")
    found = input.kthvalue(k, at, keepdim)
    return Kthvalue(found[0], found[1])


@stands_in(both("nanmedian"))
def nanmedian(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    found = registry.functions["nanmedian"](input, dim, keepdim)
    return found if dim is None else Nanmedian(found[0], found[1])


@stands_in(both("allclose"))
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    return minidynamo.isclose(input, other, rtol, atol, equal_nan).all().item()


@stands_in(both("_is_all_true"))
def _is_all_true(self: Tensor) -> Any:
    if self.dtype != minidynamo.bool:
        decline("_is_all_true of numbers")
    return self.all()


@stands_in(both("_is_any_true"))
def _is_any_true(self: Tensor) -> Any:
    if self.dtype != minidynamo.bool:
        decline("_is_any_true of numbers")
    return self.any()


@stands_in(both("equal"))
def equal(input: Tensor, other: Tensor) -> Any:
    if input.shape != other.shape:
        return False
    return (input == other).all().item()


Histogram = results("histogram", "hist bin_edges")


@stands_in(both("histogram"))
def histogram(
    input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    if input.dtype.itemsize == 2 or not input.is_floating_point():
        decline("histogram of nothing, or of other dtypes")
    flat = input.reshape(-1)
    edges = bins if isinstance(bins, Tensor) else _edges(flat, bins, range)
    count = edges.shape[0] - 1
    if count < 1:
        decline("histogram without bins")
    at = minidynamo.searchsorted(edges, flat, right=True) - 1
    at = minidynamo.where(flat == edges[count], count - 1, at)
    inside = (at >= 0) & (at < count)
    weights = minidynamo.ones_like(flat) if weight is None else weight.reshape(-1)
    hist = input.new_zeros((count,)).scatter_add(0, at.clamp(0, count - 1), minidynamo.where(inside, weights, 0.0))
    if density:
        hist = hist / hist.sum() / (edges[1:] - edges[:-1])
    return Histogram(hist, edges.clone())


def _edges(flat: Tensor, bins: int, range: Any) -> Tensor:
    if flat.numel() == 0 and range is None:
        return minidynamo.linspace(0.0, 1.0, bins + 1, dtype=flat.dtype)
    if range is not None:
        if range[0] >= range[1]:
            decline("histogram of an empty range")
        return minidynamo.linspace(range[0], range[1], bins + 1, dtype=flat.dtype)
    low, high = flat.amin(), flat.amax()
    same = low == high
    low, high = minidynamo.where(same, low - 0.5, low), minidynamo.where(same, high + 0.5, high)
    return evenly_spaced("histogram", low, high, bins + 1, flat.dtype)


@stands_in(both("nonzero"))
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    if input.dim() == 0 and as_tuple:
        input = input.reshape(1)
    found = registry.prims.nonzero(input)
    by_dims = found.t().contiguous()
    return tuple(by_dims.unbind(0)) if as_tuple else by_dims.t()


def _in_front(found: Any, dim: Any) -> Any:
    """torch stacks the slices, and moves their dim to its place."""
    if dim is None:
        return found
    first = found if isinstance(found, Tensor) else found[0]
    moved = first.movedim(dim, 0).contiguous().movedim(0, dim)
    return moved if isinstance(found, Tensor) else (moved, *found[1:])


@stands_in("unique functional.unique Tensor.unique")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    return _in_front(searching.unique(input, sorted, return_inverse, return_counts, dim), dim)


@stands_in("unique_consecutive functional.unique_consecutive Tensor.unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    return _in_front(searching.unique_consecutive(input, return_inverse, return_counts, dim), dim)


@stands_in(both("argwhere"))
def argwhere(input: Tensor) -> Tensor:
    return nonzero(input)
