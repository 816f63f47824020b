"""Unhashable keys: the exception and its message are those of the running interpreter. Since 3.14 the message differs by operation on
a dict or a set, and pop() on an empty dict does not hash the key.
"""

import collections
import re
import subprocess
import sys
import types

import pytest

import minidynamo


class Unhashable:
    __hash__ = None


class Raising:
    def __hash__(self):
        raise ValueError("no hash today")


class Key:
    """Counts how often its hash is computed."""

    def __init__(self):
        self.asked = 0

    def __hash__(self):
        self.asked += 1
        return 5


KINDS = {
    "list": lambda: [],
    "dict": lambda: {},
    "set": lambda: {1},
    "bytearray": lambda: bytearray(b"x"),
    "tuple of a list": lambda: (1, []),
    "tuple of a set": lambda: (1, (2, {3})),
    "slice of a list": lambda: slice([], 1),
    "an object": Unhashable,
    "raises": Raising,
    "hashable": lambda: "text",
}


def stored(c, k):
    c[k] = 1
    return c


def deleted(c, k):
    del c[k]
    return c


def merged_in_place(c, k):
    c |= {k}
    return c


def removed_in_place(c, k):
    c -= {k}
    return c


def matched(c, k):
    match c:
        case {"text": found}:
            return found, k
    return "nothing"


def taken_from(taker, k):
    """The remaining items of the iterator, and whether an exception ended it."""
    keys = iter(["b", k, "d"])
    try:
        taker(keys)
    except (TypeError, ValueError) as error:
        return str(error), list(keys)
    return list(keys)


# On a dict, empty or not.
DICT_USES = {
    "subscript": lambda c, k: c[k],
    "store": stored,
    "del": deleted,
    "in": lambda c, k: k in c,
    "not in": lambda c, k: k not in c,
    "get": lambda c, k: c.get(k, "missing"),
    "pop": lambda c, k: c.pop(k),
    "pop with a default": lambda c, k: c.pop(k, "missing"),
    "setdefault": lambda c, k: c.setdefault(k, 1),
    "update": lambda c, k: c.update([(k, 1)]),
    "update in the middle": lambda c, k: c.update([("b", 1), (k, 1), ("d", 1)]),
    "update from an iterator": lambda c, k: c.update(iter([("b", 1), (k, 1), ("d", 1)])),
    "update with a display": lambda c, k: c.update({k: 1}),
    "in keys": lambda c, k: k in c.keys(),
    "in items": lambda c, k: (k, 1) in c.items(),
    "in values": lambda c, k: k in c.values(),
    "dict()": lambda c, k: dict([(k, 1)], **c),
    "fromkeys": lambda c, k: dict.fromkeys([k], 1),
    "fromkeys from an iterator": lambda c, k: taken_from(dict.fromkeys, k),
    "dict() from an iterator": lambda c, k: taken_from(lambda keys: dict((key, 1) for key in keys), k),
    "display": lambda c, k: {k: 1, **c},
    "display in the middle": lambda c, k: {"a": 1, k: 1},
    "comprehension": lambda c, k: {each: 1 for each in ["a", k]},
    "OrderedDict": lambda c, k: collections.OrderedDict([(k, 1)]),
    "OrderedDict.get": lambda c, k: collections.OrderedDict(c).get(k),
    "OrderedDict.pop": lambda c, k: collections.OrderedDict(c).pop(k, "missing"),
    "OrderedDict.move_to_end": lambda c, k: collections.OrderedDict(c).move_to_end(k),
    "defaultdict": lambda c, k: collections.defaultdict(list, c)[k],
    "Counter": lambda c, k: collections.Counter([k]),
    "Counter.update": lambda c, k: collections.Counter(c).update([k]),
    "ChainMap": lambda c, k: collections.ChainMap(c)[k],
    "mappingproxy": lambda c, k: types.MappingProxyType(c)[k],
    "__getitem__": lambda c, k: c.__getitem__(k),
    "match": matched,
    "hash": lambda c, k: hash(k),
}

# On a set, empty or not.
SET_USES = {
    "in": lambda c, k: k in c,
    "in a frozenset": lambda c, k: k in frozenset(c),
    "add": lambda c, k: c.add(k),
    "discard": lambda c, k: c.discard(k),
    "remove": lambda c, k: c.remove(k),
    "update": lambda c, k: c.update([k]),
    "update in the middle": lambda c, k: c.update(["b", k, "d"]),
    "update with several": lambda c, k: c.update(["b"], ["e", k], ["d"]),
    "update with an iterator and several": lambda c, k: c.update(["b"], iter(c), ["e", k]),
    "update from an iterator": lambda c, k: taken_from(c.update, k),
    "union with an iterator": lambda c, k: taken_from(c.union, k),
    "isdisjoint from an iterator": lambda c, k: taken_from(c.isdisjoint, k),
    "set() of an iterator": lambda c, k: taken_from(set, k),
    "display of an iterator": lambda c, k: taken_from(lambda keys: {*keys}, k),
    "union": lambda c, k: c.union([k]),
    "intersection": lambda c, k: c.intersection([k]),
    "difference": lambda c, k: c.difference([k]),
    "symmetric_difference": lambda c, k: c.symmetric_difference([k]),
    "issuperset": lambda c, k: c.issuperset([k]),
    "issubset": lambda c, k: c.issubset([k]),
    "isdisjoint": lambda c, k: c.isdisjoint([k]),
    "set()": lambda c, k: set([*c, k]),
    "frozenset()": lambda c, k: frozenset([*c, k]),
    "display": lambda c, k: {k},
    "display in the middle": lambda c, k: {1, k},
    "display of others": lambda c, k: {*c, *[k]},
    "comprehension": lambda c, k: {each for each in ["a", k]},
    "|=": merged_in_place,
    "-=": removed_in_place,
}

CONTAINERS = {
    "dict": [dict, lambda: {"a": 1, "text": 2}, lambda: {1.5: "x"}],
    "set": [set, lambda: {"a", "text"}, lambda: {1.5}],
}
USES = [("dict", use) for use in DICT_USES] + [("set", use) for use in SET_USES]


def outcome(program, *args):
    try:
        return (repr(program(*args)),)
    except Exception as error:
        context = error.__context__
        return type(error), str(error) if not isinstance(error, KeyError) else "", type(context), str(context)


def raises(use):
    return lambda make, k: use(make(), k)


def handles(use):
    def program(make, k):
        c = make()
        try:
            return use(c, k)
        except (TypeError, ValueError) as error:
            return type(error), str(error), sorted(without_addresses(map(repr, c)))

    return program


def of_created_objects(use):
    def program(make, kind):
        return use(make(), kind())

    return program


def of_pre_existing_objects(use):
    return lambda c, k: (use(c, k), len(c))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("container", "use"), USES, ids=[" ".join(each) for each in USES])
def test_unhashable_key(container, use, kind):
    use = {"dict": DICT_USES, "set": SET_USES}[container][use]
    minidynamo._dynamo.reset()  # the functions below have one code object for all uses
    for way in (raises, handles, of_created_objects, of_pre_existing_objects):
        program = way(use)
        compiled = minidynamo.compile(program)
        for make in CONTAINERS[container]:
            make_key = KINDS[kind]
            arguments = (
                (lambda: (make(), make_key()))
                if way is of_pre_existing_objects
                else (lambda: (make, make_key if way is of_created_objects else make_key()))
            )
            for _ in range(2):
                expected = outcome(program, *arguments())
                got = outcome(compiled, *arguments())
                assert without_addresses(got) == without_addresses(expected), way.__name__


def without_addresses(found):
    """Removes addresses, which differ between two objects of one kind."""
    return tuple(re.sub(r" at 0x[0-9a-f]+", "", part) if isinstance(part, str) else part for part in found)


def test_an_empty_dict_does_not_hash_the_key():
    """dict.pop hashes the key only if the dict is not empty."""

    def program(key, d):
        inside, filled = {}, {"text": 1}
        before = inside.pop(key, "missing"), d.pop(key, "missing"), key.asked
        return before, filled.pop(key, "missing"), key.asked

    compiled = minidynamo.compile(program)
    for given in ({}, {"a": 1}, {}, {5: 2}):
        assert compiled(Key(), dict(given)) == program(Key(), dict(given))


def test_the_first_key_of_a_process():
    """The message of this version is determined at the first one, while its exception is pending."""
    program = """
import minidynamo

@minidynamo.compile
def f(x):
    try:
        return {}[[]]
    except TypeError as error:
        return x + 1, str(error)

try:
    {}[[]]
except TypeError as error:
    expected = str(error)
assert f(minidynamo.tensor([1.0]))[1] == expected
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
