"""Views by windows and by strides."""

from __future__ import annotations

from ..._composites.registry import prims
from ..numbers import is_int
from .table import MOST_DIMS, all_dims, array_of, decline, is_axis, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _ints(value: Any, what: str) -> tuple[int, ...]:
    found = (value,) if is_int(value) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if not found or not all(is_int(each) for each in found):
        decline(f"{what} by such numbers")
    return found


@stands_in("lib.stride_tricks.sliding_window_view", returns_arrays=True, takes_complex=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Any:
    values = array_of(x, "sliding_window_view")
    sizes = _ints(window_shape, "sliding_window_view")
    axes = all_dims(values) if axis is None else _ints(axis, "sliding_window_view")
    if subok is not False or writeable is not False or not all(is_axis(values, each) for each in axes):
        decline("sliding_window_view of such axes, or that may be written")
    if len(sizes) != len(axes) or any(size < 0 for size in sizes) or values.dim() + len(sizes) > MOST_DIMS:
        decline("sliding_window_view of such windows")
    dims = [each % values.dim() for each in axes]
    for size, dim in zip(sizes, dims):
        values = values.unfold(dim, size, 1)
    return prims.read_only(values)


def _in_elements(strides: Any, item: int) -> tuple[int, ...]:
    """The strides, which are given in bytes."""
    found = _ints(strides, "as_strided")
    if any(each % item != 0 for each in found):
        decline("as_strided between elements")
    return tuple([each // item for each in found])


def _own_steps(values: Any, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the array, or, where its elements follow one another, of an array of the shape where they do so, too."""
    if not values.is_contiguous():
        return tuple(values.stride())
    steps = [1]
    for size in sizes[:0:-1]:
        steps.insert(0, steps[0] * size)
    return tuple(steps)


@stands_in("lib.stride_tricks.as_strided", returns_arrays=True, takes_complex=True)
def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: Any = False, writeable: Any = True) -> Any:
    values = array_of(x, "as_strided")
    if subok is not False or not isinstance(writeable, bool):
        decline("as_strided of such an array")
    sizes = tuple(values.shape) if shape is None else _ints(shape, "as_strided")
    steps = _own_steps(values, sizes) if strides is None else _in_elements(strides, values.element_size())
    if len(sizes) != len(steps) or len(sizes) > MOST_DIMS or any(size < 1 for size in sizes):
        decline("as_strided of such a shape")
    if any(step < 0 for step in (*steps, *values.stride())):
        decline("as_strided backwards")
    if writeable and any(step == 0 and size > 1 for size, step in zip(sizes, steps)):
        decline("as_strided that repeats elements, which may be written")
    last = sum([(size - 1) * step for size, step in zip(sizes, steps)])
    if last > sum([(size - 1) * step for size, step in zip(values.shape, values.stride())]):
        decline("as_strided beyond the elements of the array")
    found = prims.window(values, list(sizes), list(steps), 0)
    return found if writeable else prims.read_only(found)
