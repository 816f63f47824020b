"""The logs plan, kernels and perf: what is fused, which kernel computes it, how long it takes."""

import logging
import re

import pytest

import minidynamo
from minidynamo import _C, _dynamo
from minidynamo._dynamo import mark_dynamic


class Records(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append((record.name.rpartition(".")[2], record.getMessage()))

    def take(self, name):
        found = [text for artifact, text in self.texts if artifact == name]
        self.texts = [each for each in self.texts if each[0] != name]
        return found


@pytest.fixture
def records():
    _dynamo.reset()
    handler = Records()
    logging.getLogger().addHandler(handler)
    minidynamo._logging.set_logs(plan=True, kernels=True, perf=True)
    yield handler
    minidynamo._logging.set_logs()
    logging.getLogger().removeHandler(handler)


def layer(x, w):
    y = (x @ w + 1).relu()
    return y.t(), y.softmax(1)


# Large enough for a oneDNN primitive.
ROWS, INNER, COLUMNS = 128, 64, 96


def arguments():
    return minidynamo.ones(ROWS, INNER), minidynamo.ones(INNER, COLUMNS)


PLACE = f"layer ({__file__}:{layer.__code__.co_firstlineno + 1})"


def test_plan(records):
    minidynamo.compile(layer)(*arguments())
    (text,) = records.take("plan")
    lines = text.split("\n")
    assert lines[0].startswith(f"PLAN of {PLACE}: 5 operations in 2 steps, ")
    assert "holds matmul, add, relu" in text and "no step, views only: t" in text
    assert "softmax: has a kernel of its own and reads relu from memory" in text


def test_kernels(records):
    minidynamo.compile(layer)(*arguments())
    (text,) = records.take("kernels")
    assert text.startswith(f"KERNELS of {PLACE}: ")
    first, second = re.findall(r"\n    (.*); ([\d.]+ k?B) moved, ([\d.]+ [kM]?FLOP), [\d.]+ us estimated", text)
    inputs, product = 4 * (ROWS * INNER + INNER * COLUMNS), 4 * ROWS * COLUMNS
    assert first[0].startswith("own ") and second[0] == "a kernel of its own"
    flops = 2 * ROWS * INNER * COLUMNS + 2 * ROWS * COLUMNS
    assert first[1:] == (f"{(inputs + product) / 1000:.0f} kB", f"{flops / 1e6:.2f} MFLOP")
    assert second[1:] == (f"{2 * product / 1000:.1f} kB", f"{12 * ROWS * COLUMNS / 1000:.0f} kFLOP")


def test_perf_logs_runs_1_and_10_and_100(records):
    compiled = minidynamo.compile(layer)
    for _ in range(120):
        compiled(*arguments())
    texts = records.take("perf")
    assert [re.match(r"PERF of .* after (\d+) runs?: ", text)[1] for text in texts] == ["1", "10", "100"]
    for text in texts:
        steps = re.findall(r"\n  step \d+: fastest ([\d.]+) us, mean ([\d.]+) us.*; (\w+)", text)
        assert [name for _, _, name in steps] == ["matmul", "kernel"], text
        assert all(float(fastest) <= float(mean) for fastest, mean, _ in steps)
        assert len(re.findall(r"B/s.*, \d+ % of the bound; ", text)) == 2, text


def test_each_set_of_sizes_has_its_plan(records):
    def twice(x):
        return x * 2

    compiled = minidynamo.compile(twice)
    for size in (3, 4, 5):
        x = minidynamo.ones(size)
        mark_dynamic(x, 0)
        assert compiled(x).tolist() == [2.0] * size
    texts = records.take("plan")
    assert [re.search(r" for (\w+ = \d+): ", text)[1] for text in texts] == ["s0 = 3", "s0 = 4", "s0 = 5"]


def test_nothing_is_measured_if_the_log_is_off(records):
    minidynamo._logging.set_logs()
    minidynamo.compile(layer)(*arguments())
    assert records.texts == []
    (captured,) = _C.code_captures(layer.__code__)[0]
    assert captured["plan"]["runs"] == 0 and captured["plan"]["fastest_ns"] is None
    assert len(captured["plan"]["steps"]) == 2


def test_random_numbers_are_drawn_once(records):
    def draws(x):
        return x + minidynamo.rand(3)

    minidynamo.manual_seed(3)
    plain = draws(minidynamo.zeros(3)).tolist()
    minidynamo.manual_seed(3)
    assert minidynamo.compile(draws)(minidynamo.zeros(3)).tolist() == plain
    assert len(records.take("perf")) == 1


def test_facts_of_a_lowered_graph():
    graph = _C.Graph.parse("%x = input x : f32[3][1]\n%exp = exp(%x) : f32[3][1]\nreturn %exp\n")
    facts = graph.lower().facts()
    (step,) = facts["steps"]
    assert step["nodes"] == ["exp"] and step["bytes"] == 24 and facts["runs"] == 0
