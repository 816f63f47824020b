"""From a graph to a plan by the backends known by name and by Python callables."""

import gc
import weakref

import pytest

import minidynamo
from minidynamo import _C, fx
from minidynamo._dynamo import exc, lookup_backend
from minidynamo._dynamo.testing import CompileCounterWithBackend, EagerAndRecordGraphs

TEXT = """\
%l_x_ = input L_x_ : f32[3][1]
%l_n_ = scalar L_n_ : float
%mul = mul(%l_x_, %l_n_) : f32[3][1]
%add = add(%mul, %l_x_) : f32[3][1]
return %mul, %add
"""


@pytest.fixture
def graph():
    return _C.Graph.parse(TEXT)


@pytest.fixture
def inputs():
    return [minidynamo.tensor([1.0, 2.0, 3.0]), 2.0]


def values(result):
    assert type(result) is tuple
    return [tensor.tolist() for tensor in result]


EXPECTED = [[2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]


@pytest.mark.parametrize("name", ["onednn", "eager"])
def test_backends_known_by_name(graph, inputs, name):
    assert values(graph.compiled(name, inputs)(*inputs)) == EXPECTED
    assert values(graph.compiled(lookup_backend(name), inputs)(*inputs)) == EXPECTED


def test_what_a_backend_receives(graph, inputs):
    given = []

    def backend(gm, example_inputs):
        given.extend((gm, example_inputs))

        def run(x, n):
            given.append((x, n))
            return x * n, [x * n + x][0]

        return run

    plan = graph.compiled(backend, inputs)
    assert isinstance(given[0], fx.GraphModule) and given[1] == inputs and given[1][0] is inputs[0]
    assert values(plan(*inputs)) == EXPECTED
    assert given[2][0].tolist() == [1.0, 2.0, 3.0] and given[2][1] == 2.0 and type(given[2][1]) is float
    assert "backend" in str(plan)


def test_testing_backends(graph, inputs):
    counter = CompileCounterWithBackend("onednn")
    recorder = EagerAndRecordGraphs()
    for backend in (counter, recorder):
        assert values(graph.compiled(backend, inputs)(*inputs)) == EXPECTED
    assert (counter.frame_count, counter.op_count) == (1, 2) and len(recorder.graphs) == 1


def test_the_graph_module_itself_is_a_callable(graph, inputs):
    assert values(graph.compiled(lambda gm, example_inputs: gm, inputs)(*inputs)) == EXPECTED


def test_a_list_is_taken_as_well(graph, inputs):
    plan = graph.compiled(lambda gm, example_inputs: lambda *args: list(gm(*args)), inputs)
    assert values(plan(*inputs)) == EXPECTED


def test_a_backend_that_raises(graph, inputs):
    def broken(gm, example_inputs):
        raise KeyError("k")

    with pytest.raises(exc.BackendCompilerFailed) as caught:
        graph.compiled(broken, inputs)
    assert str(caught.value) == "backend='broken' raised:\nKeyError: 'k'"
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.inner_exception is caught.value.__cause__


def test_a_backend_that_returns_no_callable(graph, inputs):
    with pytest.raises(
        exc.BackendCompilerFailed, match="(?s)raised:\nTypeError: a backend must return a callable, not int"
    ):
        graph.compiled(lambda gm, example_inputs: 3, inputs)


def test_a_backend_that_is_interrupted(graph, inputs):
    def interrupted(gm, example_inputs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graph.compiled(interrupted, inputs)


def test_an_exception_of_the_callable_is_unchanged(graph, inputs):
    def backend(gm, example_inputs):
        def run(*args):
            raise IndexError("of the user")

        return run

    with pytest.raises(IndexError, match="of the user"):
        graph.compiled(backend, inputs)(*inputs)


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda x: None, TypeError, "must return a tuple or list of 2 tensors, not a NoneType"),
        (lambda x: x, TypeError, "must return a tuple or list of 2 tensors, not a minidynamo.Tensor"),
        (lambda x: (x,), TypeError, "2 tensors, not 1 values"),
        (lambda x: (x, 3), TypeError, "2 tensors, not a int at position 1"),
        (lambda x: (x, x[:2]), RuntimeError, r"output 1 must be f32\[3\].*not f32\[2\]"),
        (lambda x: (x.to(minidynamo.float64), x), RuntimeError, r"output 0 must be f32\[3\].*not f64\[3\]"),
    ],
)
def test_results_of_the_callable_are_checked(graph, inputs, result, error, text):
    plan = graph.compiled(lambda gm, example_inputs: lambda x, n: result(x), inputs)
    with pytest.raises(error, match=text):
        plan(*inputs)


def test_an_unknown_name(graph, inputs):
    with pytest.raises(exc.InternalError, match="no backend 'nope'"):
        graph.compiled("nope", inputs)


def test_a_plan_releases_its_callable(graph, inputs):
    def run(x, n):
        return x, x

    alive = weakref.ref(run)
    plan = graph.compiled(lambda gm, example_inputs, run=run: run, inputs)
    del run
    plan(*inputs)
    assert alive() is not None
    del plan
    gc.collect()
    assert alive() is None


def test_backends_with_tags_are_not_listed():
    minidynamo._dynamo.register_backend(lambda gm, inputs: gm.forward, name="tagged", tags=["debug"])
    try:
        assert minidynamo.compiler.list_backends() == ["eager", "onednn"]
        assert minidynamo._dynamo.list_backends(None) == ["eager", "onednn", "tagged"]
        assert minidynamo._dynamo.list_backends(exclude_tags=("other",)) == ["eager", "onednn", "tagged"]
        assert minidynamo.compile(lambda x: x + 1, backend="tagged")(minidynamo.ones(1)).tolist() == [2.0]
    finally:
        del minidynamo._dynamo.backends._BACKENDS["tagged"], minidynamo._dynamo.backends._TAGS["tagged"]
