"""How many regions are captured, and that the same code is not captured twice."""

import logging

import pytest
from differential import count_engine

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.testing import CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


class Growth:
    """The growth of the engine's counters in a with block."""

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

    # From the second value of the counter on it is dynamic: one capture serves all later ones.
    with Growth() as growth:
        assert minidynamo.compile(loop)(ones(), 100).tolist() == loop(ones(), 100).tolist()
    assert growth.recompiles <= 2
    assert growth.limits_reached == 0


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
        graph_break()
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
    # + 1 and * 2 | * 2 | + 3 | * 4, + 6 and * 8 | + 9, * 7 and + 5: no_grad ends between * 4 and + 6
    assert [len(graph) for graph in operations] == [2, 1, 1, 3, 3], operations


def test_a_nested_break_makes_one_graph_before_it_and_one_after_it():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: calls_inner(x + 1) + 2, backend=counter)
    for _ in range(3):
        compiled(ones())
    # + 1, + 6 and * 8 | + 9, * 7 and + 2
    assert (counter.frame_count, counter.op_count) == (2, 6)


class Doubled:
    def __init__(self, x):
        self.x = x * 2
        graph_break()
        self.y = self.x + 1

    def __contains__(self, x):
        y = x + 1
        graph_break()
        return y.shape[0] * 2

    def __bool__(self):
        graph_break()
        return self.y.shape == (3,)


def makes_an_instance(x):
    made = Doubled(x + 3)
    return made.x + made.y


def asks_for_membership(x):
    doubled = Doubled.__new__(Doubled)
    if x in doubled:
        return x * 2
    return x * 3


def branches_on_an_instance(x):
    y = x + 1
    if Doubled(y):
        return y * 2
    return y * 3


def iterates(x):
    y = x * 0
    for item in (x, x + 1):
        y = y + breaks_inside(item)
    return y


def keeps_a_stack(x):
    return [x + 1, breaks_inside(x), x + 2][1] + x


def reads_a_cell(x):
    scale = x + 1

    def inner():
        nonlocal scale
        scale = scale * 2
        graph_break()
        scale = scale + 1
        return scale * 3

    return inner() + scale


def catches_in_the_caller(x):
    try:
        y = breaks_inside(x)
        raise ValueError(y.shape)
    except ValueError as error:
        return y * error.args[0][0]


def breaks_twice_below(x):
    y = calls_inner(x)
    graph_break()
    return calls_inner(y) + 1


def recursive(x, n):
    if n == 0:
        graph_break()
        return x + 1
    y = recursive(x * 2, n - 1)
    return y + n


@pytest.mark.parametrize(
    "function",
    [makes_an_instance, asks_for_membership, branches_on_an_instance, iterates, keeps_a_stack, reads_a_cell,
     catches_in_the_caller, breaks_twice_below, lambda x: recursive(x, 5)],
    ids=lambda function: function.__name__,
)  # fmt: skip
@pytest.mark.parametrize("stress", [0, 1, 2, 5])
def test_callers_after_a_nested_break(function, stress):
    expected = function(ones()).tolist()
    with minidynamo._dynamo.config.patch(snapshot_stress=stress):
        compiled = minidynamo.compile(function, backend="eager")
        for _ in range(3):
            assert compiled(ones()).tolist() == expected
    minidynamo._dynamo.reset()


def test_a_caller_that_changes_is_captured_again():
    def callee(x):
        graph_break()
        return x + 1

    def caller(x, extra):
        return callee(x) * extra

    counter = CompileCounter()
    compiled = minidynamo.compile(caller, backend=counter)
    assert compiled(ones(), ones() * 2).tolist() == [4.0] * 3
    assert compiled(ones(), (ones() * 2).to(minidynamo.float64)).dtype == minidynamo.float64
    assert compiled(ones(), ones() * 3).tolist() == [6.0] * 3
    assert counter.frame_count == 2


def test_two_callers_of_one_callee_do_not_share_later_captures():
    def callee(x):
        graph_break()
        return x + 1

    def doubles(x):
        return callee(x) * 2

    def triples(x):
        return callee(x) * 3

    twice, thrice = minidynamo.compile(doubles), minidynamo.compile(triples)
    for _ in range(2):
        assert twice(ones()).tolist() == [4.0] * 3
        assert thrice(ones()).tolist() == [6.0] * 3


def test_a_break_in_the_caller_is_an_error_of_the_caller():
    from minidynamo._dynamo import error_on_graph_break
    from minidynamo._dynamo.exc import Unsupported

    @error_on_graph_break(False)
    def callee(x):
        try:
            graph_break()
            return x + 1
        except Unsupported:
            return x * 5

    def caller(x):
        try:
            y = callee(x)
            graph_break()
            return y
        except Unsupported:
            return x * 7

    with error_on_graph_break(True):
        result = minidynamo.compile(caller)(ones())
    assert result.tolist() == [7.0] * 3


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
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter, dynamic=False)
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
    compiled = minidynamo.compile(function, backend=counter, dynamic=False)
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


def test_captures_die_with_the_objects_they_reference():
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
