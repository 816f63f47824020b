"""The *args and **kwargs of a call keep their identity across a break."""

import pytest

import minidynamo
from minidynamo._dynamo import graph_break


def x():
    return minidynamo.tensor([1.0, 2.0])


def written(x, **names):
    names["more"] = 5
    graph_break()
    return x + names["more"], sorted(names)


def deleted(x, **names):
    del names["a"]
    graph_break()
    return x + len(names)


def updated_twice(x, **names):
    names["a"] += 1
    graph_break()
    names["a"] += 1
    graph_break()
    return x + names["a"]


def kept(x, *rest, **names):
    kept_rest, kept_names = rest, names
    graph_break()
    return x + 1, kept_rest is rest, kept_names is names


def kept_in_a_list(x, *rest, **names):
    made = [rest, names]
    graph_break()
    names["b"] = 2
    return x + 1, made[0] is rest, made[1] is names, sorted(made[1])


def closed_over(x, *rest, **names):
    def inner():
        names["c"] = len(rest)
        return names

    inner()
    graph_break()
    return x + names["c"], inner() is names


def passed_on(x, *rest, **names):
    out = [rest, names]
    graph_break()
    names.clear()
    return out


def without_a_break(x, *rest, **names):
    names["d"] = 1
    return x + len(rest), names


def raised_by_an_output(x, **names):
    names["more"] = 1
    try:
        print(x, file=None if x.shape[0] == 1 else names)
    except AttributeError:
        graph_break()
    return x + names["more"]


PROGRAMS = [
    written, deleted, updated_twice, kept, kept_in_a_list, closed_over, passed_on, without_a_break, raised_by_an_output,
]  # fmt: skip


def shown(value):
    if isinstance(value, minidynamo.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return value


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_eager_python(program):
    compiled = minidynamo.compile(program)
    rest = (3, 4) if program.__code__.co_flags & 4 else ()
    for _ in range(2):
        assert shown(compiled(x(), *rest, a=1)) == shown(program(x(), *rest, a=1))
