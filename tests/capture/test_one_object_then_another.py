"""What a program asks of an argument, called with one object and then another of its kind: each call returns its own answer."""

import collections
import copy
import dataclasses
import datetime
import enum
import fractions
import functools
import inspect
import json
import numbers
import operator
import re
import types
import typing
import weakref

import pytest

import minidynamo as md


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Named(collections.namedtuple("Named", "a b")):
    pass


class Base:
    z = 1

    def m(self):
        return self.z


class First(Base):
    z = 2


class Second(Base):
    z = 3


@dataclasses.dataclass
class Point:
    a: int = 1
    b: str = "x"


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
    "instances": (First(), Second()),
    "data classes": (Point(1), Point(2)),
    "types of fields": (Point(1), Point(1.0, "y")),
    "lambdas": (lambda a: a, lambda b, c: b),
    "methods": (First().m, Second().m),
    "static methods": (staticmethod(len), staticmethod(abs)),
    "properties": (property(len), property(abs)),
    "code": (first.__code__, second.__code__),
    "abstract classes": (collections.abc.Sized, collections.abc.Iterable),
    "type variables": (typing.TypeVar("A"), typing.TypeVar("B")),
    "signatures": (inspect.signature(first), inspect.signature(lambda q: q)),
    "shapes": (md.Size([2, 3]), md.Size([3, 2])),
    "empty or not": ([], [0]),
    "digits": ("1", "2"),
    "tuples": ((1, 2), (1, 3)),
    "lengths of tuples": ((1,), (1, 2)),
    "nested dicts": ({"a": {"b": 1}}, {"a": {"b": 2}}),
    "orders of lists": ([1, 2], [2, 1]),
    "chains of maps": (collections.ChainMap({1: 1}), collections.ChainMap({1: 2})),
}
X = md.zeros(1)
CLASSES = (int, str, list, dict, type, Base, collections.abc.Sized, collections.abc.Callable, numbers.Number, tuple)
NAMES = ("z", "m", "keys", "__len__", "__call__", "__name__", "items")
ATTRIBUTES = """__name__ __qualname__ __module__ __doc__ __class__ __mro__ __bases__ __self__ __defaults__ __annotations__ z a b
    args value name func keywords co_name start stop day numerator maxlen default_factory fget parameters""".split()
METHODS = """keys items upper split numel isoformat elements most_common _asdict m copy values""".split()


WAYS = {
    "f-string": lambda value: f"{value}",
    "f-string of repr": lambda value: f"{value!r:>40}",
    "str": str,
    "%": lambda value: "%s %r" % (value, value),  # noqa: UP031
    "format": lambda value: "{} {!r}".format(value, value),  # noqa: UP032
    "join": lambda value: ", ".join([str(value), repr(value)]),
    "type": lambda value: f"{type(value)} {type(value).__name__}",
    "bool": bool,
    "len": len,
    "list": list,
    "tuple": lambda value: (*value,),
    "sorted": sorted,
    "reversed": lambda value: list(reversed(value)),
    "enumerate": lambda value: list(enumerate(value)),
    "next": lambda value: next(iter(value)),
    "max": max,
    "sum": sum,
    "any": any,
    "set": lambda value: sorted(set(value), key=str),
    "fromkeys": dict.fromkeys,
    "dict": lambda value: dict(value),
    "keywords": lambda value: dict(**value),
    "vars": lambda value: dict(vars(value)),
    "callable": callable,
    "==": lambda value: (value == [1, 2], value == First, value != 1),
    "<": lambda value: value < value,  # noqa: PLR0124
    "in a list": lambda value: value in [1, "a", list, None],
    "in a tuple": lambda value: value in (list, First, first, len),
    "is": lambda value: (value is None, value is list or value is First),
    "as a key": lambda value: {1: "one", list: "list", First: "first", "a": "A"}.get(value),
    "isinstance": lambda value: [isinstance(value, each) for each in CLASSES],
    "issubclass": lambda value: [issubclass(value, each) for each in CLASSES],
    "hasattr": lambda value: [hasattr(value, name) for name in NAMES],
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "json": json.dumps,
    "int": int,
    "float": float,
    "abs": abs,
    "-": operator.neg,
    "+": lambda value: value + value,
    "*": lambda value: value * 2,
    "|": lambda value: value | None,
    "index": operator.index,
    "[0]": lambda value: value[0],
    "[1]": lambda value: value[1],
    "['a']": lambda value: value["a"],
    "count": lambda value: value.count(1),
    "where": lambda value: value.index(1),
    "ord": ord,
    "call": lambda value: value(),
    "call of 1": lambda value: value(1),
    "signature": lambda value: str(inspect.signature(value)),
    "fields": lambda value: [field.name for field in dataclasses.fields(value)],
    "asdict": dataclasses.asdict,
    "replace": lambda value: dataclasses.replace(value, b="other"),
    "wraps": lambda value: functools.wraps(value)(lambda: 1).__name__,
    "partial": lambda value: functools.partial(value, 1).func,
    "reduce": lambda value: functools.reduce(lambda a, b: (a, b), value),
    "arguments of a type": typing.get_args,
    "origin of a type": typing.get_origin,
    "weak reference": lambda value: weakref.ref(value)() is value,
    **{f".{name}": operator.attrgetter(name) for name in ATTRIBUTES},
    **{f".{name}()": operator.methodcaller(name) for name in METHODS},
}


def answer(call):
    """What it returns or raises, as text without addresses."""
    try:
        return re.sub("0x[0-9a-f]+", "", repr(call()))
    except Exception as error:
        return type(error).__name__, re.sub("0x[0-9a-f]+", "", str(error))


@pytest.mark.parametrize("kind", PAIRS)
def test_one_then_the_other(kind):
    for way, ask in WAYS.items():
        expected = [answer(lambda value=value, ask=ask: ask(value)) for value in PAIRS[kind]]
        if all(isinstance(each, tuple) for each in expected):
            continue
        md._dynamo.reset()
        compiled = md.compile(lambda value, x, ask=ask: (ask(value), x + 1))
        found = [answer(lambda value=value, c=compiled: c(value, X)[0]) for value in PAIRS[kind] * 2]
        assert found == expected * 2, way


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
