"""Iterators over containers that change during the iteration: random programs, plain and compiled."""

import collections
import random

import pytest

import minidynamo
from minidynamo import ones
from minidynamo._dynamo import config, graph_break

ITERATED = ("l", "l", "a", "a", "m", "d", "q", "m.items()", "d.values()")
ITERATORS = ("iter({})", "enumerate({})", "zip({}, l)", "map(str, {})", "filter(None, {})", "iter(list({}))")
BACKWARDS = ("reversed({})", "enumerate(reversed({}))", "zip(reversed({}), a)")
SEQUENCE_CHANGES = (
    "{0}.append({1})",
    "{0}.extend(({1}, {1}))",
    "{0}.clear()",
    "{0}.reverse()",
    "if {0}: {0}.pop()",
    "if {0}: {0}[0] = {1}",
)
# No popitem: it changes where the dict puts its next key, which an iterator in the middle of the dict can notice.
DICT_CHANGES = ("{0}['k{1}'] = {1}", "{0}.pop('a', 0)", "{0}['b'] = {1}", "{0}.clear()", "{0}.update(z=1)")
TAKEN = ("next({}, 'end')", "next({}, 'end')", "list({})")


def outcome_of(take):
    return [f"    try: out.append({take})", "    except RuntimeError as error: out.append(str(error))"]


def random_program(seed):
    """Two lists, two dicts and a deque, one of each passed in by the caller; iterators over them, advanced and
    affected by changes."""
    choose = random.Random(seed)
    lines = ["def f(x, a, d, q):", "    out, l, m = [], [1, 2, 3, 4], {'a': 1, 'b': 2, 'c': 3}"]
    iterators = []
    for step in range(choose.randint(6, 22)):
        kind = choose.random()
        if kind < 0.25 or not iterators:
            container = choose.choice(ITERATED)
            forms = ITERATORS + BACKWARDS if container in "laq" else ITERATORS
            iterators.append(f"i{len(iterators)}")
            lines.append(f"    {iterators[-1]} = {choose.choice(forms).format(container)}")
        elif kind < 0.62:
            lines += outcome_of(choose.choice(TAKEN).format(choose.choice(iterators)))
        elif kind < 0.85:
            lines.append("    " + choose.choice(SEQUENCE_CHANGES).format(choose.choice("laq"), step))
        elif kind < 0.93:
            lines.append("    " + choose.choice(DICT_CHANGES).format(choose.choice("md"), step))
        else:
            lines.append("    graph_break()")
    kept = iterators if choose.random() < 0.5 else []
    for iterator in iterators if not kept else []:
        lines += outcome_of(f"list({iterator})")
    return "\n".join([*lines, f"    return x + 1, [{', '.join(kept)}], [out, l, m, a, d, q]"])


def rest_of(iterator):
    try:
        return list(iterator)
    except RuntimeError as error:
        return str(error)


def run(function):
    _, kept, rest = function(ones(1), [10, 20, 30], {"a": 5, "z": 6}, collections.deque([1, 2, 3]))
    return [rest_of(iterator) for iterator in kept], rest


def check(seed):
    program = random_program(seed)
    plain, compiled = {"graph_break": lambda: None}, {"graph_break": graph_break}
    exec(program, plain)
    exec(program, compiled)
    function = minidynamo.compile(compiled["f"])
    expected = run(plain["f"])
    with config.patch(recompile_limit=64):
        for _ in range(2):
            assert run(function) == expected, f"program {seed}:\n{program}"


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_iterators_notice_changes(first):
    for seed in range(first, first + 50):
        check(seed)
    minidynamo._dynamo.reset()


COUNTED = {
    "map": lambda numbers: map(abs, numbers),
    "filter": lambda numbers: filter(None, numbers),
    "zip": lambda numbers: zip(numbers, range(9)),
    "enumerate": lambda numbers: enumerate(numbers),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_iter_is_called_once_on_an_iterator(kind):
    asked = []

    class Numbers:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            asked.append("iter")
            return self

        def __next__(self):
            asked.append("next")
            self.at += 1
            if self.at > 5:
                raise StopIteration
            return self.at

    def function():
        iterator = COUNTED[kind](Numbers())
        first = next(iterator)
        graph_break()
        return first, list(iterator)

    expected, plain = function(), list(asked)
    asked.clear()
    assert minidynamo.compile(function)() == expected
    assert asked == plain


DEQUES = ("deque()", "deque([1])", "deque([1, 2], 2)", "deque((), 0)", "deque((), 2)", "deque([1, 2, 3])")
DEQUE_CHANGES = (
    "q.append(9)",
    "q.clear()",
    "q.append(9); q.clear()",
    "q.append(9); q.pop() if q else 0",
    "q.appendleft(9); q.clear(); q.extend(())",
    "q.extend(())",
    "q.extend((5, 6)); q.clear()",
    "q.clear(); q.append(1)",
    "q.rotate(1)",
    "q.reverse()",
)


@pytest.mark.parametrize("made", DEQUES)
@pytest.mark.parametrize("change", DEQUE_CHANGES)
def test_iterators_notice_changes_that_leave_the_elements_alone(made, change):
    program = f"""
def f(x, q):
    i, out = iter(q), []
    graph_break()
    {change}
    x = x + 1
    for _ in range(2):
        try: out.append(list(i))
        except RuntimeError as error: out.append(str(error))
    return out, list(q)
"""
    plain, compiled = {"graph_break": lambda: None}, {"graph_break": graph_break}
    exec(program, plain)
    exec(program, compiled)
    make = lambda: eval(made, {"deque": collections.deque})  # noqa: E731
    expected, function = plain["f"](ones(1), make()), minidynamo.compile(compiled["f"])
    for _ in range(2):
        assert function(ones(1), make()) == expected


class Holder:
    pass


MAKERS = {
    "range": lambda: iter(range(5)),
    "list": lambda: iter([1, 2, 3, 4]),
    "tuple": lambda: iter((1, 2, 3, 4)),
    "str": lambda: iter("abcd"),
    "reversed": lambda: reversed([1, 2, 3, 4]),
    "dict": lambda: iter({1: 2, 3: 4, 5: 6}),
    "enumerate": lambda: enumerate([1, 2, 3, 4]),
    "zip": lambda: zip([1, 2, 3, 4], "abcd"),
    "map": lambda: map(str, [1, 2, 3, 4]),
    "filter": lambda: filter(None, [1, 2, 3, 4]),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_an_iterator_with_several_references_stays_one_object(kind):
    make = MAKERS[kind]
    minidynamo._dynamo.reset()  # the kinds share one code object, and its limit

    def hold(x):
        iterator = make()
        next(iterator)
        first, second = Holder(), Holder()
        first.held = iterator
        second.held = iterator
        return first, second, [iterator, [iterator]], {"it": iterator}, x + 1

    for compiled in (hold, minidynamo.compile(hold), minidynamo.compile(hold, fullgraph=True)):
        first, second, items, names, _ = compiled(minidynamo.ones(2))
        assert first.held is second.held is items[0] is items[1][0] is names["it"]
        assert [next(first.held), next(second.held)] == list(MAKERS[kind]())[1:3]


def test_an_iterator_inside_its_own_container_keeps_its_position():
    def hold(x):
        items = [0, 1]
        holder = Holder()
        holder.forwards = iter(items)
        next(holder.forwards)
        next(holder.forwards)
        items += [holder, 3, 4]
        holder.backwards = reversed(items)
        next(holder.backwards)
        return items, x + 1

    for compiled in (hold, minidynamo.compile(hold)):
        items, _ = compiled(minidynamo.ones(2))
        holder = items[2]
        assert next(holder.forwards) is holder and list(holder.forwards) == [3, 4]
        assert next(holder.backwards) == 3 and next(holder.backwards) is holder and list(holder.backwards) == [1, 0]
