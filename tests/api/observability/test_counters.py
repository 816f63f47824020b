"""utils.counters, utils.compile_times and the callbacks."""

import collections
import sys

import pytest

import minidynamo
from minidynamo._dynamo.callback import CallbackTrigger, callback_handler, on_compile_end, on_compile_start
from minidynamo._dynamo.utils import compile_times, counters

pytestmark = pytest.mark.counts_regions


def broken(x):
    y = x + 1
    minidynamo._dynamo.graph_break()
    return y * 2


@pytest.fixture(autouse=True)
def clear():
    counters.clear()
    yield
    callback_handler.clear()


def test_counters():
    assert dict(counters) == {}
    captured = minidynamo.compile(broken)
    captured(minidynamo.ones(2))
    captured(minidynamo.ones(2))
    title = "Call to `minidynamo._dynamo.graph_break()`"
    (found,) = counters["graph_break"]
    assert "graph_break" in found or found == title
    assert counters["graph_break"][found] == 1
    assert counters["frames"] == {"total": 2, "ok": 2}
    assert counters["stats"] == {"calls_captured": 2, "unique_graphs": 2}
    assert isinstance(counters["frames"], collections.Counter)
    assert "recompiles" not in counters
    captured(minidynamo.ones(2, dtype=minidynamo.float64))
    assert counters["recompiles"] == {"total": 2}
    assert counters["stats"]["unique_graphs"] == 4


def test_counters_as_programs_use_them():
    before = counters["stats"]["unique_graphs"]
    minidynamo.compile(broken)(minidynamo.ones(2))
    assert counters["stats"]["unique_graphs"] == before + 2
    assert sorted(counters) == sorted(counters.keys()) and len(counters) >= 3
    assert {group: dict(counter) for group, counter in counters.items()}["frames"]["ok"] == 2
    assert sum(counters["graph_break"].values()) == 1
    assert counters.get("nothing") is None and "nothing" not in counters
    counters.clear()
    assert not counters["graph_break"] and counters["frames"]["total"] == 0


def test_counters_outlive_a_reset():
    minidynamo.compile(broken)(minidynamo.ones(2))
    assert counters["frames"]["ok"] == 2
    minidynamo._dynamo.reset()
    assert counters["frames"]["ok"] == 2
    minidynamo.compile(broken)(minidynamo.ones(2))
    assert counters["frames"]["ok"] == 4


def test_a_capture_that_raises_is_counted_but_not_ok():
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        minidynamo.compile(broken, fullgraph=True)(minidynamo.ones(2))
    assert counters["frames"] == {"total": 1}
    assert sum(counters["graph_break"].values()) == 1


def test_refused_look_ups():
    captured = minidynamo.compile(lambda x: x + 1, recompile_limit=1)
    captured(minidynamo.ones(2))
    for _ in range(3):
        captured(minidynamo.ones(2, 2))
    assert counters["recompiles"] == {"refused": 3}


def test_compile_times():
    headers, values = compile_times(repr="csv")
    assert headers == ["capture", "capture.walk", "capture.plan"]
    assert values == ["", "", ""]
    captured = minidynamo.compile(broken)
    captured(minidynamo.ones(2))
    headers, values = compile_times(repr="csv")
    split = [[float(each) for each in value.split(", ")] for value in values]
    assert [len(each) for each in split] == [2, 2, 2]
    for whole, walk, plan in zip(*split, strict=True):
        assert whole == pytest.approx(walk + plan, abs=2e-6) and walk > 0
    (total, *_) = compile_times(repr="csv", aggregate=True)[1]
    assert float(total) == pytest.approx(sum(split[0]), abs=4e-6)
    captured(minidynamo.ones(2))  # from the cache: nothing is captured
    assert compile_times(repr="csv")[1] == values
    minidynamo._dynamo.reset()
    assert compile_times(repr="csv")[1] == ["", "", ""]


def test_compile_times_as_text():
    minidynamo.compile(broken)(minidynamo.ones(2))
    lines = compile_times().splitlines()
    assert lines[0] == "minidynamo compilation metrics:"
    assert lines[1].split() == ["Function", "Runtimes", "(s)"]
    assert set(lines[2]) == {"-", " "}
    assert [line.split()[0] for line in lines[3:]] == ["capture", "capture.walk", "capture.plan"]
    assert len(lines[3].partition(" ")[2].split(",")) == 2
    assert len(compile_times(aggregate=True).splitlines()[3].split()) == 2
    with pytest.raises(ValueError, match="repr must be 'str' or 'csv', not 'json'"):
        compile_times(repr="json")


def test_many_captures_are_summed_and_the_last_ones_kept():
    from minidynamo._dynamo import config

    @minidynamo.compile
    def function(x, text):
        return x + len(text)

    with config.patch(recompile_limit=10**6, accumulated_recompile_limit=10**6):
        for length in range(50):
            function(minidynamo.ones(2), "a" * length)
    assert len(compile_times(repr="csv")[1][0].split(", ")) == 50


def test_callbacks():
    seen = []

    @on_compile_start
    def start(args):
        seen.append(("start", args.compile_id, args.callback_trigger))

    @on_compile_end
    def end(args):
        seen.append(("end", args.compile_id, args.callback_trigger))

    captured = minidynamo.compile(broken)
    captured(minidynamo.ones(2))
    captured(minidynamo.ones(2))
    frame = seen[0][1].partition("/")[0]
    assert seen == [
        (what, f"{frame}/{number}", CallbackTrigger.DYNAMO) for number in (0, 1) for what in ("start", "end")
    ]
    callback_handler.remove_start_callback(start)
    callback_handler.remove_end_callback(end)
    captured(minidynamo.ones(2, dtype=minidynamo.float64))
    assert len(seen) == 4
    with pytest.raises(ValueError):
        callback_handler.remove_start_callback(start)
    with pytest.raises(TypeError):
        on_compile_start(3)


def test_callbacks_of_a_capture_that_fails():
    seen = []
    on_compile_start(lambda args: seen.append("start"))
    on_compile_end(lambda args: seen.append("end"))
    with pytest.raises(minidynamo._dynamo.exc.Unsupported):
        minidynamo.compile(broken, fullgraph=True)(minidynamo.ones(2))
    assert seen == ["start", "end"]


def test_callbacks_inside_a_capture_do_not_count():
    seen = []
    on_compile_start(lambda args: seen.append("start"))
    on_compile_end(lambda args: seen.append("end"))

    def backend(gm, example_inputs):
        minidynamo.compile(lambda x: x - 1)(minidynamo.ones(3))
        return gm.forward

    minidynamo.compile(lambda x: x + 1, backend=backend)(minidynamo.ones(2))
    assert seen == ["start", "end"]


def test_a_callback_that_raises_changes_nothing():
    @on_compile_start
    def start(args):
        raise RuntimeError("from a callback")

    reports, hook = [], sys.unraisablehook
    sys.unraisablehook = reports.append
    try:
        assert minidynamo.compile(lambda x: x + 1)(minidynamo.ones(2)).tolist() == [2.0, 2.0]
    finally:
        sys.unraisablehook = hook
    assert [str(report.exc_value) for report in reports] == ["from a callback"]
