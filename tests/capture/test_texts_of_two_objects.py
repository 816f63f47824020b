"""Texts and names of an argument, called with one object and then another of its kind: each call gives its own."""

import collections
import datetime
import enum
import fractions
import functools
import operator
import re
import types

import pytest

import minidynamo as md


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Named(collections.namedtuple("Named", "a b")):
    pass


class First:
    pass


class Second:
    pass


def first():
    pass


def second():
    pass


def set_of(*items):
    made = set()
    for item in items:
        made.add(item)
    return made


PAIRS = {
    "built-in classes": (list, dict),
    "classes": (First, Second),
    "metaclasses": (type, type(Color)),
    "exceptions": (ValueError, KeyError),
    "raised": (ValueError("a"), ValueError("b")),
    "dtypes": (md.float32, md.float64),
    "sizes": (md.Size([1]), md.Size([2])),
    "functions": (first, second),
    "builtins": (len, abs),
    "bound methods": ([].append, {}.get),
    "modules": (re, operator),
    "members": (Color.RED, Color.GREEN),
    "unions": (int | str, int | float),
    "generic aliases": (list[int], list[str]),
    "partials": (functools.partial(first), functools.partial(second)),
    "sets": (set_of(1), set_of(2)),
    "orders of sets": (set_of(0, 8), set_of(8, 0)),
    "frozensets": (frozenset([1]), frozenset([2])),
    "dicts": ({1: 2}, {1: 3}),
    "orders of dicts": ({1: 2, 3: 4}, {3: 4, 1: 2}),
    "dicts of classes": ({list: 1}, {dict: 1}),
    "lists of classes": ([list], [dict]),
    "tuples of classes": ((list,), (dict,)),
    "nested lists": ([1, [2]], [1, [3]]),
    "subclasses of tuple": (Named(1, 2), Named(1, 3)),
    "ordered dicts": (collections.OrderedDict(a=1), collections.OrderedDict(a=2)),
    "counters": (collections.Counter("a"), collections.Counter("b")),
    "default dicts": (collections.defaultdict(int), collections.defaultdict(str)),
    "deques": (collections.deque([1]), collections.deque([2])),
    "lengths of deques": (collections.deque([1], 3), collections.deque([1], 4)),
    "mapping proxies": (types.MappingProxyType({1: 1}), types.MappingProxyType({1: 2})),
    "namespaces": (types.SimpleNamespace(a=1), types.SimpleNamespace(a=2)),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "fractions": (fractions.Fraction(1, 2), fractions.Fraction(1, 3)),
    "ranges": (range(3), range(4)),
    "slices": (slice(1), slice(2)),
    "bytes": (b"a", b"b"),
    "bytearrays": (bytearray(b"a"), bytearray(b"b")),
    "texts": ("a", "b"),
    "numbers": (1, 1.0),
    "bools": (1, True),
    "zeros": (0.0, -0.0),
    "complex numbers": (1j, 2j),
    "nothing": (None, ...),
}
WAYS = {
    "f-string": lambda value: f"{value}",
    "f-string of repr": lambda value: f"{value!r:>40}",
    "str": str,
    "repr": repr,
    "%": lambda value: "%s %r" % (value, value),  # noqa: UP031
    "format": lambda value: "{} {!r}".format(value, value),  # noqa: UP032
    "join": lambda value: ", ".join([str(value), repr(value)]),
    "type": lambda value: f"{type(value)} {type(value).__name__}",
    "names": lambda value: (getattr(value, "__name__", None), getattr(value, "__qualname__", None)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PAIRS)
def test_one_then_the_other(kind, way):
    text = WAYS[way]
    compiled = md.compile(lambda value, x: (text(value), x + 1))
    for value in PAIRS[kind] * 2:
        assert compiled(value, md.zeros(1))[0] == text(value)


def test_annotations_of_a_class_that_has_none():
    """Reading them makes them."""

    def program(cls, x):
        seen = ["__annotations__" in cls.__dict__]
        getattr(cls, "__annotations__")  # noqa: B009
        seen.append("__annotations__" in cls.__dict__)
        delattr(cls, "__annotations__")
        return seen, x + 1

    def without_reading(cls, read, x):
        if read:
            return cls.__annotations__, x + 1
        return "__annotations__" in cls.__dict__, x + 1

    compiled = md.compile(program)
    for _ in range(3):
        assert compiled(type("Made", (), {}), md.zeros(1))[0] == program(type("Made", (), {}), md.zeros(1))[0]
    compiled = md.compile(without_reading)
    cls = type("Made", (), {})
    answers = [compiled(cls, read, md.zeros(1))[0] for read in (False, False, True, False)]
    assert answers[:3] == [False, False, {}]
