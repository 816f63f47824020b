"""Results of id() as keys: a container distinguishes them from each other and from other numbers as Python does, for
all objects."""

import collections

import pytest

import minidynamo
from minidynamo._dynamo import graph_break


class Plain:
    pass


class Hashed:
    """Its hash is an integer of the program, and it equals that integer."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return hash(self.number)

    def __eq__(self, other):
        return self.number == (other.number if isinstance(other, Hashed) else other)


def discarded(a, b):
    s = {a, "x"}
    s.discard(b)
    return len(s)


def removed(a, b):
    s = {a}
    try:
        s.remove(b)
    except KeyError:
        return "missing"
    return len(s)


def updated_set(a, b):
    s = {a}
    s.update([b, b])
    return len(s)


def in_place(a, b):
    s, t, u, v = {a}, {a}, {a}, {a}
    s |= {b}
    t -= {b}
    u &= {b}
    v ^= {b}
    return len(s), len(t), len(u), len(v)


def added_by_display(a, b):
    return len({*[a, b]}), len({"x", *{a}, *{b}})


def stored(a, b):
    d = {}
    d[a] = "a"
    d[b] = "b"
    return list(d.values())


def deleted(a, b):
    d = {a: 1, "x": 2}
    try:
        del d[b]
    except KeyError:
        return "missing"
    return list(d.values())


def popped(a, b):
    d = {a: 1, "x": 2}
    return d.pop(b, "missing"), len(d)


def set_by_default(a, b):
    d = {a: 1}
    return d.setdefault(b, 2), len(d)


def updated_dict(a, b):
    d = {a: 1}
    d.update({b: 2})
    d.update([(b, 3)])
    return list(d.values())


def merged(a, b):
    d, e = {a: 1}, {b: 2}
    f = d | e
    d |= e
    return list(f.values()), list(d.values()), list({**{a: 1}, **e}.values())


def of_pairs(a, b):
    return list(dict([(a, 1), (b, 2)]).values())


def moved_to_the_end(a, b):
    d = collections.OrderedDict([(a, 1), ("x", 2)])
    try:
        d.move_to_end(b)
    except KeyError:
        return "missing"
    return list(d.values())


def grouped(a, b):
    groups = collections.defaultdict(list)
    groups[a].append("a")
    groups[b].append("b")
    return list(groups.values())


def counted(a, b):
    return sorted(collections.Counter([a, b]).values())


def index_of(a, b):
    try:
        return ["x", a].index(b)
    except ValueError:
        return "missing"


def removed_from_list(a, b):
    items = [a, "x"]
    try:
        items.remove(b)
    except ValueError:
        return "missing"
    return len(items)


def in_user_keys(a, b):
    return b in {Hashed(a)}, b in {Hashed(a): 1}, Hashed(a) in {b}


def many_numbers(a, b):
    d = {}
    for n in range(40):
        d[n] = n
    d[a] = "a"
    return d.get(b), len({*range(40), a, b})


USES = {
    "display of a set": lambda a, b: len({a, b}),
    "comprehension of a set": lambda a, b: len({n for n in [a, b]}),
    "set()": lambda a, b: len(set([a, b])),
    "frozenset()": lambda a, b: len(frozenset([a, b])),
    "display of others": added_by_display,
    "in a set": lambda a, b: (b in {a}, b not in {a}, b in {a, "x"}),
    "in a frozenset": lambda a, b: b in frozenset([a]),
    "union": lambda a, b: (len({a} | {b}), len({a}.union([b])), len(set().union([a], [b])), len(set().union([a, b]))),
    "intersection": lambda a, b: (len({a} & {b}), len({a}.intersection([b]))),
    "difference": lambda a, b: (len({a} - {b}), len({a}.difference([b]))),
    "symmetric difference": lambda a, b: (len({a} ^ {b}), len({a}.symmetric_difference([b]))),
    "comparisons of sets": lambda a, b: (
        {a} == {b},
        {a} <= {b},
        {a} < {b, "x"},
        {a}.issubset([b]),
        {a}.isdisjoint({b}),
    ),
    "add": lambda a, b: [s.add(b) or len(s) for s in [{a}]],
    "discard": discarded,
    "set.remove": removed,
    "set.update": updated_set,
    "in place": in_place,
    "display of a dict": lambda a, b: list({a: 1, b: 2}.values()),
    "comprehension of a dict": lambda a, b: list({n: n == a for n in [a, b]}.values()),
    "pairs": of_pairs,
    "fromkeys": lambda a, b: len(dict.fromkeys([a, b])),
    "store": stored,
    "del": deleted,
    "subscript": lambda a, b: {a: 1, b: 2}[b],
    "get": lambda a, b: {a: 1}.get(b, "missing"),
    "in a dict": lambda a, b: (b in {a: 1}, b in {a: 1}.keys(), (b, 1) in {a: 1}.items(), b in {1: a}.values()),
    "pop": popped,
    "setdefault": set_by_default,
    "dict.update": updated_dict,
    "merged": merged,
    "views": lambda a, b: (len({a: 1}.keys() & {b}), len({a: 1}.keys() | {b: 1}.keys()), {a: 1}.keys() == {b}),
    "dicts compared": lambda a, b: ({a: 1} == {b: 1}, {a: 1} != {b: 1}),
    "move_to_end": moved_to_the_end,
    "defaultdict": grouped,
    "Counter": counted,
    "list.index": index_of,
    "list.count": lambda a, b: [a, b, a].count(b),
    "list.remove": removed_from_list,
    "in a list": lambda a, b: (b in [a], b in (a, "x")),
    "compared": lambda a, b: (a == b, a != b, (a,) == (b,), [a] == [b]),
    "hash": lambda a, b: (hash(a) == hash(b), hash(a) == a % ((1 << 61) - 1)),
    "tuples": lambda a, b: (len({(a, 1), (b, 1)}), (b, 1) in {(a, 1): 1}),
    "user keys": in_user_keys,
    "among numbers": many_numbers,
}

NUMBER = 123_456_789
TEXT = "a text of the program's"
FIRST, SECOND = Plain(), Plain()
ITEMS = ["item"]

# The calls of one compiled function, in this order.
PAIRS = {
    "objects": [(FIRST, SECOND), (FIRST, FIRST), (SECOND, FIRST), (SECOND, SECOND)],
    "the same objects first": [(FIRST, FIRST), (FIRST, SECOND)],
    "numbers": [(NUMBER, NUMBER + 1), (NUMBER, NUMBER), (NUMBER, int(str(NUMBER))), (5, 5)],
    "equal numbers first": [(NUMBER, int(str(NUMBER))), (NUMBER, NUMBER), (NUMBER, -NUMBER)],
    "texts": [(TEXT, TEXT + "!"), (TEXT, TEXT), (TEXT, "".join(list(TEXT)))],
    "None and numbers": [(None, NUMBER), (NUMBER, NUMBER), (None, None), (NUMBER, None)],
    "tuples": [((1, 2), ([],)), (ITEMS, ITEMS), ((1, 2), (1, 2)), ((), ())],
    "containers": [(ITEMS, {}), (ITEMS, ITEMS), ([], [])],
    "a truth and a number": [(True, 1), (True, True), (1, 1), (1.0, 1)],
}


def both_in_one_call(use):
    def program(x, y):
        return use(id(x), id(y))

    return program


def called_twice(use):
    def program(x, y):
        first = id(x)
        return use(first, id(x)), use(id(y), id(y)), use(id(y), first)

    return program


def called_before_and_after_a_break(use):
    def program(x, y):
        a = id(x)
        graph_break()
        return use(a, id(y)), use(id(y), a)

    return program


def called_before_a_break(use):
    def program(x, y):
        a, b = id(x), id(y)
        graph_break()
        return use(a, b)

    return program


def called_by_the_caller(use):
    def program(x, y):
        return inner(x, id(x), id(y))

    def inner(x, a, b):
        graph_break()
        return use(a, b), use(id(x), a), use(b, id(x))

    return program


def compared_with_numbers(use):
    def program(x, a, b):
        return use(id(x), a), use(b, id(x))

    return program


def of_created_objects(use):
    def program(x, y):
        made, other = Plain(), [x]
        a = id(made), id(other)
        return use(a[0], id(made)), use(a[0], a[1]), use(id(other), a[1]), use(id(x), a[1])

    return program


ASKED = [
    both_in_one_call,
    called_twice,
    called_before_and_after_a_break,
    called_before_a_break,
    called_by_the_caller,
    of_created_objects,
]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("use", USES)
def test_keys(use, asked):
    for pairs in PAIRS.values():
        program = asked(USES[use])
        compiled = minidynamo.compile(program)
        for x, y in pairs:
            for _ in range(2):
                assert compiled(x, y) == program(x, y), (x, y)


@pytest.mark.parametrize("use", USES)
def test_a_pre_existing_id(use):
    for pairs in PAIRS.values():
        program = compared_with_numbers(USES[use])
        compiled = minidynamo.compile(program)
        for x, y in pairs:
            for _ in range(2):
                assert compiled(x, id(x), id(y)) == program(x, id(x), id(y)), (x, y)


def looked_up(x, y, s, d):
    return id(x) in s, id(y) in d, d.get(id(x)), len(s | {id(x)}), len(s & {id(y)}), len({**d, id(y): 1})


def written_first(x, y, s, d):
    before = list(s)[0]
    s.add("text")
    d["text"] = 1
    found = [id(x) in s, id(y) in d, len(s | {id(x)})]
    d[id(x)] = "x"
    found += [before in d, id(x) in d, d.get(before), len(d)]
    s.add(id(y))
    return found, len(s)


def number_written_first(x, y, s, d):
    number = list(s)[0]
    d[number] = "number"
    found = [id(x) in d, id(y) in d]
    d.pop(id(y), None)
    return found, len(d)


@pytest.mark.parametrize("deed", [looked_up, written_first, number_written_first])
def test_pre_existing_containers(deed):
    compiled = minidynamo.compile(deed)
    for x, y in PAIRS["objects"]:
        results = []
        for run in (compiled, deed):
            s, d = {id(FIRST)}, {id(SECOND): "second"}
            results.append((run(x, y, s, d), s, d))
        assert results[0] == results[1]


CALCULATIONS = {
    "operators": lambda o, x: (id(o) + 1, 3 * id(o), -id(o), id(o) >> 4, ~id(o), id(o) % 7, id(o) / 2),
    "a tensor's": lambda o, x: (id(x) % 16, id(x) + id(o)),
    "beside a tensor": lambda o, x: (x + id(o) % 16).tolist(),
    "comparisons": lambda o, x: (id(o) == 0, id(o) != id(o), id(o) < 5, 5 < id(o), id(o) == id(o) + 0),
    "texts": lambda o, x: (f"{id(o):x}", hex(id(o)), str(id(o)), "%d" % id(o), f"{id(o)!r}"),
    "conversions": lambda o, x: (int(id(o)), float(id(o)), hash(id(o)), abs(id(o)), divmod(id(o), 8), max(id(o), 1)),
    "a branch": lambda o, x: "aligned" if id(o) % 32 == 0 else "not",
}


@pytest.mark.parametrize("name", CALCULATIONS)
def test_calculations_with_the_id_of_an_object_from_outside(name):
    program = CALCULATIONS[name]
    compiled = minidynamo.compile(lambda o, x: (x + 1, program(o, x)))
    objects = [Plain() for _ in range(4)]
    tensors = [minidynamo.ones(2) for _ in range(4)]
    for o, x in [*zip(objects, tensors, strict=True)] * 2:
        assert compiled(o, x)[1] == program(o, x)
    minidynamo.compile(lambda o, x: (x + 1, program(o, x)), fullgraph=name != "beside a tensor")(objects[0], tensors[0])


def test_calculations_with_the_id_of_an_object_made_inside():
    def program(x):
        made = [x]
        return x + 1, id(made) % 2, id(made) - id(made), made

    assert minidynamo.compile(program)(minidynamo.ones(2))[1:3] == (0, 0)


def test_memo_stays_captured():
    """As in deepcopy: the keys are results of id() only, of objects that are known to be distinct."""

    def program(x, y):
        memo = {}
        for item in (x, y, x, memo):
            memo.setdefault(id(item), []).append(1)
        return sorted(len(found) for found in memo.values()), id(x) in memo, len({id(x), id(y), id(memo)})

    compiled = minidynamo.compile(program, fullgraph=True)
    for x, y in PAIRS["objects"]:
        assert compiled(x, y) == program(x, y)
