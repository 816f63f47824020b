"""All containers times all iterators over them: alone, under two names, advanced, exhausted, invalidated by a change, referenced by
the container that they iterate over; rebuilt at a break, plain and compiled.
"""

import pytest

import minidynamo
from minidynamo import ones

CONTAINERS = {
    "list": "[1, 2, 3]",
    "empty list": "[]",
    "list subclass": "Items([1, 2, 3])",
    "tuple": "(1, 2, 3)",
    "named tuple": "Point(1, 2)",
    "dict": "{'a': 1, 'b': 2, 'c': 3}",
    "keys": "{'a': 1, 'b': 2, 'c': 3}.keys()",
    "values": "{'a': 1, 'b': 2, 'c': 3}.values()",
    "items": "{'a': 1, 'b': 2, 'c': 3}.items()",
    "dict subclass": "Table(a=1, b=2)",
    "ordered dict": "collections.OrderedDict(a=1, b=2, c=3)",
    "ordered items": "collections.OrderedDict(a=1, b=2, c=3).items()",
    "default dict": "collections.defaultdict(list, a=1, b=2)",
    "counter": "collections.Counter('abca')",
    "set": "{1, 2, 3}",
    "frozenset": "frozenset((1, 2, 3))",
    "deque": "collections.deque([1, 2, 3])",
    "empty deque": "collections.deque()",
    "bounded deque": "collections.deque(range(9), 3)",
    "str": "'abc'",
    "str of two bytes": "'\\u0430\\u0431\\u0432'",
    "bytes": "b'abc'",
    "bytearray": "bytearray(b'abc')",
    "range": "range(1, 9, 3)",
    "array": "array.array('i', [1, 2, 3])",
    "memoryview": "memoryview(b'abc')",
    "proxy": "types.MappingProxyType({'a': 1, 'b': 2})",
    "chain map": "collections.ChainMap({'a': 1}, {'b': 2})",
    "user list": "collections.UserList([1, 2, 3])",
    "generator": "(n + 1 for n in (1, 2, 3))",
    "with getitem": "Old()",
    "with iter": "Own()",
}
ITERATORS = {
    "iter": "iter({})",
    "reversed": "reversed({})",
    "enumerate": "enumerate({}, 5)",
    "zip": "zip({}, 'xyz')",
    "zip behind": "zip('xyz', {})",
    "map": "map(shown, {})",
    "filter": "filter(None, {})",
    "chain": "itertools.chain({}, 'z')",
    "islice": "itertools.islice({}, 1, None)",
    "cycle": "itertools.islice(itertools.cycle({}), 5)",
    "accumulate": "itertools.accumulate({}, lambda a, b: (a, b))",
    "takewhile": "itertools.takewhile(bool, {})",
    "pairwise": "itertools.pairwise({})",
    "nested": "enumerate(zip({0}, iter({0})))",
    "generator": "(each for each in {})",
}
# These, with the containers above and those below, are tested in one situation each: `KIND`.
MORE_CONTAINERS = {
    "wide str": "'a\\xe9b'",
    "empty str": "''",
    "empty bytes": "b''",
    "empty tuple": "()",
    "empty range": "range(0)",
    "range of large numbers": "range(2**70, 2**70 + 5)",
    "falling range": "range(9, 0, -2)",
    "empty dict": "{}",
    "tuple subclass": "Pair((1, 2, 3))",
    "str subclass": "Text('abc')",
    "bytes subclass": "Raw(b'abc')",
    "frozenset subclass": "Frozen((1, 2))",
    "items of a proxy": "types.MappingProxyType({'a': 1, 'b': 2}).items()",
    "shape": "ones(2, 3).shape",
    "tensor": "ones(3)",
    "count": "itertools.islice(itertools.count(3), 4)",
    "repeat": "itertools.repeat(4, 3)",
    "product": "itertools.product('ab', (1, 2))",
    "attributes": "vars(types.SimpleNamespace(a=1))",
    "named fields": "time.gmtime(0)",
    "called until": "iter([1, 2, 3].pop, 1)",
}
MORE_ITERATORS = {
    "starmap": "itertools.starmap(max, zip({0}, {0}))",
    "zip_longest": "itertools.zip_longest({}, 'abcd')",
    "dropwhile": "itertools.dropwhile(bool, {})",
    "filterfalse": "itertools.filterfalse(bool, {})",
    "compress": "itertools.compress({}, (1, 0, 1))",
    "tee": "itertools.tee({})[0]",
    "groupby": "map(operator.itemgetter(0), itertools.groupby({}))",
    "chain.from_iterable": "itertools.chain.from_iterable([{0}, {0}])",
    "product": "itertools.product({}, 'ab')",
    "permutations": "itertools.permutations({}, 2)",
    "islice with a step": "itertools.islice({}, 0, None, 2)",
    "strict zip": "zip({0}, {0}, strict=True)",
    "iter of iter": "iter(iter({}))",
    "__iter__": "{}.__iter__()",
    "map of two": "map(max, {0}, {0})",
    "filter of a function": "filter(lambda each: each != 2, {})",
    "iter of a tuple": "iter(tuple({}))",
    "reversed tuple": "reversed(tuple({}))",
    "reversed list": "reversed(list({}))",
    "enumerate of reversed": "enumerate(reversed({}))",
    "iter of bytes": "iter(bytes(range(len({}))))",
    "reversed bytes": "reversed(bytes(range(len({}))))",
    "reversed str": "reversed('abc'[: len({})])",
    "reversed range": "reversed(range(len({})))",
    "iter of keys": "iter(dict.fromkeys({}).keys())",
    "reversed dict": "reversed(dict.fromkeys({}))",
    "reversed keys": "reversed(dict.fromkeys({}).keys())",
    "reversed values": "reversed(dict.fromkeys({}, 4).values())",
    "reversed items": "reversed(dict.fromkeys({}).items())",
}
KIND = (
    "rest = [describe(it), next(it, None)]",
    "BREAK()",
    "rest += [describe(it), list(it)]",
    "BREAK()",
    "rest += [describe(it), next(it, None)]",
)
# What the program does with the iterator `it` over `made`; `held` is another reference that it keeps.
SITUATIONS = {
    "alone": ("BREAK()", "rest = list(it)"),
    "advanced": ("next(it, None)", "BREAK()", "rest = list(it)"),
    "advanced after": ("BREAK()", "rest = [next(it, None)]", "BREAK()", "rest += list(it)"),
    "ended": ("for _ in it: pass", "BREAK()", "rest = list(it)"),
    "shared": (
        "other = it",
        "held = [it]",
        "BREAK()",
        "rest = [next(it, 0), next(other, 0), list(held[0]), it is other]",
        "held.clear()",
    ),
    "two": ("other = iter(made)", "next(other, None)", "BREAK()", "rest = [next(it, 0), list(other), list(it)]"),
    "with its container": ("held = (it, made)", "BREAK()", "rest = list(held[0])", "held = held[1] is made"),
    "container last": (
        "held = {'it': it}",
        "held['made'] = made",
        "BREAK()",
        "rest = list(held.pop('it'))",
        "held = len(held)",
    ),
    "in a list that the container holds": ("held.append(it)", "BREAK()", "rest = list(held[0])", "held.clear()"),
    "of an object": (
        "held = types.SimpleNamespace(it=it, made=made)",
        "BREAK()",
        "rest = list(held.it)",
        "held = held.made is made",
    ),
    "in a closure": ("held = lambda: list(it)", "BREAK()", "rest = held()", "held = None"),
    "returned": ("rest = it",),
}
# The container references the object that references the iterator.
CYCLES = {
    "deque": ("made = collections.deque([inner, 2])", "it = iter(made)"),
    "bounded deque": ("made = collections.deque([1, 2, inner], 2)", "it = iter(made)"),
    "deque of a map": ("made = collections.deque([map(id, inner), 2])", "it = iter(made)"),
    "deque of a partial": ("made = collections.deque([functools.partial(len, inner)])", "it = iter(made)"),
    "list": ("made = [inner, 2]", "it = iter(made)"),
    "list, reversed": ("made = [inner, 2]", "it = reversed(made)"),
    "list of a map": ("made = [map(id, inner), 2]", "it = iter(made)", "next(it)"),
    "tuple": ("made = (inner, 2)", "it = iter(made)"),
    "tuple of a map": ("made = (map(id, inner), 2)", "it = iter(made)", "next(it)"),
    "dict": ("made = {'a': inner, 'b': 2}", "it = iter(made)"),
    "values": ("made = {'a': inner, 'b': 2}", "it = iter(made.values())"),
    "dict of a map": ("made = {'a': map(id, inner), 'b': 2}", "it = iter(made.items())"),
    "dict that holds it": ("made = {'a': 1, 'b': 2}", "it = iter(made)", "made['a'] = it"),
    "items that hold it": ("made = {'a': 1, 'b': 2}", "it = iter(made.items())", "made['b'] = it"),
    "ordered dict": ("made = collections.OrderedDict(a=inner, b=2)", "it = iter(made)"),
    "ordered dict that holds it": ("made = collections.OrderedDict(a=1, b=2)", "it = iter(made)", "made['a'] = it"),
    "default dict": ("made = collections.defaultdict(list, a=inner, b=2)", "it = iter(made)"),
    "default dict that holds it": (
        "made = collections.defaultdict(list, a=1, b=2)",
        "it = iter(made)",
        "made['a'] = it",
    ),
    "list that holds it": ("made = [1, 2]", "it = iter(made)", "made[1] = it"),
    "deque that holds it": ("made = collections.deque([1, 2])", "it = iter(made)", "made[1] = it"),
    "key of a dict": ("node = Node()", "node.inner = inner", "made = {node: 1, 'b': 2}", "it = iter(made)"),
    "partial as a key": ("made = {functools.partial(len, inner): 1, 'b': 2}", "it = iter(made)"),
    "element of a set": ("node = Node()", "node.inner = inner", "made = {node}", "it = iter(made)"),
    "partial in a set": ("made = {functools.partial(len, inner)}", "it = iter(made)"),
    "enumerate": ("made = collections.deque([inner, 2])", "it = enumerate(made)"),
    "zip": ("made = collections.deque([inner, 2])", "it = zip(made, iter(made))"),
}
# Changes after the creation of the iterator, whether it notices them or not.
CHANGES = {
    "list": ("made.append(4)", "made.pop()", "made[0] = 9", "made.clear()", "made.reverse()", "made.insert(0, 8)"),
    "deque": (
        "made.append(4)",
        "made.pop()",
        "made[0] = 9",
        "made.clear()",
        "made.reverse()",
        "made.rotate(1)",
        "made.rotate(0)",
        "made.popleft(); made.append(7)",
        "made.extend(())",
    ),
    "dict": ("made['z'] = 4", "del made['a']", "made['a'] = 9", "made.clear()", "made.pop('b'); made['b'] = 1"),
    "ordered dict": ("made['z'] = 4", "del made['a']", "made['a'] = 9", "made.move_to_end('a')"),
    "set": ("made.add(4)", "made.discard(1)", "made.add(1)", "made.clear()", "made.discard(1); made.add(1)"),
    "bytearray": ("made.append(4)", "made[0] = 9", "made.clear()"),
}

PRELUDE = """
import array, collections, functools, itertools, operator, time, types
from minidynamo import ones

class Items(list): pass
class Table(dict): pass
class Pair(tuple): pass
class Text(str): pass
class Raw(bytes): pass
class Frozen(frozenset): pass
class Node: pass
Point = collections.namedtuple("Point", "x y")

class Old:
    def __getitem__(self, index):
        if index > 2: raise IndexError(index)
        return index

class Own:
    def __iter__(self):
        self.left = 3
        return self
    def __next__(self):
        self.left -= 1
        if self.left < 0: raise StopIteration
        return self.left

def shown(value):
    return str(value)

def describe(it):
    return type(it).__name__, it is iter(it), tried(lambda: operator.length_hint(it)), tried(lambda: it.__reduce__()[0])

def tried(ask):
    try:
        return ask()
    except TypeError as error:
        return str(error)
"""
CAUGHT = (TypeError, AttributeError, RuntimeError, ValueError, StopIteration, IndexError, KeyError)


def program(lines):
    body = "\n".join("    " + line for line in lines)
    return f"{PRELUDE}\ndef f(x):\n    held, inner, rest = [], [], None\n{body}\n    return x + 1, rest, held\n"


def outcome(source, breaks, compiles):
    names = {"BREAK": breaks}
    exec(source, names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    seen = []
    for _ in range(2):
        try:
            result = function(ones(1))
            rest = result[1]
            if hasattr(rest, "__next__"):
                rest = (type(rest).__name__, list(rest))
            seen.append((repr(rest), repr(result[2]) if isinstance(result[2], (list, dict, bool, int)) else None))
        except CAUGHT as error:
            seen.append((type(error), str(error)))
    return seen


def check(lines):
    source = program(lines)
    wanted = outcome(source, lambda: None, False)
    assert outcome(source, minidynamo._dynamo.graph_break, True) == wanted, source


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    minidynamo._dynamo.reset()


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("iterator", ITERATORS)
def test_an_iterator_continues_after_a_break(iterator, situation):
    for container in CONTAINERS.values():
        check([f"made = {container}", f"it = {ITERATORS[iterator].format('made')}", *SITUATIONS[situation]])


@pytest.mark.parametrize("iterator", [*ITERATORS, *MORE_ITERATORS])
def test_an_iterator_keeps_its_type(iterator):
    form = (ITERATORS | MORE_ITERATORS)[iterator]
    for container in (CONTAINERS | MORE_CONTAINERS).values():
        check([f"made = {container}", f"it = {form.format('made')}", *KIND])


@pytest.mark.parametrize("cycle", CYCLES)
def test_a_container_references_its_iterator(cycle):
    for end in ("rest = [type(each).__name__ for each in it]", "rest = [next(it, None) is inner, len(list(it))]"):
        check([*CYCLES[cycle], "inner.append(it)", "held = len(inner)", "BREAK()", end])
        check([*CYCLES[cycle], "inner.append(it)", "inner.append(made)", "keep = (inner, it, made)", "BREAK()", end])


SHORTER = ("made.clear()", "del made[1:]", "made.pop()", "made.pop(0)", "made[:] = made[:1]")
LONGER = ("made.append(7)", "made.extend((7, 8, 9, 6, 5))", "made += [7, 6]", "made.insert(0, 7)")


@pytest.mark.parametrize("kind", ("list", "list subclass", "bytearray"))
@pytest.mark.parametrize("iterator", ("iter", "enumerate", "zip", "map", "reversed", "generator"))
def test_a_position_past_the_end(kind, iterator):
    """The sequence has become shorter than the position of the iterator, and grows again after a break."""
    start = [f"made = {CONTAINERS[kind]}", f"it = {ITERATORS[iterator].format('made')}"]
    for taken in (1, 2, 3):
        for shorter in SHORTER:
            for longer in LONGER[:2] if taken != 2 else LONGER:
                check([*start, *["next(it)"] * taken, shorter, "BREAK()", longer, "rest = list(it)"])


@pytest.mark.parametrize("kind", CHANGES)
def test_an_iterator_notices_a_change(kind):
    for iterator in ("iter", "enumerate", "zip", "map", "reversed", "generator"):
        for change in CHANGES[kind]:
            made = [f"made = {CONTAINERS[kind]}", f"it = {ITERATORS[iterator].format('made')}"]
            check([*made, change, "BREAK()", "rest = list(it)"])
            check([*made, "BREAK()", change, "rest = list(it)"])
            check([*made, "BREAK()", change, "BREAK()", "rest = list(it)"])
            check([*made, "next(it)", change, "BREAK()", "rest = list(it)"])
