"""compiler.set_stance(force_backend=...): every compiled function uses another backend."""

import pytest

import minidynamo
from minidynamo import compiler
from minidynamo._dynamo.exc import BackendCompilerFailed, InvalidBackend
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    yield
    compiler.set_stance("default")


def ones(*sizes):
    return minidynamo.ones(sizes or (2,))


def make():
    own, forced = CompileCounter(), CompileCounter()
    return own, forced, minidynamo.compile(lambda x: x + 1, backend=own)


def test_captures_of_the_own_backend_stay():
    own, forced, compiled = make()
    compiled(ones())
    with compiler.set_stance(force_backend=forced):
        assert compiled(ones()).tolist() == [2.0, 2.0]
        compiled(ones())
    assert (own.frame_count, forced.frame_count) == (1, 1)
    compiled(ones())
    assert (own.frame_count, forced.frame_count) == (1, 1)
    with compiler.set_stance("default", force_backend=forced):
        compiled(ones())
    assert (own.frame_count, forced.frame_count) == (1, 1)


def test_as_a_call_and_as_a_decorator():
    own, forced, compiled = make()

    @compiler.set_stance(force_backend=forced)
    def call(x):
        return compiled(x)

    compiled(ones())
    assert (own.frame_count, forced.frame_count) == (1, 0)
    call(ones())
    assert (own.frame_count, forced.frame_count) == (1, 1)
    minidynamo._dynamo.reset()
    compiler.set_stance(force_backend=forced)
    compiled(ones())
    assert (own.frame_count, forced.frame_count) == (1, 2)
    compiler.set_stance("default")
    compiled(ones())
    assert (own.frame_count, forced.frame_count) == (2, 2)


def test_nested_stances():
    own, forced, compiled = make()
    inner = CompileCounter()
    with compiler.set_stance(force_backend=forced):
        with compiler.set_stance(force_backend=inner):
            compiled(ones())
        with compiler.set_stance("force_eager"):
            compiled(ones())
        with compiler.set_stance("default"):
            compiled(ones())
        compiled(ones())
    assert (own.frame_count, forced.frame_count, inner.frame_count) == (1, 1, 1)


def test_frames_reached_from_compiled_ones_have_it_too():
    own, forced, _ = make()

    def inner(x):
        minidynamo._dynamo.graph_break()
        return x * 2

    compiled = minidynamo.compile(lambda x: inner(x + 1) + 1, backend=own)
    with compiler.set_stance(force_backend=forced), minidynamo._dynamo.config.patch(nested_graph_breaks=False):
        assert compiled(ones()).tolist() == [5.0, 5.0]
    assert own.frame_count == 0 and forced.frame_count >= 2


@pytest.mark.parametrize("name", ["eager", "onednn"])
def test_by_name(name):
    own, _, compiled = make()
    with compiler.set_stance(force_backend=name):
        assert compiled(ones()).tolist() == [2.0, 2.0]
    assert own.frame_count == 0


def test_a_backend_without_other_references():
    own, _, compiled = make()
    calls = []
    compiler.set_stance(force_backend=lambda gm, inputs: calls.append(1) or gm.forward)
    compiled(ones())
    compiled(ones(3, 3))
    assert len(calls) == 2
    compiler.set_stance("default")
    compiled(ones())
    assert len(calls) == 2 and own.frame_count == 1


def test_misuse_leaves_the_stance_as_it_was():
    own, forced, compiled = make()
    for options, error, text in (
        ({"stance": "force_eager", "force_backend": forced}, RuntimeError, "goes with the stance 'default'"),
        ({"stance": "nope", "force_backend": forced}, RuntimeError, "goes with the stance 'default'"),
        ({"stance": "nope"}, ValueError, "unknown stance 'nope'"),
        ({"force_backend": "nope"}, InvalidBackend, "Invalid backend: 'nope'"),
        ({"force_backend": 3}, TypeError, "must be a name or a callable"),
    ):
        with pytest.raises(error, match=text):
            compiler.set_stance(**options)
        compiled(ones())
    assert own.frame_count == 1 and forced.frame_count == 0
    with pytest.raises(AssertionError, match="callable"):
        compiler.set_stance("default")(3)


def test_a_forced_backend_that_fails():
    own, _, compiled = make()

    def bad(gm, inputs):
        raise ValueError("no")

    strict = minidynamo.compile(lambda x: x + 1, backend=own, fullgraph=True)
    with compiler.set_stance(force_backend=bad), pytest.raises(BackendCompilerFailed, match="no"):
        strict(ones())
    assert strict(ones()).tolist() == [2.0, 2.0]
