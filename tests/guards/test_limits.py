"""The recompile limits: what is captured, what is reported, what raises, and that existing captures remain in use."""

import linecache
import logging
import weakref

import pytest

import minidynamo
from minidynamo._dynamo import config, error_on_graph_break
from minidynamo._dynamo.exc import FailOnRecompileLimitHit, RecompileError, Unsupported
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions


def add_length(x, text):
    return x + len(text)


def texts(count, first=0):
    return ["a" * number for number in range(first, first + count)]


def warnings_in(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_the_warning(caplog):
    captured = minidynamo.compile(add_length)
    x = minidynamo.ones(2)
    for text in texts(20):
        assert captured(x, text).tolist() == [1.0 + len(text)] * 2
    (warning,) = warnings_in(caplog)
    lines = warning.splitlines()
    code = add_length.__code__
    assert lines[:2] == [
        "minidynamo hit config.recompile_limit (8)",
        f"   function: 'add_length' ({__file__}:{code.co_firstlineno})",
    ]
    assert lines[2].startswith("   last reason: ") and lines[2].endswith("/7: L['text'] == 'aaaaaaa'")
    assert lines[3:6] == ["   guards that kept failing:", "   8 times: EQUALS_MATCH of L['text']", "User stack trace:"]
    line = code.co_firstlineno
    assert lines[6:] == [
        f'  File "{__file__}", line {line}, in add_length',
        "    " + linecache.getline(__file__, line).strip(),
        'To log all recompilation reasons, use MINIDYNAMO_LOGS="recompiles".',
        "To diagnose recompilation issues, see docs/troubleshooting.md",
    ]


def test_the_warning_from_deep_calls_is_as_long(caplog):
    captured = minidynamo.compile(add_length)

    def call(depth, text):
        return call(depth - 1, text) if depth else captured(minidynamo.ones(2), text)

    for text in texts(20):
        call(200, text)
    (warning,) = warnings_in(caplog)
    assert [line.strip() for line in warning.splitlines() if line.startswith("  File ")] == [
        f'File "{__file__}", line {add_length.__code__.co_firstlineno}, in add_length'
    ]


def test_failures_are_counted_by_guard(caplog):
    captured = minidynamo.compile(add_length, recompile_limit=4)
    captured(minidynamo.ones(2), "a")
    captured(minidynamo.ones(2), "ab")
    captured(minidynamo.ones(2, 2), "ab")
    captured(minidynamo.ones(2, 2), "abc")
    captured(minidynamo.ones(2, 2), "abcd")
    (warning,) = warnings_in(caplog)
    counted = [line.strip() for line in warning.splitlines() if " time" in line and ": " in line]
    assert counted == ["3 times: EQUALS_MATCH of L['text']", "1 time: tensor 'x' rank mismatch"]


def test_existing_captures_still_serve():
    count = CompileCounter()
    captured = minidynamo.compile(add_length, backend=count, recompile_limit=3)
    x = minidynamo.ones(2)
    for text in texts(10):
        captured(x, text)
    assert count.frame_count == 3
    counters = minidynamo._C.engine_counters()
    for text in texts(3):
        assert captured(x, text).tolist() == [1.0 + len(text)] * 2
    assert minidynamo._C.engine_counters()["limits_reached"] == counters["limits_reached"]
    assert minidynamo._C.engine_counters()["regions_run"] == counters["regions_run"] + 3


def test_under_fullgraph():
    captured = minidynamo.compile(add_length, fullgraph=True, recompile_limit=2)
    x = minidynamo.ones(2)
    for text in texts(2):
        captured(x, text)
    for _ in range(2):
        with pytest.raises(FailOnRecompileLimitHit) as caught:
            captured(x, "abc")
        assert str(caught.value).startswith(
            "Hard failure due to fullgraph=True\nminidynamo hit config.recompile_limit (2)\n"
        )
        assert "EQUALS_MATCH of L['text']" in str(caught.value)
    assert captured(x, "a").tolist() == [2.0, 2.0]


def inner_break(x, text):
    minidynamo._dynamo.graph_break()
    return x + len(text)


@pytest.mark.parametrize("where", ["entry", "in a loop", "inside a decorated function"])
def test_under_error_on_graph_break(where):
    x = minidynamo.ones(2)
    if where == "entry":
        captured = minidynamo.compile(add_length, recompile_limit=2)

        def call(text):
            with error_on_graph_break(True):
                return captured(x, text)

    elif where == "in a loop":
        # The interpreter runs a loop over a pre-existing iterator, which is no graph break: a region starts in the
        # body.
        def program(x, text, items):
            for _ in items:
                x = x + len(text)
            return x

        captured = minidynamo.compile(program, recompile_limit=2)

        def call(text):
            with error_on_graph_break(True):
                return captured(x, text, iter([1]))

    else:

        @error_on_graph_break(True)
        def strict(x, text):
            return x + len(text)

        def program(x, text):
            return strict(x, text)

        captured = minidynamo.compile(program, recompile_limit=2)
        outer = captured

        def call(text):
            with error_on_graph_break(True):
                return outer(x, text)

    for text in texts(2):
        assert call(text).tolist() == [1.0 + len(text)] * 2
    with pytest.raises(Unsupported) as caught:
        call("abcd")
    assert caught.value.gb_id == "MD0057"
    assert "minidynamo hit config.recompile_limit (2)" in str(caught.value)
    assert call("").tolist() == [1.0, 1.0]


@error_on_graph_break(True)
def strict_length(x, text):
    return x + len(text)


def with_a_block(x, text):
    with error_on_graph_break(True):
        y = x + len(text)
    return y * 1


def with_a_decorated_callee(x, text):
    return strict_length(x, text) * 1


def after_a_break(x, text):
    y = x * 1
    minidynamo._dynamo.graph_break()
    with error_on_graph_break(True):
        return y + len(text)


@pytest.mark.parametrize("function", [with_a_block, with_a_decorated_callee, after_a_break])
def test_a_region_that_starts_outside_of_what_allows_no_breaks(function, caplog):
    captured = minidynamo.compile(function, recompile_limit=2)
    x = minidynamo.ones(2)
    for text in texts(2):
        assert captured(x, text).tolist() == [1.0 + len(text)] * 2
    for _ in range(2):
        with pytest.raises(Unsupported, match="recompile_limit"):
            captured(x, "abcd")
    assert captured(x, "a").tolist() == [2.0, 2.0]
    assert minidynamo._C._error_on_graph_break() is False


def test_fail_on_recompile_limit_hit():
    captured = minidynamo.compile(add_length, recompile_limit=1)
    x = minidynamo.ones(2)
    captured(x, "a")
    with config.patch(fail_on_recompile_limit_hit=True):
        with pytest.raises(FailOnRecompileLimitHit, match="Hard failure due to fail_on_recompile_limit_hit"):
            captured(x, "ab")
        assert captured(x, "a").tolist() == [2.0, 2.0]


def test_error_on_recompile():
    captured = minidynamo.compile(add_length)
    x = minidynamo.ones(2)
    captured(x, "a")
    with config.patch(error_on_recompile=True):
        assert captured(x, "a").tolist() == [2.0, 2.0]
        with pytest.raises(RecompileError) as caught:
            captured(x, "ab")
    assert str(caught.value).startswith("Recompiling function add_length in ")
    assert "/0: L['text'] == 'a'" in str(caught.value)
    assert captured(x, "ab").tolist() == [3.0, 3.0]


def test_the_alias():
    with config.patch(cache_size_limit=2):
        assert config.recompile_limit == 2
        count = CompileCounter()
        captured = minidynamo.compile(add_length, backend=count)
        for text in texts(5):
            captured(minidynamo.ones(2), text)
        assert count.frame_count == 2


def test_captures_are_shared_unless_they_are_isolated():
    count = CompileCounter()
    x = minidynamo.ones(2)
    for _ in range(3):
        minidynamo.compile(add_length, backend=count)(x, "a")
    assert count.frame_count == 1
    for _ in range(3):
        minidynamo.compile(add_length, backend=count, isolate_recompiles=True)(x, "a")
    assert count.frame_count == 4


def test_an_isolated_function_has_a_limit_of_its_own(caplog):
    count = CompileCounter()
    x = minidynamo.ones(2)
    for first in (0, 10):
        captured = minidynamo.compile(add_length, backend=count, isolate_recompiles=True, recompile_limit=2)
        for text in texts(4, first):
            captured(x, text)
    assert count.frame_count == 4
    assert len(warnings_in(caplog)) == 2


def test_the_accumulated_limit(caplog):
    count = CompileCounter()
    x = minidynamo.ones(2)
    with config.patch(accumulated_recompile_limit=3):
        compiled = [minidynamo.compile(add_length, backend=count, isolate_recompiles=True) for _ in range(5)]
        for function in compiled:
            assert function(x, "a").tolist() == [2.0, 2.0]
        assert count.frame_count == 3
        with pytest.raises(FailOnRecompileLimitHit, match="accumulated_recompile_limit"):
            minidynamo.compile(add_length, backend=count, fullgraph=True)(x, "a")


def test_captures_die_with_their_backend():
    """A capture for a backend that is gone, or of an isolated function that is gone, does not count."""
    x = minidynamo.ones(2)
    with config.patch(accumulated_recompile_limit=3):
        for _ in range(6):
            count = CompileCounter()
            assert minidynamo.compile(add_length, backend=count)(x, "a").tolist() == [2.0, 2.0]
            assert count.frame_count == 1
        for options in ({"isolate_recompiles": True}, {"options": {"guard_filter_fn": keep_all}}):
            count = CompileCounter()
            for number in range(6):
                minidynamo.compile(add_length, backend=count, **options)(x, "a")
                assert count.frame_count == number + 1


def keep_all(guards):
    return [True for _ in guards]


def test_a_backend_dies_with_its_captures():
    class Backend:
        def __call__(self, gm, example_inputs):
            return gm.forward

    backend = Backend()
    died = weakref.ref(backend)
    captured = minidynamo.compile(add_length, backend=backend)
    captured(minidynamo.ones(2), "a")
    del captured, backend
    assert died() is None


def test_the_accumulated_limit_is_of_one_place():
    """A function with many breaks has as many places, each with its own captures."""

    def program(x):
        for _ in range(6):
            x = x + 1
            minidynamo._dynamo.graph_break()
        return x

    with config.patch(accumulated_recompile_limit=2):
        assert minidynamo.compile(program)(minidynamo.zeros(1)).tolist() == [6.0]


def test_numbers_that_only_feed_tensors_are_captured_once():
    class Counting:
        n = 0

        def __call__(self, x, scale, shift):
            self.n += 1
            return (x * scale + shift).sum() + self.n

    counting = Counting()
    counting.n = 0
    count = CompileCounter()
    captured = minidynamo.compile(counting, backend=count)
    x = minidynamo.ones(3)
    for number in range(2, 30):
        assert captured(x, number, number / 2).item() == 3 * (number + number / 2) + number - 1
    assert count.frame_count <= 2
    assert counting.n == 28


def test_numbers_that_only_feed_shapes_are_captured_twice():
    count = CompileCounter()
    captured = minidynamo.compile(lambda x, n: x.reshape(n, -1).sum(1), backend=count)
    for number in (2, 3, 4, 6, 8, 12):
        assert captured(minidynamo.ones(24), number).tolist() == [24.0 / number] * number
    assert count.frame_count <= 2


def test_functions_without_operations_cause_no_warning(caplog):
    captured = minidynamo.compile(lambda text: text + "!", recompile_limit=1)
    for text in texts(20):
        assert captured(text) == text + "!"
    assert warnings_in(caplog) == []


def test_fail_on_recompile_has_the_reason():
    captured = minidynamo.compile(add_length)
    captured(minidynamo.ones(2), "a")
    with minidynamo.compiler.set_stance("fail_on_recompile"):
        assert captured(minidynamo.ones(2), "a").tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError) as caught:
            captured(minidynamo.ones(2), "b" * 3)
    code = add_length.__code__
    assert str(caught.value).startswith(
        "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
        f"filename: '{__file__}', function name: 'add_length', line number: {code.co_firstlineno}\n"
    )
    assert "/0: L['text'] == 'a'" in str(caught.value)
