"""Backends that count and record, and a comparison of nested results: for tests of captured code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import minidynamo

from .._missing_names import explain_missing as _explain_missing
from ..fx import GraphModule
from . import config
from .backends import lookup_backend
from .decorators import disable

if TYPE_CHECKING:
    from unittest import TestCase


# A constant of a module, which captured code reads.
three = 3


class CompileCounter:
    """A backend that counts its graphs and their operations, and runs the operations one by one."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.frame_count += 1
        self.op_count += _op_count(gm)
        return gm.forward

    def clear(self) -> None:
        self.frame_count = 0
        self.op_count = 0


class CompileCounterWithBackend(CompileCounter):
    """The same in front of another backend; graphs are the counted ones."""

    def __init__(self, backend: str | Callable[..., Any] = "eager") -> None:
        self.backend = lookup_backend(backend)
        super().__init__()

    def __call__(self, gm: GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        super().__call__(gm, example_inputs)
        self.graphs.append(gm)
        return self.backend(gm, example_inputs)

    def clear(self) -> None:
        super().clear()
        self.graphs: list[GraphModule] = []


class EagerAndRecordGraphs:
    """A backend that records each graph with its example inputs, and runs it operation by operation."""

    def __init__(self) -> None:
        self.graphs: list[GraphModule] = []
        self.example_inputs: list[list[Any]] = []

    def __call__(self, gm: GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.graphs.append(gm)
        self.example_inputs.append(example_inputs)
        return gm.forward


def same(a: Any, b: Any, *, tol: float = 1e-4, equal_nan: bool = False, exact_dtype: bool = True) -> bool:
    """Whether two results are equal: containers by element, tensors and floats within a relative tolerance."""
    if _is_tensor(a) or _is_tensor(b):
        return _same_tensors(a, b, tol, equal_nan, exact_dtype)
    if type(a) is not type(b):
        return False
    options: dict[str, Any] = {"tol": tol, "equal_nan": equal_nan, "exact_dtype": exact_dtype}
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, **options) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key], **options) for key in a)
    if isinstance(a, float):
        return _same_numbers(a, b, tol, equal_nan)
    return a == b


@disable
def unsupported(first: Any, second: Any) -> Any:
    """The second argument: a call that breaks every graph."""
    return second


def standard_test(
    self: TestCase,
    fn: Callable[..., Any],
    nargs: int,
    expected_ops: int | None = None,
    expected_ops_dynamic: int | None = None,
    expected_frame_count: int = 1,
) -> None:
    """Asserts that fn of random matrices returns the same captured whole, in that many graphs and operations."""
    if expected_ops_dynamic is not None and not config._read("assume_static_by_default"):
        expected_ops = expected_ops_dynamic
    counter = CompileCounter()
    calls = [[minidynamo.randn(10, 10) for _ in range(nargs)] for _ in range(2)]
    expected = [fn(*arguments) for arguments in calls]
    minidynamo._dynamo.reset()
    compiled = minidynamo._dynamo.optimize_assert(counter)(fn)
    results = [compiled(*arguments) for arguments in calls * 2]
    minidynamo._dynamo.reset()
    for result, plain in zip(results, expected * 2, strict=True):
        self.assertTrue(same(result, plain))
    self.assertEqual(counter.frame_count, expected_frame_count)
    if expected_ops is not None:
        self.assertEqual(counter.op_count, expected_ops)


def _op_count(gm: GraphModule) -> int:
    calls = (node for node in gm.graph.nodes if node.op in ("call_function", "call_method", "call_module"))
    return sum("is_number" not in getattr(node, "meta", ()) for node in calls)


def _is_tensor(value: object) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "tolist")


def _same_tensors(a: Any, b: Any, tol: float, equal_nan: bool, exact_dtype: bool) -> bool:
    if not (_is_tensor(a) and _is_tensor(b)) or tuple(a.shape) != tuple(b.shape):
        return False
    if exact_dtype and a.dtype != b.dtype:
        return False
    return all(_same_numbers(x, y, tol, equal_nan) for x, y in zip(_flat(a.tolist()), _flat(b.tolist()), strict=True))


def _flat(values: Any) -> Iterator[Any]:
    if not isinstance(values, list):
        yield values
        return
    for value in values:
        yield from _flat(value)


def _same_numbers(a: float, b: float, tol: float, equal_nan: bool) -> bool:
    if a != a or b != b:
        return equal_nan and a != a and b != b
    distance = abs(a - b)
    return a == b or distance != float("inf") and distance <= tol * max(1.0, abs(a), abs(b))


_explain_missing(__name__)
