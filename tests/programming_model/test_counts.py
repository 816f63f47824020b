"""How many regions are captured, and that the same work is not captured twice."""

import logging

import pytest
from differential import count_engine

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs

pytestmark = pytest.mark.skipif(
    minidynamo._dynamo.config.snapshot_stress != 0, reason="regions end where the stress switch says"
)


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


class Growth:
    """What the engine's counters grew by in a with block."""

    def __enter__(self):
        self._before = count_engine()
        return self

    def __exit__(self, *error):
        self._after = count_engine()

    def __getattr__(self, name):
        return self._after[name] - self._before[name]


def ones(n=3):
    return minidynamo.tensor([1.0] * n)


def test_a_whole_function_is_one_graph():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: (x + 1) * 2, backend=counter)
    for _ in range(3):
        assert compiled(ones()).tolist() == [4.0] * 3
    assert (counter.frame_count, counter.op_count) == (1, 2)


def test_a_loop_of_a_thousand_turns_with_a_break():
    def loop(x):
        for i in range(1000):
            x = x + i
            graph_break()
        return x

    with Growth() as growth:
        result = minidynamo.compile(loop)(ones())
    assert result.tolist() == [1.0 + sum(range(1000))] * 3
    assert growth.regions_captured <= 3
    assert growth.recompiles == 0
    assert growth.graph_breaks >= 1


def test_a_while_loop_with_a_break():
    def loop(x, n):
        while n:
            x = x * 0.5 + 1
            graph_break()
            n -= 1
        return x

    # The counter's value is decided on, so each value is a capture of its own until the limit; then Python goes on.
    with Growth() as growth:
        assert minidynamo.compile(loop)(ones(), 100).tolist() == loop(ones(), 100).tolist()
    assert 0 < growth.recompiles <= minidynamo._dynamo.config.recompile_limit
    assert growth.limits_reached > 0


def ten_breaks(x):
    x = x + 1
    graph_break()
    x = x + 2
    graph_break()
    x = x + 3
    graph_break()
    x = x + 4
    graph_break()
    x = x + 5
    graph_break()
    x = x + 6
    graph_break()
    x = x + 7
    graph_break()
    x = x + 8
    graph_break()
    x = x + 9
    graph_break()
    x = x + 10
    graph_break()
    return x + 11


def test_ten_breaks_in_one_function_do_not_hit_the_limit(caplog):
    counter = CompileCounter()
    compiled = minidynamo.compile(ten_breaks, backend=counter)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert compiled(ones()).tolist() == [67.0] * 3
    assert (counter.frame_count, counter.op_count) == (11, 11)
    assert caplog.records == []


def three_breaks(x):
    y = x + 1
    for i in range(2):
        y = y * 2
        print("for", i)
    with minidynamo.no_grad():
        y = y + 3
        graph_break()
        y = y * 4
    return calls_inner(y) + 5


def calls_inner(y):
    return breaks_inside(y + 6) * 7


def breaks_inside(y):
    y = y * 8
    graph_break()
    return y + 9


def test_graphs_between_all_breaks(capsys):
    recorder = EagerAndRecordGraphs()
    result = minidynamo.compile(three_breaks, backend=recorder)(ones())
    printed = capsys.readouterr().out
    assert result.tolist() == three_breaks(ones()).tolist()
    assert printed == "for 0\nfor 1\n"
    operations = [
        [str(node.target) for node in gm.graph.nodes if node.op in ("call_function", "call_method")]
        for gm in recorder.graphs
    ]
    assert all(operations)
    flat = [name for graph in operations for name in graph]
    # + 1 and * 2 | * 2 | + 3 | * 4, + 6 and * 8 | + 9, * 7 and + 5
    assert len(flat) == 10 or len(flat) == 9, operations
    assert len(operations) >= 4


def test_a_nested_break_makes_one_graph_before_it_and_one_for_each_frame_after_it():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: calls_inner(x + 1) + 2, backend=counter)
    for _ in range(3):
        compiled(ones())
    # + 1, + 6 | * 8 | + 9 ... : each real frame goes on with a graph of its own
    assert (counter.frame_count, counter.op_count) == (4, 6)


def test_without_nested_breaks_each_level_is_captured_by_itself():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: calls_inner(x + 1) + 2, backend=counter)
    with minidynamo._dynamo.config.patch(nested_graph_breaks=False):
        assert compiled(ones()).tolist() == (calls_inner(ones() + 1) + 2).tolist()
    # + 1 | + 6 | * 8 | + 9 | * 7 | + 2
    assert (counter.frame_count, counter.op_count) == (6, 6)


def test_one_function_with_two_backends_uses_both():
    def function(x):
        return x + 1

    first, second = CompileCounter(), CompileCounterWithBackend("onednn")
    one, other = minidynamo.compile(function, backend=first), minidynamo.compile(function, backend=second)
    for _ in range(2):
        assert one(ones()).tolist() == other(ones()).tolist() == [2.0] * 3
    assert first.frame_count == second.frame_count == 1
    assert len(second.graphs) == 1


def test_a_failed_guard_captures_again(caplog):
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter)
    minidynamo._logging.set_logs(recompiles=True)
    try:
        with caplog.at_level(logging.DEBUG, "minidynamo.recompiles"):
            compiled(ones(3))
            compiled(ones(4))
            compiled(ones(3))
    finally:
        minidynamo._logging.set_logs()
    assert counter.frame_count == 2
    (record,) = [r.getMessage() for r in caplog.records if r.name == "minidynamo.recompiles"]
    assert record.startswith("Recompiling function <lambda> in ")
    assert "size mismatch at index 0. expected 3, actual 4" in record


def test_the_limit_of_eight_and_one_warning(caplog):
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter)
    with caplog.at_level(logging.WARNING, "minidynamo"):
        for n in range(1, 13):
            assert compiled(ones(n)).tolist() == [2.0] * n
        assert counter.frame_count == 8
        compiled(ones(3))
    assert counter.frame_count == 8
    (warning,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert "config.recompile_limit (8)" in warning


def test_the_limit_counts_each_place_by_itself():
    def function(x):
        x = x + 1
        graph_break()
        return x * 2

    counter = CompileCounter()
    compiled = minidynamo.compile(function, backend=counter)
    for n in range(1, 9):
        assert compiled(ones(n)).tolist() == [4.0] * n
    assert counter.frame_count == 16


def test_numbers_are_not_captured_again():
    compiled = minidynamo.compile(lambda x, n: x * n)
    with Growth() as growth:
        for n in range(20):
            assert compiled(ones(), n).tolist() == [float(n)] * 3
    assert growth.regions_captured == 1


def test_a_function_without_tensors_is_not_captured_each_time():
    compiled = minidynamo.compile(lambda n: n + 1)
    assert compiled(1) == 2
    with Growth() as growth:
        for n in range(10):
            assert compiled(n) == n + 1
    assert growth.regions_captured <= 2


def test_changed_global_is_noticed():
    namespace = {"scale": 2}
    exec("def function(x):\n    return x * scale", namespace)
    compiled = minidynamo.compile(namespace["function"])
    assert compiled(ones()).tolist() == [2.0] * 3
    namespace["scale"] = "no number"
    with pytest.raises(TypeError):
        compiled(ones())
    namespace["scale"] = 5
    assert compiled(ones()).tolist() == [5.0] * 3


def test_replaced_method_is_noticed():
    class Model:
        def forward(self, x):
            return x + 1

    model = Model()
    compiled = minidynamo.compile(lambda x: model.forward(x))
    assert compiled(ones()).tolist() == [2.0] * 3
    Model.forward = lambda self, x: x + 10
    assert compiled(ones()).tolist() == [11.0] * 3
    model.forward = lambda x: x + 100
    assert compiled(ones()).tolist() == [101.0] * 3


def test_grad_mode_is_guarded():
    compiled = minidynamo.compile(lambda x: (x + 1, minidynamo.is_grad_enabled()))
    assert compiled(ones())[1] is True
    with minidynamo.no_grad():
        assert compiled(ones())[1] is False
    assert compiled(ones())[1] is True


def test_default_dtype_is_guarded():
    compiled = minidynamo.compile(lambda: minidynamo.ones(2))
    assert compiled().dtype == minidynamo.float32
    minidynamo.set_default_dtype(minidynamo.float64)
    try:
        assert compiled().dtype == minidynamo.float64
    finally:
        minidynamo.set_default_dtype(minidynamo.float32)


def test_captures_die_with_what_they_hold():
    import gc
    import weakref

    class Model:
        def __init__(self):
            self.weight = ones()

        def __call__(self, x):
            return x * self.weight

    model = Model()
    compiled = minidynamo.compile(lambda m, x: m(x))
    compiled(model, ones())
    dead = weakref.ref(model)
    del model
    gc.collect()
    assert dead() is None
    assert compiled(Model(), ones()).tolist() == [1.0] * 3
