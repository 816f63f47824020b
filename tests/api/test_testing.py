"""minidynamo._dynamo.testing without captured code."""

import pytest

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
