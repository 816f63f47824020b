"""Every kind of object that can have attributes, times every way to read one: compiled code reads what eager Python reads, also
after changes.

A fresh owner is created for eager Python and for the compiled function; each change is made to both. What an owner does not
allow (an attribute on an int) must fail in both.
"""

import contextlib
import re

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions

PRELUDE = """
import abc, array, asyncio, collections, collections.abc, contextlib, dataclasses, datetime, enum, functools, inspect, io
import itertools, operator, re, sys
import threading, types, typing, weakref
import minidynamo
from minidynamo import nn

def function(a=1): return a
class Plain: pass
class Slots:
    __slots__ = ("attr",)
class SlotsAndDict:
    __slots__ = ("other", "__dict__")
class Hooked:
    def __getattr__(self, name):
        if name == "attr": return -1
        raise AttributeError(name)
class Shown:
    def __getattribute__(self, name): return -2 if name == "attr" else object.__getattribute__(self, name)
class Described:
    attr = property(lambda self: vars(self).get("kept", -3), lambda self, value: vars(self).update(kept=value),
                    lambda self: vars(self).pop("kept", None))
class WithMethods:
    attr = 4
    def method(self): return 5
    @staticmethod
    def static(): return 6
    @classmethod
    def of_class(cls): return 7
    def __call__(self): return 8
class Meta(type): pass
class Point(typing.NamedTuple):
    a: int
    b: int
class Color(enum.Enum):
    RED = 1
class Number(enum.IntEnum):
    ONE = 1
@dataclasses.dataclass
class Data:
    kept: int = 0
@dataclasses.dataclass(frozen=True)
class Frozen:
    kept: int = 0
class OfList(list): pass
class OfDict(dict): pass
class OfTuple(tuple): pass
class OfInt(int): pass
class OfStr(str): pass
class OfTensor(minidynamo.Tensor): pass
class OfModule(types.ModuleType):
    described = property(lambda self: 3)
class LazyModule(types.ModuleType):
    def __getattr__(self, name):
        if name == "attr": return -4
        raise AttributeError(name)
class Error(Exception): pass
class Derived(Plain): pass
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("kept", minidynamo.ones(2))
    def forward(self, x): return x
def generator():
    yield 1
async def coroutine(): return 1
def handled(error):
    try:
        raise error
    except Exception as caught:
        return caught
def lazy_module():
    module = types.ModuleType("made")
    def __getattr__(name):
        if name == "attr": return -5
        raise AttributeError(name)
    module.__getattr__ = __getattr__
    return module
def decorated(f):
    @functools.wraps(f)
    def inner(*args): return f(*args)
    return inner
class Super(Plain):
    def parent(self): return super()
def code(): pass
KEPT = Plain()
"""

# Creates the owner.
OWNERS = {
    "tensor": "minidynamo.ones(2)",
    "tensor with an attribute": "(lambda t: (setattr(t, 'other', 1), t)[1])(minidynamo.ones(2))",
    "view": "minidynamo.ones(4)[:2]",
    "result of a graph": "minidynamo.compile(lambda t: t + 1)(minidynamo.ones(2))",
    "parameter": "nn.Parameter(minidynamo.ones(2))",
    "parameter of a module": "Net().linear.weight",
    "buffer of a module": "Net().kept",
    "Buffer": "nn.Buffer(minidynamo.ones(2))",
    "tensor of a subclass": "minidynamo.Tensor._make_subclass(OfTensor, minidynamo.ones(2))",
    "module": "Net()",
    "function": "function",
    "function of a module": "nn.functional.relu",
    "lambda": "(lambda: 0)",
    "wrapped function": "decorated(function)",
    "compiled function": "minidynamo.compile(function)",
    "disabled function": "minidynamo.compiler.disable(function)",
    "builtin": "len",
    "method of a builtin": "[].append",
    "cached function": "functools.lru_cache(function)",
    "single dispatch": "functools.singledispatch(function)",
    "partial": "functools.partial(function, 1)",
    "bound method": "WithMethods().method",
    "static method": "WithMethods.__dict__['static']",
    "class method": "WithMethods.__dict__['of_class']",
    "bound class method": "WithMethods.of_class",
    "property": "Described.__dict__['attr']",
    "cached property": "functools.cached_property(function)",
    "callable object": "WithMethods()",
    "class": "Plain",
    "class of a metaclass": "Meta('Made', (), {})",
    "abstract class": "abc.ABCMeta('Made', (), {})",
    "derived class": "Derived",
    "built-in class": "int",
    "module object": "types.ModuleType('made')",
    "module object with __getattr__": "(lambda m: (setattr(m, '__getattr__', {'attr': 5}.__getitem__), m)[1])(types.ModuleType('made'))",
    "module object with a function __getattr__": "lazy_module()",
    "module object of a subclass": "OfModule('made')",
    "module object of a class with __getattr__": "LazyModule('made')",
    "instance": "Plain()",
    "instance with a slot": "Slots()",
    "instance with slots and a dict": "SlotsAndDict()",
    "instance with __getattr__": "Hooked()",
    "instance with __getattribute__": "Shown()",
    "instance with a property": "Described()",
    "instance of a derived class": "Derived()",
    "instance with a class attribute": "WithMethods()",
    "simple namespace": "types.SimpleNamespace()",
    "generator": "generator()",
    "coroutine": "COROUTINES.setdefault(0, coroutine())",
    "exception": "Error('a')",
    "built-in exception": "ValueError('a')",
    "exception that was raised": "handled(Error('a'))",
    "weak reference": "weakref.ref(Plain)",
    "weak reference of a subclass": "type('Ref', (weakref.ref,), {})(Plain)",
    "weak proxy": "weakref.proxy(KEPT)",
    "code object": "code.__code__",
    "frame": "sys._getframe()",
    "traceback": "handled(Error('a')).__traceback__",
    "enum": "Color",
    "member of an enum": "Color.RED",
    "number of an enum": "Number.ONE",
    "data class": "Data()",
    "frozen data class": "Frozen()",
    "named tuple": "Point(1, 2)",
    "list of a subclass": "OfList([1])",
    "dict of a subclass": "OfDict(a=1)",
    "tuple of a subclass": "OfTuple((1,))",
    "int of a subclass": "OfInt(3)",
    "str of a subclass": "OfStr('text')",
    "list": "[1]",
    "dict": "{'a': 1}",
    "set": "{1}",
    "int": "3",
    "text": "'text'",
    "None": "None",
    "deque": "collections.deque([1])",
    "ordered dict": "collections.OrderedDict(a=1)",
    "default dict": "collections.defaultdict(int)",
    "counter": "collections.Counter('a')",
    "user dict": "collections.UserDict(a=1)",
    "iterator": "iter([1])",
    "enumerate": "enumerate([1])",
    "itertools": "itertools.count()",
    "range": "range(3)",
    "slice": "slice(1)",
    "mapping proxy": "types.MappingProxyType({'attr': 1})",
    "super": "Super().parent()",
    "cell": "(lambda a: lambda: a)(1).__closure__[0]",
    "descriptor of a slot": "Slots.attr",
    "method descriptor": "str.join",
    "generic alias": "list[int]",
    "typing alias": "typing.List[type('Item', (), {})]",
    "union": "int | str",
    "type variable": "typing.TypeVar('T')",
    "pattern": "re.compile('a')",
    "date": "datetime.date(2024, 1, 2)",
    "moment": "datetime.datetime(2024, 1, 2)",
    "moment of a zone": "datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)",
    "duration": "datetime.timedelta(1)",
    "ordered dict of a subclass": "type('Ordered', (collections.OrderedDict,), {})(a=1)",
    "user mapping": "type('Mapping', (collections.abc.Mapping,), {name: None for name in ('__getitem__', '__iter__', '__len__')})()",
    "lock": "threading.Lock()",
    "local of a thread": "threading.local()",
    "text stream": "io.StringIO()",
    "array": "array.array('d', [1.0])",
    "memory view": "memoryview(b'ab')",
    "byte array": "bytearray(b'ab')",
    "context manager": "contextlib.nullcontext()",
    "attribute getter": "operator.attrgetter('attr')",
    "dtype": "minidynamo.float32",
    "device": "minidynamo.device('cpu')",
    "size": "minidynamo.Size([1])",
    "signature": "inspect.signature(function)",
}

# Reads the attribute: `o` is the owner, `d` the default for a missing attribute.
READS = {
    "o.attr": "o.attr",
    "getattr": "getattr(o, 'attr')",
    "getattr with a default": "getattr(o, 'attr', d)",
    "hasattr": "hasattr(o, 'attr')",
    "hasattr and o.attr": "o.attr if hasattr(o, 'attr') else d",
    "vars": "vars(o).get('attr', d)",
    "in vars": "'attr' in vars(o)",
    "__dict__[]": "o.__dict__['attr']",
    "__dict__.get": "o.__dict__.get('attr', d)",
    "object.__getattribute__": "object.__getattribute__(o, 'attr')",
    "type.__getattribute__": "type.__getattribute__(o, 'attr')",
    "o.__getattribute__": "o.__getattribute__('attr')",
    "of its type": "getattr(type(o), 'attr', d)",
    "of its __class__": "getattr(o.__class__, 'attr', d)",
    "in its MRO": "[c.__dict__['attr'] for c in type(o).__mro__ if 'attr' in c.__dict__]",
    "attrgetter": "operator.attrgetter('attr')(o)",
    "methodcaller": "operator.methodcaller('__getattribute__', 'attr')(o)",
    "class pattern": "matched(o)",
    "getattr_static": "inspect.getattr_static(o, 'attr', d)",
    "dir": "'attr' in dir(o)",
    "try": "tried(o)",
    "suppress": "suppressed(o)",
    "map": "list(map(operator.attrgetter('attr'), [o]))",
    "f-string": "f'{o.attr}'",
    "format": "'{0.attr}'.format(o)",
    "comprehension": "[each.attr for each in (o, o)]",
    "sorted": "sorted([o], key=lambda each: each.attr) == [o]",
    "super": "super(type(o), o).attr",
}
# Those that are also tried with the owner as an argument.
AS_ARGUMENT = ["o.attr", "getattr with a default", "hasattr", "vars", "class pattern"]
READERS = """
def raised(error): raise error
def matched(o):
    match o:
        case object(attr=value): return value
    return d
def tried(o):
    try:
        return o.attr
    except AttributeError:
        return d
def suppressed(o):
    with contextlib.suppress(AttributeError):
        return o.attr
    return d
"""

PRELUDE = compile(PRELUDE + READERS, "prelude", "exec")

CHANGES = [
    "o.attr = 1",
    "o.attr = 2",
    "o.unrelated = 3",
    "del o.attr",
    "o.__dict__['attr'] = 4",
    "o.__dict__.clear()",
    "o.__dict__ = {'attr': 5}",
    "del o.attr",
    "type(o).attr = 6",
    "type(o).attr = 7",
    "o.attr = 8",
    "type(o).attr = property(lambda self: 9)",
    "del type(o).attr",
    "type(o).attr = property(lambda self: 10, lambda self, value: None)",
    "del type(o).attr",
    "del o.attr",
    "type(o).__getattr__ = lambda self, name: 11 if name == 'attr' else raised(AttributeError(name))",
    "del type(o).__getattr__",
    "type(o).__getattribute__ = lambda self, name: 12 if name == 'attr' else object.__getattribute__(self, name)",
    "del type(o).__getattribute__",
    "o.__class__ = type('Other', (type(o),), {'attr': 13, '__slots__': ()})",
]


def shown(value):
    if isinstance(value, minidynamo.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return value if isinstance(value, (int, float, str, type(None))) else type(value).__name__


class World:
    """One owner and the function that reads it; eager Python has a separate one."""

    def __init__(self, owner, read, as_argument, compiled):
        self.names = {"__name__": "owners", "COROUTINES": {}, "d": -9}
        exec(PRELUDE, self.names)
        self.names["o"] = eval(owner, self.names)
        head = "def run(x, o):" if as_argument else "def run(x):"
        exec(f"{head}\n    value = {read}\n    return x + 1, value, x * 2", self.names)
        self.run = self.names["run"]
        if compiled:
            self.run = minidynamo.compile(self.run, backend="eager")
        self.args = ("o",) if as_argument else ()

    def outcome(self):
        x = minidynamo.ones(1)
        try:
            return shown(self.run(x, *(self.names[name] for name in self.args)))
        except Exception as error:
            return type(error).__name__, re.sub(" at 0x[0-9a-f]+", "", str(error))

    def change(self, text):
        # A change that the owner does not allow leaves it unchanged.
        with contextlib.suppress(Exception):
            exec(text, self.names)

    def close(self):
        for coroutine in self.names["COROUTINES"].values():
            coroutine.close()


def differences(owner, read, as_argument):
    plain, compiled = (World(OWNERS[owner], READS[read], as_argument, compiled) for compiled in (False, True))
    found = []
    try:
        for text in ["pass", *CHANGES]:
            plain.change(text)
            compiled.change(text)
            for _ in range(2):
                wanted, got = plain.outcome(), compiled.outcome()
                if wanted != got:
                    found.append((text, wanted, got))
    finally:
        undo(plain)
        undo(compiled)
    return found


def undo(world):
    # Parameter and Buffer are shared by both worlds and by other tests.
    owner_type = type(world.names["o"])
    if owner_type.__module__.startswith("minidynamo"):
        for name in ("attr", "__getattr__", "__getattribute__"):
            if name in vars(owner_type):
                world.change(f"del type(o).{name}")
    world.close()


@pytest.mark.parametrize("owner", OWNERS)
def test_reads_follow_changes(owner):
    minidynamo._dynamo.reset()
    found = {}
    for read in READS:
        if wrong := differences(owner, read, as_argument=False):
            found[read, "global"] = wrong
    for read in AS_ARGUMENT:
        if wrong := differences(owner, read, as_argument=True):
            found[read, "argument"] = wrong
    assert not found, "\n".join(f"{key}: {wrong[:3]}" for key, wrong in found.items())
