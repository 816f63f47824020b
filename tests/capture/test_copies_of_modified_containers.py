"""An object built from a container holds the items that the container had then, whether it was written to just
before or just after."""

import array
import collections
import copy
import functools
import itertools
import operator
import types

import pytest

import minidynamo as torch

# A literal of each container, and ways to write to it.
CONTAINERS = {
    "list": ("[3, 1]", ["c.append(7)", "c[0] = 9", "c.clear()", "c.sort()"]),
    "dict": ("{'a': 1, 'b': 2}", ["c['z'] = 7", "c['a'] = 9", "c.clear()", "del c['a']"]),
    "set": ("{3, 1}", ["c.add(7)", "c.discard(3)", "c.clear()"]),
    "deque": ("collections.deque([3, 1])", ["c.append(7)", "c.appendleft(2)", "c.clear()"]),
    "bytearray": ("bytearray(b'ab')", ["c.append(99)", "c[0] = 100"]),
}
# One that does not accept a container raises, as in eager Python.
MAKERS = [
    "tuple(c)",
    "list(c)",
    "frozenset(c)",
    "dict(c)",
    "dict.fromkeys(c)",
    "sorted(c)",
    "(*c,)",
    "{**c}",
    "[i for i in c]",
    "(i for i in c)",
    "c.copy()",
    "c[:]",
    "c + c",
    "c | c",
    "slice(c, c)",
    "range(*c)",
    "iter(c)",
    "reversed(c)",
    "zip(c, c)",
    "map(str, c)",
    "enumerate(c)",
    "bytes(c)",
    "memoryview(c)",
    "f'{c}'",
    "len(c)",
    "c.keys()",
    "list(c.items())",
    "itertools.product(c)",
    "itertools.combinations(c, 1)",
    "itertools.chain(c)",
    "itertools.cycle(c)",
    "itertools.repeat(c, 2)",
    "itertools.accumulate(c)",
    "operator.itemgetter(*c)",
    "functools.partial(max, *c)",
    "functools.partial(max, c)",
    "types.MappingProxyType(c)",
    "types.SimpleNamespace(**c)",
    "types.GenericAlias(list, tuple(c))",
    "collections.deque(c, 3)",
    "collections.OrderedDict(c)",
    "collections.Counter(c)",
    "collections.defaultdict(int, c)",
    "collections.UserList(c)",
    "array.array('i', c)",
    "copy.copy(c)",
    "ValueError(c)",
    "ValueError(*c)",
    "Pair(*c)",
]
PLACES = ["given", "created in the trace"]
ORDERS = ["written before", "written after"]
Pair = collections.namedtuple("Pair", "first second")
NAMES = {module.__name__: module for module in (array, collections, copy, functools, itertools, operator, types)} | {
    "Pair": Pair
}


def program(literal, write, maker, place, order):
    steps = [f"made = {maker}"]
    steps.insert(0 if order == "written before" else 1, write)
    if place != "given":
        steps.insert(0, f"c = {literal}")
    namespace = dict(NAMES)
    exec("def function(x, c):\n" + "".join(f"    {step}\n" for step in steps) + "    return made, x + 1\n", namespace)
    return namespace["function"]


def shown(made):
    if hasattr(made, "__next__"):
        try:
            return type(made), list(itertools.islice(made, 12))
        except RuntimeError as error:  # the container as it is after the write
            return type(made), str(error)
    if isinstance(made, memoryview):
        return made.tobytes()
    return type(made), repr(made)


def outcome(function, literal):
    c = eval(literal, dict(NAMES))
    try:
        made, y = function(torch.ones(2), c)
    except Exception as error:
        return type(error), str(error), repr(c)
    return shown(made), y.tolist(), repr(c)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_an_object_built_from_a_modified_container(container, maker):
    literal, writes = CONTAINERS[container]
    for write, place, order in itertools.product(writes, PLACES, ORDERS):
        function = program(literal, write, maker, place, order)
        compiled = torch.compile(function)
        for _ in range(2):
            assert outcome(compiled, literal) == outcome(function, literal), (write, place, order)
