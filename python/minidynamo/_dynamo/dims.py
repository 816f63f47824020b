"""Marks of a tensor's dimensions, set before it is passed to a compiled function."""

from __future__ import annotations

import minidynamo

from .decorators import forbid_in_graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Read by capture: {dimension: (mark, min, max)}.
_NAME = "_dynamo_dims"


@forbid_in_graph
def mark_dynamic(
    t: Any,
    index: Any,
    *,
    hint_override: object = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: object = None,
) -> None:
    """The sizes of `t` at `index` (an int, or several) differ from call to call: one capture serves them all.

    Where the code can only run with one size, the call raises ConstraintViolationError; so does a size outside of min
    and max, of which both are possible values. hint_override and specialize_on are taken and have no effect.
    Raises AssertionError for an index that is no int, IndexError for a dimension that `t` does not have.
    """
    _mark(t, index, "dynamic", min, max)


@forbid_in_graph
def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """As mark_dynamic, but code that can only run with one size is captured for that size."""
    _mark(t, index, "maybe_dynamic")


@forbid_in_graph
def mark_unbacked(
    t: Any,
    index: Any,
    hint_override: object = None,
    strict: bool = False,
    specialize_on: object = None,
    shape_id: object = None,
    *,
    min: int | None = None,
    max: int | None = None,
) -> None:
    """As mark_dynamic: a capture never depends on a size that the code does not use."""
    _mark(t, index, "dynamic", min, max)


def mark_static(t: Any, index: Any = None) -> Any:
    """The sizes of `t` at `index` (all if omitted) are captured as constants, each separately.

    A module class is returned unchanged: its attributes are constants anyway.
    """
    if isinstance(t, type) and issubclass(t, minidynamo.nn.Module):
        return t
    if not isinstance(t, minidynamo.Tensor):
        raise TypeError(f"mark_static expects a tensor/nn.Module class but received {type(t)}")
    _mark(t, range(t.dim()) if index is None else index, "static")


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Accepts a tensor, and changes nothing: addresses are no part of a capture."""
    if not isinstance(t, minidynamo.Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")


def _mark(t: Any, index: Any, mark: str, min: int | None = None, max: int | None = None) -> None:
    if not isinstance(t, minidynamo.Tensor):
        raise TypeError(f"a tensor is required, not {type(t)}")
    if isinstance(index, int) and not isinstance(index, bool):
        index = (index,)
    elif not isinstance(index, (list, tuple, range)):
        raise AssertionError(f"Expected index to be int, list, or tuple, got {type(index)}")
    marks = getattr(t, _NAME, None)
    if marks is None:
        marks = {}
        setattr(t, _NAME, marks)
    for at in index:
        dimension = at + t.dim() if at < 0 else at
        if not 0 <= dimension < t.dim():
            raise IndexError(f"there is no dimension {at} in a tensor of shape {tuple(t.shape)}")
        marks[dimension] = (mark, min, max)
