"""A code object with very many regions: the cost of one of them does not grow with their number."""

import gc

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions


def counts_of_two_calls(captured, result):
    """Returns how many regions ran and how many cache buckets were visited, cold and warm."""
    counts = []
    for _ in range(2):
        before = dict(minidynamo._C.engine_counters())
        assert captured(minidynamo.tensor([0.0])).tolist() == [result]
        now = minidynamo._C.engine_counters()
        counts.append(tuple(now[name] - before[name] for name in ("regions_run", "cache_places_visited")))
    return counts


def visited(parts):
    """Returns how many cache buckets one cold and one warm call of a function with this many breaks visited."""
    lines = "\n".join("    x = x + 1\n    minidynamo._dynamo.graph_break()" for _ in range(parts))
    namespace = {"minidynamo": minidynamo}
    exec(f"def broken(x):\n{lines}\n    return x + 1", namespace)  # noqa: S102
    captured = minidynamo.compile(namespace["broken"])
    counts = counts_of_two_calls(captured, parts + 1.0)
    assert all(regions > parts for regions, _ in counts)
    return [places for _, places in counts]


def test_four_times_the_regions_cost_about_four_times_as_much():
    few, many = visited(50), visited(200)
    for of_few, of_many in zip(few, many, strict=True):
        assert 0 < of_many < 7 * of_few


class Level:
    value = 1.0


def test_an_entry_whose_object_died_is_swept_at_the_next_one():
    def add(x, level):
        return x + level.value

    captured = minidynamo.compile(add)
    x = minidynamo.tensor([1.0])
    for number in range(30):
        kind = type("Kind", (Level,), {"value": float(number)})
        assert captured(x, kind).tolist() == [1.0 + number]
        del kind
        gc.collect()
    before = dict(minidynamo._C.engine_counters())
    assert captured(x, Level).tolist() == [2.0]
    assert minidynamo._C.engine_counters()["limits_reached"] == before["limits_reached"]


def reached_by(paths):
    """Returns how many cache buckets a function visited that breaks below `paths` different callers, cold and warm."""
    lines = "\n".join(f"def path_{number}(x):\n    return broken(x) + {number}" for number in range(paths))
    calls = "\n".join(f"    x = path_{number}(x)" for number in range(paths))
    namespace = {"minidynamo": minidynamo}
    program = f"def broken(x):\n    x = x + 1\n    minidynamo._dynamo.graph_break()\n    return x * 1\n{lines}\ndef all_paths(x):\n{calls}\n    return x"
    exec(program, namespace)  # noqa: S102
    captured = minidynamo.compile(namespace["all_paths"])
    return [places for _, places in counts_of_two_calls(captured, paths + sum(range(paths)))]


def test_four_times_the_callers_cost_about_four_times_as_much():
    few, many = reached_by(30), reached_by(120)
    for of_few, of_many in zip(few, many, strict=True):
        assert 0 < of_many < 7 * of_few
