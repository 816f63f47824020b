"""Differences of neighbours."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ..numbers import is_number
from .table import array_of, as_in_memory, decline, is_axis, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MISSING = object()


def _require_axis(value: Tensor, axis: Any, name: str) -> None:
    if not is_axis(value, axis):
        decline(f"{name} along such an axis")


@stands_in("diff", returns_arrays=True, takes_complex=True)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = _MISSING, append: Any = _MISSING) -> Any:
    values = array_of(a, "diff")
    if prepend is not _MISSING or append is not _MISSING:
        decline("diff with prepend or append")
    if not isinstance(n, int) or n < 1 or values.dtype is minidynamo.bool:
        decline("diff of this order, or of bools")
    _require_axis(values, axis, "diff")
    if values.shape[axis] <= n:
        decline("diff of too few elements")

    def differences(value: Tensor, dim: int) -> Tensor:
        for _ in range(n):
            count = value.shape[dim] - 1
            value = value.narrow(dim, 1, count) - value.narrow(dim, 0, count)
        return value

    return as_in_memory(differences, values, axis)


def _slope(value: Tensor, dim: int, step: Any) -> Tensor:
    """Central differences inside, one-sided ones at the ends."""
    size = value.shape[dim]
    inner = (value.narrow(dim, 2, size - 2) - value.narrow(dim, 0, size - 2)) / (2.0 * step)
    first = (value.narrow(dim, 1, 1) - value.narrow(dim, 0, 1)) / step
    last = (value.narrow(dim, size - 1, 1) - value.narrow(dim, size - 2, 1)) / step
    return minidynamo.cat([first, inner, last], dim)


def _steps(given: tuple[Any, ...], count: int) -> list[Any]:
    if not all(is_number(step) for step in given):
        decline("gradient over places")
    if len(given) not in (0, 1, count):
        decline("gradient with such steps")
    return list(given) * count if len(given) == 1 else list(given) or [1.0] * count


@stands_in("gradient", returns_arrays=True)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    values = array_of(f, "gradient")
    if edge_order != 1 or values.dtype is minidynamo.float16 or not (axis is None or isinstance(axis, int)):
        decline("gradient of this kind")
    if not values.is_floating_point():
        values = values.to(minidynamo.float64)
    axes = list(range(values.dim())) if axis is None else [axis]
    for dim in axes:
        _require_axis(values, dim, "gradient")
        if values.shape[dim] < 2:
            decline("gradient of too few elements")
    steps = _steps(varargs, len(axes))
    found = []
    for dim, step in zip(axes, steps):

        def slope(value: Tensor, along: int, step: Any = step) -> Tensor:
            return _slope(value, along, step)

        found.append(as_in_memory(slope, values, dim))
    return found[0] if len(found) == 1 else tuple(found)
