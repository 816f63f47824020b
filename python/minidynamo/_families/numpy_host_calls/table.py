"""The table of functions that are called as they are, and how a trace learns what they return."""

from __future__ import annotations

import functools
import inspect
import sys

from ... import _C
from ..._dynamo.traced_calls import CannotCapture, flatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

numpy: Any = sys.modules["numpy"]

# A trace calls functions on no more elements than these: beside longer calls the end of a region is nothing.
MOST_ELEMENTS = 1 << 20
MOST_OF_MATRICES = 1 << 16

# Parameters through which a function writes to its arguments.
_WRITTEN = (
    *("out", "output", "overwrite_input", "overwrite_a", "overwrite_b", "overwrite_c", "overwrite_x", "overwrite_ab"),
    "overwrite_data",
)


class HostCall:
    """A function, or a method of the objects with a state of a type, that regions call as it is.

    `example(function, *args, **kwargs)` returns what the call returns in dtype, shape, strides and type, for arguments
    that have these in common with those of the program. A call that is made `once` may warn, or has a state.
    """

    def __init__(self, name: str, example: Callable[..., Any], once: bool) -> None:
        self.name = name
        self.example = example
        self.once = once
        self.most_elements = MOST_OF_MATRICES if name.startswith("linalg.") else MOST_ELEMENTS


# By callable.
ROWS: dict[Any, HostCall] = {}


def start() -> None:
    """Tells how calls of these functions enter a graph; ufuncs that the op table lacks are among them."""
    _C._numpy.set_tracer_of_host_calls(_trace)


def add(path: str, callable: Any, example: Callable[..., Any], *, once: bool = False, self_type: Any = None) -> None:
    """Enters a function, which another row may stand in for where it can."""
    ROWS[callable] = HostCall(path, example, once)
    _C._numpy.add_host_call(callable, path, self_type)


def refuse(name: str, why: str) -> Any:
    """The capture breaks at the call."""
    raise CannotCapture("unknown_c_function", f"{name}: {why}")


def called(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What the function returns for examples of its arguments. One that warns of them is not repeatable."""
    row = ROWS.get(function, _UFUNC)
    with numpy.errstate(all="ignore"):
        result, warned = _C._call_without_warnings(function, args, kwargs)
    if warned and not row.once:
        refuse(row.name, "that warns")
    return result


_UFUNC = HostCall("ufunc", called, once=False)


def _trace(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """One step that calls the function."""
    row = ROWS.get(function, _UFUNC)
    name = function.__name__ if row is _UFUNC else row.name
    _check_written(function, name, args, kwargs)
    if sum(tensor.numel() for tensor in flatten((args, kwargs))[1]) > row.most_elements:
        refuse(name, "of many elements")
    examples: dict[int, Any] = {}
    positional = [_example(value, examples) for value in args]
    keywords = {key: _example(value, examples) for key, value in kwargs.items()}
    try:
        result = row.example(function, *positional, **keywords)
    except CannotCapture:
        raise
    except Exception as error:
        # A handler of a signal ran meanwhile.
        if not _C._came_from_library(error, function):
            raise
        refuse(name, f"it raised {type(error).__name__}: {error}")
    _check_new(name, result, list(examples.values()))
    recorded = _C._record_library_call(name, function, args, kwargs, result, not row.once)
    if isinstance(result, (list, tuple)):
        if type(result) in (list, tuple):
            return type(result)(recorded)
        return type(result)(*recorded)
    return recorded[0] if recorded else None


def _check_written(function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if isinstance(function, numpy.ufunc):
        if len(args) != function.nin or not kwargs.keys() <= {"dtype", "casting"}:
            refuse(name, "with other arguments than its operands")
        return
    given = [args[at] for at in _written_positions(function) if at < len(args)]
    given += [kwargs.get(word) for word in _WRITTEN]
    if any(value is not None and value is not False for value in given):
        refuse(name, "with out=")


@functools.cache
def _written_positions(function: Any) -> list[int]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [at for at, each in enumerate(parameters) if each.name in _WRITTEN and each.kind in by_position]


def _example(value: Any, known: dict[int, Any]) -> Any:
    """An array or a scalar of the dtype and layout of a tensor, with elements for which functions have a result."""
    if type(value) in (list, tuple):
        return type(value)(_example(item, known) for item in value)
    if not isinstance(value, _C.Tensor):
        return value
    if id(value) not in known:
        known[id(value)] = _filled(_C._example_of(value))
    return known[id(value)]


def _filled(example: Any) -> Any:
    if not isinstance(example, numpy.ndarray):
        return type(example)(1)
    shape = example.shape
    if example.size == 0:
        return example
    example[...] = 1
    if (
        len(shape) >= 2
        and shape[-1] == shape[-2]
        and example.dtype != bool
        and example.strides[-1]
        and example.strides[-2]
    ):
        # Symmetric, with positive eigenvalues.
        numpy.einsum("...ii->...i", example)[...] = min(shape[-1] + 1, 100)
    return example


def _check_new(name: str, result: Any, given: list[Any]) -> None:
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    arrays = [each for each in results if isinstance(each, numpy.ndarray)]
    given = [each for each in given if isinstance(each, numpy.ndarray)]
    for at, array in enumerate(arrays):
        if any(numpy.may_share_memory(array, other) for other in given + arrays[:at]):
            refuse(name, "its results may share memory")
