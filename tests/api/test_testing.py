"""minidynamo._dynamo.testing without captured code."""

import unittest

import pytest

import minidynamo
from minidynamo._dynamo import testing


class FakeTensor:
    def __init__(self, values, dtype="f32"):
        self.values, self.dtype = values, dtype
        self.shape = [len(values)]

    def tolist(self):
        return self.values


class FakeNode:
    def __init__(self, op):
        self.op = op


class FakeModule:
    def __init__(self, *ops):
        self.graph = self
        self.nodes = [FakeNode(op) for op in ops]

    def forward(self):
        return ()


def test_compile_counter():
    counter = testing.CompileCounter()
    module = FakeModule("placeholder", "call_function", "call_method", "output")
    assert counter(module, []) == module.forward
    counter(module, [])
    assert (counter.frame_count, counter.op_count) == (2, 4)
    counter.clear()
    assert (counter.frame_count, counter.op_count) == (0, 0)


def test_compile_counter_with_backend():
    counter = testing.CompileCounterWithBackend("eager")
    module = FakeModule("call_function")
    assert counter(module, []) == module.forward
    assert counter.graphs == [module] and (counter.frame_count, counter.op_count) == (1, 1)
    counter.clear()
    assert counter.graphs == [] and counter.frame_count == 0
    with pytest.raises(TypeError, match="a name or a callable"):
        testing.CompileCounterWithBackend(3)


def test_eager_and_record_graphs():
    backend = testing.EagerAndRecordGraphs()
    module = FakeModule()
    assert backend(module, [1, 2]) == module.forward
    assert backend.graphs == [module] and backend.example_inputs == [[1, 2]]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, 1.0, False),
        (1.0, 1.00001, True),
        (1.0, 1.1, False),
        (float("inf"), float("inf"), True),
        (float("inf"), float("-inf"), False),
        (float("inf"), 1.0, False),
        (None, None, True),
        ("a", "a", True),
        ([1, [2.0]], [1, [2.0]], True),
        ([1], (1,), False),
        ([1], [1, 2], False),
        ({"a": 1.0}, {"a": 1.000001}, True),
        ({"a": 1}, {"b": 1}, False),
        (FakeTensor([1.0, 2.0]), FakeTensor([1.0, 2.00001]), True),
        (FakeTensor([1.0, 2.0]), FakeTensor([1.0, 3.0]), False),
        (FakeTensor([1.0, 2.0]), FakeTensor([1.0]), False),
        (FakeTensor([1.0]), FakeTensor([1.0], "f64"), False),
        (FakeTensor([1.0]), 1.0, False),
        ((FakeTensor([]), 1), (FakeTensor([]), 1), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_same(a, b, expected):
    assert testing.same(a, b) is expected and testing.same(b, a) is expected


def test_same_options():
    nan = float("nan")
    assert not testing.same([nan], [nan]) and testing.same([nan], [nan], equal_nan=True)
    assert not testing.same(nan, 1.0, equal_nan=True)
    assert testing.same(1.0, 1.05, tol=0.1)
    assert testing.same(FakeTensor([1.0]), FakeTensor([1.0], "f64"), exact_dtype=False)


def test_standard_test_and_a_call_that_breaks():
    case = unittest.TestCase()
    testing.standard_test(case, lambda a, b: (a + b) * 2, 2, expected_ops=2)
    for wrong in ({"expected_ops": 3}, {"expected_frame_count": 2}):
        with pytest.raises(AssertionError):
            testing.standard_test(case, lambda a: a + 1, 1, **wrong)
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        testing.standard_test(case, lambda a: testing.unsupported(a, a + 1), 1)
    calls = []
    with pytest.raises(AssertionError):  # it returns something else at each call
        testing.standard_test(case, lambda a: calls.append(a) or a + len(calls), 1)
    counter = testing.CompileCounter()
    x = minidynamo.ones(2)
    assert minidynamo.compile(lambda a: testing.unsupported(a - 1, a + 1) * 3, backend=counter)(x).tolist() == [6, 6]
    assert counter.frame_count == 2
