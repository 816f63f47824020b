"""The troubleshooting page, followed step by step on a model with a planted graph break and a planted recompile, both fixed as it
advises.
"""

import logging

import pytest

import minidynamo
from minidynamo import nn, torchdynamo
from minidynamo._dynamo.exc import Unsupported
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions

LOG = []


class Planted(nn.Module):
    """`remember` breaks the graph; `names` requires another capture at each call."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x, name):
        x = self.first(x).relu()
        self.remember(x)
        return self.second(x) * len(name)

    def remember(self, x):
        minidynamo._dynamo.graph_break(msg="planted")


class Mended(Planted):
    def forward(self, x, count):
        return self.second(self.first(x).relu()) * count


BREAK_LINE = Planted.remember.__code__.co_firstlineno + 1
NAMES = ["a", "bc", "def", "ghij"]


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    minidynamo.manual_seed(0)
    yield
    minidynamo._logging.set_logs()
    minidynamo._dynamo.reset()


@pytest.fixture
def model():
    return Planted()


@pytest.fixture
def x():
    return minidynamo.ones(3, 4)


def profiled(model, x):
    profiler = torchdynamo.utils.CompilationProfiler()
    with torchdynamo.optimize(profiler):
        for name in NAMES:
            model(x, name)
    return profiler


def test_step_1_the_profiler_lists_the_reasons_for_breaks(model, x):
    profiler = profiled(model, x)
    (found,) = profiler.graph_breaks
    assert found.startswith(f"Graph break in user code at {__file__}:{BREAK_LINE} in remember\n")
    assert "planted" in found
    assert found.splitlines()[0] in profiler.report()
    assert (profiler.frame_count, profiler.op_count) == (2, 4)


def test_step_1_the_profiler_lists_failing_guards_for_each_recompilation(model, x):
    profiler = profiled(model, x)
    # As if the limit were 1: the place after the break is captured for the first name, which matches no other.
    assert len(profiler.guard_failures) == len(NAMES) - 1
    for failure in profiler.guard_failures:
        assert failure.startswith(f"Planted.forward ({__file__}:")
        assert "L['name'] == 'a'" in failure
    report = profiler.report()
    assert f"Recompilations: {len(NAMES) - 1}" in report
    assert report.count("L['name'] == 'a'") == len(NAMES) - 1
    assert minidynamo._dynamo.config.recompile_limit == 8


def test_the_profiler_observes_only(model, x):
    expected = [model(x, name).tolist() for name in NAMES]
    profiler = torchdynamo.utils.CompilationProfiler()
    with torchdynamo.optimize(profiler):
        assert [model(x, name).tolist() for name in NAMES] == expected
    compiled = torchdynamo.optimize(profiler)(model)
    assert [compiled(x, name).tolist() for name in NAMES] == expected


def test_step_2_no_python_mode_gives_the_place(model, x):
    with pytest.raises(Unsupported) as caught, torchdynamo.optimize("eager", nopython=True):
        model(x, "a")
    assert (caught.value.real_stack[-1].filename, caught.value.real_stack[-1].lineno) == (__file__, BREAK_LINE)
    assert [line.name for line in caught.value.real_stack] == ["forward", "remember"]


def test_step_3_the_cache_limit_warns_once_and_names_the_guard(model, x, caplog):
    compiled = minidynamo.compile(model)
    for number in range(12):
        compiled(x, "n" * (number + 1))
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.startswith("minidynamo hit config.recompile_limit (8)\n   function: 'forward' (")
    assert "8 times: EQUALS_MATCH of L['name']" in warning


def test_step_3_a_higher_limit_serves_a_bounded_number_of_kinds(model, x, caplog):
    with minidynamo._dynamo.config.patch(cache_size_limit=12):
        compiled = minidynamo.compile(model)
        for _ in range(2):
            for number in range(12):
                compiled(x, "n" * (number + 1))
    assert [record for record in caplog.records if record.levelno == logging.WARNING] == []


def test_step_4_debug_shows_graphs_and_guards(model, x, caplog):
    minidynamo._dynamo.config.debug = True
    try:
        with caplog.at_level(logging.DEBUG, "minidynamo"):
            minidynamo.compile(model)(x, "a")
    finally:
        minidynamo._dynamo.config.debug = False
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "class GraphModule" in text and "GUARDS: forward (" in text


def test_step_5_mended(x):
    """The fix that the report suggests: the call that breaks is gone, and the varying value is a number that is only
    used in tensors."""
    model = Mended()
    count = CompileCounter()
    compiled = minidynamo.compile(model, fullgraph=True, backend=count)
    for number in range(2, 30):
        assert compiled(x, number).tolist() == model(x, number).tolist()
    assert count.frame_count <= 2
    profiler = torchdynamo.utils.CompilationProfiler()
    with torchdynamo.optimize(profiler):
        for number in range(2, 6):
            model(x, number)
    assert profiler.graph_breaks == []
