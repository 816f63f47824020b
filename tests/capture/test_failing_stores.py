"""Stores and deletions inside `try`: a failing one raises at its instruction, where the program's handler sees it, and a valid one
takes effect. Each is tried on a pre-existing object and on one that the same function creates, plain and compiled.
"""

import pytest

import minidynamo
from minidynamo import ones

PRELUDE = """
import abc, array, collections, dataclasses, decimal, enum, fractions, functools, io, operator, pathlib, sys, threading, types
import weakref, zoneinfo, datetime, re, contextvars, ast

class Plain:
    kept = 1
    def method(self): return 1

class Slotted:
    __slots__ = ("a", "b")

class SlottedBelow(Slotted):
    __slots__ = ()

class Property:
    @property
    def fixed(self): return 1
    @property
    def both(self): return self.held
    @both.setter
    def both(self, value):
        if value == "no": raise ValueError("refused")
        self.held = value

class Descriptor:
    def __set__(self, obj, value): raise LookupError("set")
    def __delete__(self, obj): raise LookupError("delete")
    def __get__(self, obj, owner=None): return 5

class OnlyGet:
    def __get__(self, obj, owner=None): return 5

class OnlySet:
    def __set__(self, obj, value): obj.__dict__["given"] = value

class Described:
    d, get, put = Descriptor(), OnlyGet(), OnlySet()

class Guarded:
    def __setattr__(self, name, value):
        if name.startswith("no"): raise AttributeError(name)
        object.__setattr__(self, name, value)
    def __delattr__(self, name):
        raise AttributeError("never " + name)

class Meta(type):
    @property
    def fixed(cls): return 1
    def __setattr__(cls, name, value):
        if name == "no": raise AttributeError(name)
        super().__setattr__(name, value)

class WithMeta(metaclass=Meta): pass

class Items(list): pass
class Table(dict): pass
class Number(int): pass
class Text(str): pass
class Pair(tuple): pass
class Own(dict):
    def __setitem__(self, key, value): raise KeyError(("own", key))
    def __delitem__(self, key): raise KeyError(("own", key))
class Zone(zoneinfo.ZoneInfo): pass
class Part(functools.partial): pass
class Failure(Exception): pass
class Array(array.array): pass
class Queue(collections.deque): pass
class Moment(datetime.datetime): pass
class Money(decimal.Decimal): pass
class Default(collections.defaultdict): pass
class Ordered(collections.OrderedDict): pass
class Buffer(io.StringIO): pass
class Lock(threading.local): pass
class Node(ast.Name): pass
class Namespace(types.SimpleNamespace): pass
class Module(types.ModuleType): pass
class Reference(weakref.ref): pass
class Prop(property): pass
class Static(staticmethod): pass
class Complex(complex): pass
class Bytes(bytearray): pass
class Stop(StopIteration): pass
class Exit(SystemExit): pass
class Missing(ImportError): pass
class Broken(OSError): pass
class Wrong(SyntaxError): pass
class Undecoded(UnicodeDecodeError): pass
class Several(ExceptionGroup): pass
class NoName(NameError): pass
class NoAttribute(AttributeError): pass
class Task(threading.Thread): pass

# With descriptors of classes that have nothing to do with it.
class Borrower:
    slot = Slotted.a
    table = Plain.__dict__["__dict__"]
    arguments = BaseException.__dict__["args"]
    suppressed = BaseException.__dict__["__suppress_context__"]
    called = functools.partial.__dict__["func"]
    code = types.FunctionType.__dict__["__code__"]
    cells = types.FunctionType.__dict__["__closure__"]
    start = slice.__dict__["start"]
    both = Property.both
class BorrowerWithSlot:
    __slots__ = ("own",)
    slot = Slotted.b

Point = collections.namedtuple("Point", "x y")
class Named(Point): pass

@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int = 1

@dataclasses.dataclass
class Data:
    x: int = 1

@dataclasses.dataclass(slots=True)
class SlottedData:
    x: int = 1

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

class Abstract(abc.ABC):
    @abc.abstractmethod
    def method(self): ...

def function(a, b=1, *, c=2): return a
def closing():
    n = 1
    def inner(): return n
    return inner
def generating():
    yield 1
"""

# How the object is created, and what is tried with it as `o`.
STORES = {
    "zoneinfo.ZoneInfo('UTC')": ("o.key = 'x'", "o.new = 1"),
    "Zone('UTC')": (
        "o.key = 'x'",
        "del o.key",
        "o.new = 1",
        "setattr(o, 'key', 'x')",
        "object.__setattr__(o, 'key', 1)",
    ),
    "Plain()": (
        "o.new = 1",
        "del o.new",
        "del o.kept",
        "o.kept = 2",
        "o.method = 3",
        "del o.method",
        "o.__class__ = Property",
        "o.__class__ = 1",
        "o.__class__ = int",
        "o.__dict__ = {'q': 1}",
        "o.__dict__ = 5",
        "del o.__dict__",
        "o.__weakref__ = None",
        "o.__doc__ = 'd'",
        "o.__module__ = 'm'",
        "setattr(o, 'plain', 1)",
        "setattr(o, 1, 1)",
        "delattr(o, 'absent')",
        "delattr(o, 1)",
        "o[0] = 1",
        "del o[0]",
        "o.a.b = 1",
        "o += 1",
        "o.kept += 'x'",
        "vars(o)['k'] = 1",
        "del vars(o)['k']",
        "o.__init__.x = 1",
        "o.method.x = 1",
    ),
    "Slotted()": (
        "o.a = 1",
        "del o.a",
        "o.c = 1",
        "del o.c",
        "o.__dict__ = {}",
        "o.__slots__ = ()",
        "o.__class__ = Plain",
    ),
    "SlottedBelow()": ("o.a = 1", "del o.b", "o.c = 1"),
    **{
        maker: tuple(
            form.format(name)
            for name in ("slot", "table", "arguments", "suppressed", "called", "code", "cells", "start", "both")
            for form in ("o.{} = {{}}", "o.{}", "del o.{}", "getattr(o, '{}', 1)", "hasattr(o, '{}')")
        )
        for maker in ("Borrower()", "type('Below', (Borrower,), {})()")
    },
    **{
        maker: ("o.slot = 1", "o.slot", "del o.slot", "getattr(o, 'slot', 1)", "hasattr(o, 'slot')")
        for maker in (
            "BorrowerWithSlot()",
            "type('Sneaky', (), {'slot': Slotted.a})()",
            "type('Sneaky', (), {'slot': type('Class', (), {'__slots__': ('slot',)}).slot})()",
        )
    },
    "Property()": (
        "o.fixed = 1",
        "del o.fixed",
        "o.both = 1",
        "o.both = 'no'",
        "del o.both",
        "o.fixed += 1",
        "o.held = 2",
    ),
    "Described()": ("o.d = 1", "del o.d", "o.get = 1", "del o.get", "o.put = 1", "del o.put"),
    "Guarded()": (
        "o.yes = 1",
        "o.no = 1",
        "del o.yes",
        "del o.no",
        "object.__setattr__(o, 'no', 1)",
        "object.__delattr__(o, 'q')",
    ),
    "Frozen()": ("o.x = 2", "del o.x", "o.y = 1", "object.__setattr__(o, 'x', 3)"),
    "Data()": ("o.x = 'a'", "del o.x", "o.y = 1", "o.__dataclass_fields__ = 1"),
    "SlottedData()": ("o.x = 'a'", "del o.x", "o.y = 1"),
    "Point(1, 2)": ("o.x = 1", "del o.x", "o.z = 1", "o[0] = 1", "o._fields = ()", "o.count = 1"),
    "Named(1, 2)": ("o.x = 1", "del o.x", "o.z = 1", "o[0] = 1"),
    "Colour.RED": ("o.name = 'x'", "o.value = 2", "o._value_ = 1", "o.new = 1", "del o.name"),
    "Colour": ("o.RED = 3", "del o.RED", "o.new = 1", "o['RED'] = 1", "o.__members__ = {}"),
    "Plain": (
        "o.kept = 2",
        "del o.kept",
        "del o.absent",
        "o.__name__ = 'Q'",
        "o.__name__ = 1",
        "del o.__name__",
        "o.__bases__ = ()",
        "o.__bases__ = (int,)",
        "o.__bases__ = 1",
        "o.__mro__ = ()",
        "o.__dict__ = {}",
        "o.__dict__['a'] = 1",
        "o.__class__ = Meta",
        "o.__class__ = int",
        "o.__basicsize__ = 1",
        "o.__qualname__ = 1",
        "del o.__module__",
        "o.__doc__ = 'd'",
        "o.__abstractmethods__ = 1",
        "del o.__abstractmethods__",
        "o.__flags__ = 1",
        "o.mro = 1",
        "o[0] = 1",
        "setattr(o, 'later', 1)",
        "type.__setattr__(o, 'late', 1)",
    ),
    "WithMeta": ("o.fixed = 1", "del o.fixed", "o.no = 1", "o.yes = 1", "del o.no", "del o.yes"),
    "int": ("o.new = 1", "del o.real", "o.__add__ = 1", "o.__name__ = 'i'", "o.__doc__ = 1", "setattr(o, 'a', 1)"),
    "dict": ("o.get = 1", "o.__name__ = 'd'"),
    "zoneinfo.ZoneInfo": ("o.new = 1", "o.key = 1", "o.__name__ = 'z'"),
    "Abstract": ("o.method = 1", "o.__abstractmethods__ = frozenset()", "o.register = 1"),
    "5": ("o.real = 1", "o.new = 1", "del o.imag", "o[0] = 1", "o.__class__ = bool"),
    "Number(5)": (
        "o.real = 1",
        "del o.real",
        "o.new = 1",
        "o.numerator = 1",
        "o.__class__ = int",
        "o.__class__ = bool",
    ),
    "2.5": ("o.real = 1", "o.new = 1"),
    "Complex(1)": ("o.real = 1", "del o.imag", "o.new = 1"),
    "'abc'": ("o[0] = 'x'", "del o[0]", "o.new = 1", "o.upper = 1"),
    "Text('abc')": ("o[0] = 'x'", "del o[0]", "o.new = 1", "o.upper = 1", "del o.lower"),
    "None": ("o.x = 1", "o[0] = 1", "del o.x"),
    "(1, 2)": ("o[0] = 1", "del o[0]", "o.x = 1", "o[9] = 1", "o += (3,)"),
    "Pair((1, 2))": ("o[0] = 1", "del o[0]", "o.x = 1"),
    "[1, 2, 3]": (
        "o[0] = 5",
        "o[9] = 5",
        "o[-9] = 5",
        "del o[9]",
        "del o[0]",
        "o['a'] = 1",
        "o[1.0] = 1",
        "o[0:2] = 5",
        "o[0:2] = [7]",
        "o[::2] = [1]",
        "del o[::2]",
        "o[None] = 1",
        "o.x = 1",
        "o.append = 1",
        "o[10**30] = 1",
        "o += 5",
        "del o['a']",
    ),
    "Items([1, 2, 3])": (
        "o[0] = 5",
        "o[9] = 5",
        "del o['a']",
        "o.x = 1",
        "del o.x",
        "o.append = 1",
        "o.__class__ = list",
    ),
    "{'a': 1}": (
        "o['b'] = 1",
        "o[[]] = 1",
        "o[{}] = 1",
        "del o['a']",
        "del o['z']",
        "del o[[]]",
        "o.x = 1",
        "o[1, []] = 1",
        "o |= 5",
        "o[slice(1)] = 1",
        "o.update(5)",
        "o.update([1])",
        "o.pop('z')",
        "o.setdefault([], 1)",
        "o['a'] += 'x'",
    ),
    "Table(a=1)": ("o['b'] = 1", "o[[]] = 1", "del o['z']", "o.x = 1", "del o.x", "o.__class__ = dict"),
    "Own(a=1)": ("o['b'] = 1", "del o['a']", "o.x = 1", "o.update(c=1)", "o |= {'d': 1}"),
    "Default(list)": (
        "o.default_factory = 5",
        "o.default_factory = None",
        "del o.default_factory",
        "o['a'] = 1",
        "o.x = 1",
    ),
    "collections.defaultdict(list)": (
        "o.default_factory = 5",
        "del o.default_factory",
        "o.x = 1",
        "o[[]]",
        "del o['q']",
    ),
    "Ordered(a=1)": ("o.x = 1", "del o['z']", "o[[]] = 1", "o.move_to_end('z')"),
    "{1, 2}": ("o.add([])", "o.remove(9)", "o.x = 1", "o |= 5", "o |= [5]", "o.discard([])", "o[0] = 1"),
    "frozenset((1, 2))": ("o.add(1)", "o.x = 1", "o |= {3}"),
    "collections.deque([1, 2], 2)": (
        "o[0] = 5",
        "o[9] = 5",
        "del o[9]",
        "o['a'] = 1",
        "o.maxlen = 3",
        "o.x = 1",
        "del o.maxlen",
        "o += 5",
        "o.remove(9)",
    ),
    "Queue([1, 2], 2)": ("o[0] = 5", "o.maxlen = 3", "del o.maxlen", "o.x = 1"),
    "collections.ChainMap({'a': 1}, {'b': 2})": ("o['c'] = 1", "del o['b']", "del o['z']", "o.maps = 1", "o.x = 1"),
    "types.MappingProxyType({'a': 1})": ("o['b'] = 1", "del o['a']", "o.x = 1", "o |= {}"),
    "bytearray(b'ab')": ("o[0] = 300", "o[0] = 'a'", "o[9] = 1", "del o[9]", "o.x = 1", "o[0:1] = 5", "o[0:1] = 'a'"),
    "Bytes(b'ab')": ("o[0] = 300", "o.x = 1", "del o.x"),
    "b'ab'": ("o[0] = 1", "del o[0]", "o.x = 1"),
    "memoryview(b'abc')": ("o[0] = 1", "del o[0]", "o.x = 1", "o.obj = 1"),
    "memoryview(bytearray(b'abc'))": (
        "o[0] = 1",
        "o[0] = 300",
        "o[0] = 'a'",
        "o[9] = 1",
        "o[0:2] = b'xyz'",
        "del o[0]",
    ),
    "array.array('b', [1])": ("o[0] = 5", "o[0] = 300", "o[0] = 'a'", "o[9] = 1", "o.typecode = 'i'", "o.x = 1"),
    "Array('b', [1])": ("o[0] = 300", "o.typecode = 'i'", "del o.itemsize", "o.x = 1"),
    "range(5)": ("o[0] = 1", "o.start = 1", "del o.stop", "o.x = 1"),
    "slice(1, 2)": ("o.start = 5", "o.x = 1"),
    "function": (
        "o.x = 1",
        "del o.x",
        "o.__code__ = 1",
        "o.__code__ = closing().__code__",
        "del o.__code__",
        "o.__name__ = 1",
        "o.__name__ = 'g'",
        "del o.__name__",
        "o.__qualname__ = None",
        "o.__defaults__ = 1",
        "o.__defaults__ = (1, 2)",
        "o.__kwdefaults__ = 1",
        "o.__kwdefaults__ = {'c': 9}",
        "o.__dict__ = 1",
        "o.__closure__ = ()",
        "o.__globals__ = {}",
        "del o.__closure__",
        "o.__annotations__ = 1",
        "o.__annotations__ = {}",
        "o.__module__ = 5",
        "o.__doc__ = 5",
        "o.__builtins__ = {}",
        "o.__class__ = int",
        "o.__get__ = 1",
    ),
    "closing()": (
        "o.x = 1",
        "o.__code__ = function.__code__",
        "o.__closure__[0].cell_contents = 5",
        "del o.__closure__[0].cell_contents",
        "o.__closure__ = None",
    ),
    "types.CellType(1)": ("o.cell_contents = 2", "del o.cell_contents", "o.x = 1"),
    "(lambda: 1)": ("o.x = 1", "o.__name__ = 5", "o.__defaults__ = 5", "o.__code__ = 5"),
    "generating()": (
        "o.gi_frame = 1",
        "o.__name__ = 1",
        "o.__name__ = 'x'",
        "o.gi_running = 1",
        "o.x = 1",
        "del o.__qualname__",
    ),
    "Plain().method": ("o.x = 1", "o.__self__ = 1", "o.__func__ = 1", "del o.__self__"),
    "len": ("o.x = 1", "o.__name__ = 'l'", "o.__self__ = 1"),
    "functools.partial(len)": ("o.func = 1", "o.x = 1", "del o.args", "o.__dict__ = 1", "o.keywords = {}"),
    "Part(len)": ("o.func = 1", "del o.func", "o.args = ()", "o.keywords = {}", "o.x = 1"),
    "property()": ("o.fget = 1", "o.x = 1", "o.__doc__ = 'd'", "del o.fset"),
    "Prop()": ("o.fget = 1", "del o.fget", "o.x = 1", "o.__doc__ = 'd'"),
    "Static(len)": ("o.__func__ = 1", "o.x = 1", "del o.__func__"),
    "operator.attrgetter('a')": ("o.x = 1", "o.new = 2"),
    "ValueError('v')": (
        "o.args = 5",
        "o.args = [1]",
        "del o.args",
        "o.__traceback__ = 1",
        "o.__traceback__ = None",
        "del o.__traceback__",
        "o.__cause__ = 1",
        "o.__cause__ = None",
        "o.__cause__ = KeyError()",
        "o.__cause__ = KeyError",
        "del o.__cause__",
        "o.__context__ = 1",
        "o.__context__ = KeyError()",
        "del o.__context__",
        "o.__suppress_context__ = 1",
        "o.__suppress_context__ = 'a'",
        "del o.__suppress_context__",
        "o.x = 1",
        "del o.x",
        "o.__notes__ = 5",
        "o.__class__ = KeyError",
        "o.__dict__ = 5",
        "o.with_traceback(5)",
        "o.add_note(5)",
    ),
    "Failure('v')": (
        "o.args = 5",
        "o.__cause__ = 1",
        "o.__traceback__ = 1",
        "o.__context__ = 'a'",
        "del o.__context__",
        "o.__suppress_context__ = 2",
        "o.x = 1",
        "del o.args",
    ),
    "Stop(1)": ("o.value = 2", "del o.value", "o.value = None"),
    "Exit(1)": ("o.code = 2", "del o.code"),
    "Missing('m', name='n')": ("o.name = 2", "del o.name", "o.msg = 5", "o.path = 5"),
    "Broken(1, 'm')": (
        "o.errno = 'a'",
        "o.characters_written = 'a'",
        "o.characters_written = 5",
        "del o.characters_written",
        "del o.errno",
    ),
    "Wrong('m')": ("o.lineno = 'a'", "o.text = 5", "del o.msg"),
    "Undecoded('utf8', b'a', 0, 1, 'r')": (
        "o.start = 'a'",
        "o.start = 5",
        "del o.start",
        "o.object = 5",
        "o.reason = 5",
    ),
    "Several('s', [ValueError()])": ("o.message = 'x'", "o.exceptions = ()", "del o.message", "o.x = 1"),
    "NoName('m', name='n')": ("o.name = 1", "del o.name"),
    "NoAttribute('m', name='n', obj=1)": ("o.obj = 1", "del o.obj", "o.name = 5"),
    "sys": (
        "o.version_info.major = 1",
        "o.flags.debug = 1",
        "o.__dict__ = {}",
        "o.__name__ = o.__name__",
        "del o.absent",
    ),
    "Module('m')": ("o.x = 1", "del o.x", "o.__dict__ = {}", "o.__name__ = 5", "del o.__doc__", "o.__class__ = int"),
    "types.ModuleType('m')": ("o.x = 1", "del o.x", "o.__dict__ = {}", "o.__class__ = Module", "o.__class__ = int"),
    "Namespace(a=1)": ("o.a = 2", "del o.a", "del o.z", "o.__dict__ = {}"),
    "types.SimpleNamespace(a=1)": (
        "o.a = 2",
        "del o.a",
        "del o.z",
        "o.__dict__ = {}",
        "o[0] = 1",
        "o.__class__ = Namespace",
    ),
    "Reference(Plain)": ("o.__callback__ = 1", "del o.__callback__", "o.x = 1"),
    "weakref.ref(Plain)": ("o.__callback__ = 1", "o.x = 1"),
    "Moment(2020, 1, 1)": ("o.year = 1", "del o.year", "o.x = 1", "o.tzinfo = None"),
    "datetime.date(2020, 1, 1)": ("o.year = 1", "o.x = 1"),
    "Money('1.5')": ("o.real = 1", "o.x = 1", "del o.imag"),
    "fractions.Fraction(1, 2)": ("o.numerator = 1", "o._numerator = 5", "o.x = 1"),
    "Buffer('a')": ("o.closed = 1", "o.newlines = 5", "o.x = 1", "del o.line_buffering", "o.encoding = 'a'"),
    "Lock()": ("o.x = 1", "del o.z", "o.__dict__ = {}"),
    "Node('a')": ("o.id = 5", "del o.id", "del o.ctx", "o._fields = 1", "o.x = 1"),
    "Task()": ("o.name = 5", "o.daemon = True", "o.ident = 1", "o._initialized = False", "del o.name"),
    "re.compile('a')": ("o.pattern = 1", "o.x = 1", "del o.flags"),
    "re.match('a', 'a')": ("o.string = 1", "o[0] = 1"),
    "contextvars.ContextVar('v')": ("o.name = 1", "o.x = 1"),
    "object()": ("o.x = 1", "del o.x", "o.__class__ = Plain", "o.__doc__ = 1"),
    "type('Made', (), {})()": ("o.x = 1", "o.__class__ = Plain", "del o.z"),
    "iter([1])": ("o.x = 1", "o[0] = 1", "o.__length_hint__ = 1"),
    "super(Plain, Plain())": ("o.x = 1", "o.__thisclass__ = 1"),
    "list[int]": ("o.x = 1", "o.__origin__ = 1", "o.__args__ = ()"),
    "ones(2)": ("o.shape = 1", "o.dtype = 5", "o[9] = 1", "del o[0]", "o[0] = 'a'", "o.ndim = 1", "del o.shape"),
}

PROGRAM = """
def f(x, o):
    y = x + 1
    try:
        {store}
    except Exception as error:
        return "caught", type(error), str(error), y * 2
    return "stored", None, None, y * 2

def made(x):
    y = x + 1
    o = {maker}
    try:
        {store}
    except Exception as error:
        return "caught", type(error), str(error), y * 2
    return "stored", None, None, y * 2
"""
SEEN = (
    "x",
    "a",
    "b",
    "kept",
    "new",
    "key",
    "held",
    "args",
    "__cause__",
    "__context__",
    "__suppress_context__",
    "__name__",
)


def state_of(o):
    seen = [type(o).__name__]
    for name in SEEN:
        try:
            seen.append(repr(getattr(o, name)))
        except Exception as error:
            seen.append(type(error))
    if isinstance(o, (list, dict, tuple, set, str, int, bytearray)) or type(o).__name__ == "deque":
        seen.append(repr(o))
    return [text.split(" at 0x")[0] if isinstance(text, str) else text for text in seen]


def outcome(maker, store, compiles):
    names = {"ones": ones}
    exec(PRELUDE + PROGRAM.format(store=store, maker=maker), names)
    given, made = names["f"], names["made"]
    if compiles:
        given, made = minidynamo.compile(given), minidynamo.compile(made)
    seen = []
    for _ in range(2):
        o = eval(maker, names)
        result = given(ones(1), o)
        seen.append(
            (
                result[0],
                result[1] and result[1].__name__,
                result[2].split(" at 0x")[0] if result[2] else None,
                result[3].tolist(),
                state_of(o),
            )
        )
        result = made(ones(1))
        seen.append(
            (
                result[0],
                result[1] and result[1].__name__,
                result[2].split(" at 0x")[0] if result[2] else None,
                result[3].tolist(),
            )
        )
    return seen


@pytest.mark.parametrize("maker", STORES)
def test_a_store_fails_at_its_instruction(maker):
    for store in STORES[maker]:
        wanted = outcome(maker, store, False)
        assert outcome(maker, store, True) == wanted, (maker, store)
    minidynamo._dynamo.reset()
