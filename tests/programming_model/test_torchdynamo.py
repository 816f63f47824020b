"""The interface of the first torchdynamo: optimize(), its config names, its profiler."""

import pytest

import minidynamo
from minidynamo import torchdynamo
from minidynamo._dynamo.exc import Unsupported
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    torchdynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 1.0])


def model(x):
    x = x + 1
    torchdynamo.graph_break()
    return x * 2


def test_optimize_as_a_decorator():
    counter = CompileCounter()
    assert torchdynamo.optimize(counter)(model)(ones()).tolist() == [4.0, 4.0]
    assert counter.frame_count == 2
    with pytest.raises(Unsupported):
        torchdynamo.optimize("eager", nopython=True)(model)(ones())
    assert torchdynamo.optimize(disable=True)(model) is model


def test_optimize_as_a_context_manager():
    counter = CompileCounter()
    x = ones()
    block = torchdynamo.optimize(counter)
    for _ in range(2):
        with block:
            assert model(x).tolist() == [4.0, 4.0]
        assert counter.frame_count == 2
    model(ones() * 2)
    assert counter.frame_count == 2
    x = ones() * 3
    with pytest.raises(Unsupported), torchdynamo.optimize("eager", nopython=True):
        model(x)
    with torchdynamo.optimize(counter, disable=True):
        model(minidynamo.ones(2, 2))
    assert counter.frame_count == 2


def test_an_exception_ends_the_block():
    counter = CompileCounter()
    x = ones()
    with pytest.raises(KeyError), torchdynamo.optimize(counter):
        model(x)
        raise KeyError
    assert counter.frame_count == 2
    model(minidynamo.ones(2, 2))
    assert counter.frame_count == 2


def test_config_names():
    config = torchdynamo.config
    assert config is minidynamo._dynamo.config
    with config.patch(cache_size_limit=3):
        assert config.recompile_limit == config.cache_size_limit == 3
    config.cache_size_limit = 5
    assert config.recompile_limit == 5
    config.cache_size_limit = 8
    with pytest.raises(AttributeError):
        _ = config.nothing
    assert config.debug is False
    config.debug = True
    assert config.debug is True
    config.debug = False
    with pytest.raises(TypeError):
        config.debug = 1


def test_the_profiler():
    profiler = torchdynamo.utils.CompilationProfiler()
    vector, matrix = ones(), minidynamo.ones(2, 2)
    with torchdynamo.optimize(profiler):
        model(vector)
        model(matrix)
    report = profiler.report()
    assert (profiler.frame_count, profiler.op_count) == (2, 2)
    assert len(profiler.graph_breaks) == 1 and "graph_break()" in report
    assert len(profiler.guard_failures) == 1 and "rank mismatch. expected 1, actual 2" in report
    assert torchdynamo.config.recompile_limit == 8
    watched = torchdynamo.optimize(profiler)(lambda x: x + 1)
    assert watched(ones()).tolist() == [2.0, 2.0] and profiler.frame_count == 3
