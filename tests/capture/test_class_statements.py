"""Class statements: the running frame gets the class that the interpreter would create, whatever metaclasses, descriptors, slots,
cells and hooks are involved; the class is kept over a break, returned, modified afterwards.
"""

import pytest

import minidynamo
from minidynamo import ones

PRELUDE = """
import abc, collections, dataclasses, enum, functools, types, typing

log = []

class Meta(type):
    made = []
    @property
    def label(cls): return "class"
    @property
    def both(cls): return cls.__dict__.get("both", "none")
    @both.setter
    def both(cls, value): log.append(("set on class", value))

class Reader:
    def __get__(self, obj, owner): return ("read", obj is None)

class Refusing:
    def __get__(self, obj, owner): return "from meta"
    def __set__(self, obj, value): raise TypeError("refused")
    def __delete__(self, obj): raise TypeError("not deleted")

class MetaOfDescriptors(type):
    label, plain = Refusing(), Reader()

class MetaOfSetattr(type):
    def __setattr__(cls, name, value):
        log.append((cls.__name__, name))
        super().__setattr__(name, value)

class MetaOfNew(type):
    def __new__(meta, name, bases, names, **keywords):
        names = dict(names, added=len(names), keywords=keywords)
        return super().__new__(meta, name, bases, names)
    def __init__(cls, name, bases, names, **keywords):
        cls.started = name
        super().__init__(name, bases, names)

class Recorded(dict):
    def __setitem__(self, key, value):
        log.append(key)
        super().__setitem__(key, value)

class MetaOfPrepare(type):
    @classmethod
    def __prepare__(meta, name, bases, **keywords):
        return Recorded(prepared=name)
    def __new__(meta, name, bases, names, **keywords):
        return super().__new__(meta, name, bases, dict(names))

class MetaOfCall(type):
    def __call__(cls, *args):
        return ("called", super().__call__(*args))

class MetaOfMro(type):
    def mro(cls):
        return super().mro()

class MetaOfSlots(type):
    def __getattr__(cls, name): return ("absent", name)

class Base:
    def __init_subclass__(cls, **keywords):
        super().__init_subclass__()
        log.append(("subclass", cls.__name__, sorted(keywords), sorted(n for n in vars(cls) if n[0] != "_")))

class Named:
    def __set_name__(self, owner, name):
        log.append(("named", owner.__name__, name, sorted(n for n in vars(owner) if n[0] != "_")))
        self.name = name
    def __get__(self, obj, owner): return ("named", self.name)

class NamedAndSet(Named):
    def __set__(self, obj, value): log.append(("set", self.name, value))

GLOBAL = NamedAndSet()

class Generic(typing.Generic[typing.TypeVar("T")]): pass

class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

def decorated(cls):
    log.append(("decorated", cls.__name__))
    cls.extra = 1
    return cls

def names_of(cls):
    skipped = ("__module__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__")
    return [(n, type(v).__name__) for n, v in vars(cls).items() if n not in skipped]
"""

# The body of the function up to a break, then the expression that is compared after it.
PROGRAMS = {
    "metaclass property": ("class C(metaclass=Meta):\n label = 5\n both = 6", "C.label, C().label, C.both, C().both"),
    "property over a metaclass property": (
        "class C(metaclass=Meta):\n @property\n def label(self): return 'object'",
        "C.label, C().label",
    ),
    "method over a metaclass property": (
        "class C(metaclass=Meta):\n def label(self): return __class__",
        "C.label, C().label()",
    ),
    "slot over a metaclass property": (
        "class C(metaclass=Meta):\n __slots__ = ('label',)\nc = C()\nc.label = 1",
        "C.label, c.label",
    ),
    "list over a metaclass property": (
        "class C(metaclass=Meta):\n label = []\nC().label.append(C)",
        "C.label, C().label == [C]",
    ),
    "instance over a metaclass property": (
        "class C(metaclass=Meta):\n label = Named()",
        "C.label, C().label, vars(C)['label'].name",
    ),
    "refusing metaclass": (
        "class C(metaclass=MetaOfDescriptors):\n label = 5\n plain = 6",
        "C.label, C().label, C.plain, C().plain",
    ),
    "refusing metaclass, function": (
        "class C(metaclass=MetaOfDescriptors):\n def label(self): return 1",
        "C.label, C().label()",
    ),
    "subclass of one": (
        "class B(metaclass=Meta):\n label = 1\nclass C(B):\n label = 2",
        "C.label, C().label, B().label",
    ),
    "setattr of the metaclass": (
        "class C(metaclass=MetaOfSetattr):\n a = 1\n def f(self): return __class__\nC.b = 2",
        "C().f() is C, C.b, log",
    ),
    "new of the metaclass": ("class C(metaclass=MetaOfNew, key=1):\n a = 1", "C.added, C.keywords, C.started, C.a"),
    "prepare of the metaclass": ("class C(metaclass=MetaOfPrepare):\n a = 1\n b = a", "C.prepared, C.b, log"),
    "call of the metaclass": (
        "class C(metaclass=MetaOfCall):\n def __init__(self, a): self.a = a\nc = C(3)",
        "c[0], c[1].a, C(4)[1].a",
    ),
    "mro of the metaclass": ("class C(metaclass=MetaOfMro):\n a = 1", "[each.__name__ for each in C.__mro__]"),
    "getattr of the metaclass": ("class C(metaclass=MetaOfSlots):\n a = 1", "C.zzz, C.a"),
    "metaclass made inside": (
        "class M(type):\n @property\n def label(cls): return 'class'\nclass C(metaclass=M):\n label = 1",
        "C.label, C().label, type(C) is M",
    ),
    "metaclass function": ("class C(metaclass=lambda *args: args[0]):\n a = 1", "C"),
    "init_subclass": ("class C(Base, key=1):\n a = 1\nclass D(C):\n b = Named()", "log"),
    "init_subclass inside": (
        "class B:\n kept = []\n def __init_subclass__(cls, **k): B.kept.append((cls, k))\nclass C(B, a=1): pass",
        "[(c.__name__, k) for c, k in B.kept]",
    ),
    "set_name": ("class C:\n a = Named()\n b = Named()", "C.a, C().b, log"),
    "set_name twice": ("class C:\n a = b = Named()\nC.c = Named.__new__(Named)", "C.a, log"),
    "set_name of a global": ("class C:\n a = GLOBAL\n b = GLOBAL\nC().a = 4", "GLOBAL.name, log"),
    "set_name inside": (
        "class N:\n def __set_name__(self, owner, name): self.arguments = (owner, name)\nclass C:\n n = N()",
        "C.n.arguments == (C, 'n')",
    ),
    "set_name raises": (
        "class N:\n def __set_name__(self, owner, name): raise KeyError(name)\ntry:\n class C:\n  n = N()\nexcept Exception as error: e = type(error).__name__, getattr(error, '__notes__', None)",
        "e",
    ),
    "cached property": (
        "class C:\n @functools.cached_property\n def a(self): return 5\nc = C()",
        "c.a, C.a.attrname, vars(c)",
    ),
    "partial method": ("class C:\n def f(self, n): return n\n g = functools.partialmethod(f, 3)", "C().g()"),
    "slots": (
        "class C:\n __slots__ = ('a', 'b')\nc = C()\nc.a = 1",
        "c.a, hasattr(c, 'b'), hasattr(c, '__dict__'), C.__slots__",
    ),
    "slots by a list": ("class C:\n __slots__ = ['a']\nc = C()\nc.a = 1", "c.a, C.__slots__"),
    "slots by a dict": ("class C:\n __slots__ = {'a': 'doc of a'}\nc = C()\nc.a = 1", "c.a, C.__slots__"),
    "slots and default": (
        "try:\n class C:\n  __slots__ = ('a',)\n  a = 1\nexcept ValueError as error: e = str(error)",
        "e",
    ),
    "mangled slots": (
        "class C:\n __slots__ = ('__a',)\n def set(self): self.__a = 3\n def get(self): return self.__a\nc = C()\nc.set()",
        "c.get(), sorted(n for n in vars(C) if 'a' in n and n[:2] != '__')",
    ),
    "slots with weak references": (
        "class C:\n __slots__ = ('__weakref__', '__dict__')\nc = C()\nc.z = 2",
        "c.z, C.__weakref__ is not None",
    ),
    "class cell": (
        "class C:\n def f(self): return __class__\n @classmethod\n def g(cls): return __class__\n @staticmethod\n def h(): return __class__",
        "C().f() is C, C.g() is C, C.h() is C",
    ),
    "super without arguments": (
        "class B:\n def f(self): return 1\nclass C(B):\n def f(self): return super().f() + 1",
        "C().f()",
    ),
    "a cell of its own": (
        "try:\n class C:\n  __classcell__ = None\nexcept Exception as error: e = type(error).__name__",
        "e",
    ),
    "cells around": ("n = [1]\nclass C:\n m = n\n def f(self): return n\nn = [2]", "C.m, C().f()"),
    "nested": ("class C:\n class D:\n  def f(self): return __class__", "C.D().f() is C.D, C.D.__qualname__"),
    "holds itself": ("class C: pass\nC.me = C\nC.all = [C, (C,)]", "C.me is C, C.all[1][0] is C"),
    "a list holds it": (
        "class C:\n kept = []\nC.kept.append(C)\nC.kept.append(C())",
        "C.kept[0] is C, type(C.kept[1]) is C",
    ),
    "a partial holds it": (
        "kept = []\nclass C:\n p = functools.partial(len, kept)\nkept.append(C)",
        "C.p(), kept == [C]",
    ),
    "an exception holds it": ("e = ValueError(1)\nclass C:\n err = e\ne.args = (C,)", "C.err.args[0] is C"),
    "an iterator holds it": ("kept = []\nclass C:\n it = iter(kept)\nkept.append(C)", "next(C.it) is C"),
    "a map holds it": ("kept = []\nclass C:\n it = map(id, kept)\nkept.append(C)", "next(C.it) == id(C)"),
    "changed and deleted": (
        "class C:\n a = 1\n b = 2\n c = 3\nC.a = 5\ndel C.b\nC.d = 6\nC.b = 7",
        "C.a, C.b, C.c, C.d, names_of(C)",
    ),
    "deleted": ("class C:\n a = 1\n b = 2\ndel C.a", "hasattr(C, 'a'), names_of(C)"),
    "order of names": ("class C:\n z = 1\n a = 2\n def m(self): pass\n k = []\n n = Named()", "names_of(C)"),
    "doc": ("class C:\n 'the doc'\n a: int = 1\n b: str", "C.__doc__, C.__annotations__"),
    "special methods": (
        "class C:\n def __len__(self): return 3\n def __getitem__(self, i): return i\n def __call__(self): return 'c'\n def __eq__(self, o): return True\nc = C()",
        "len(c), c[2], c(), c == 5, C.__hash__",
    ),
    "hash taken away": ("class C:\n __hash__ = None\ntry: hash(C())\nexcept TypeError as error: e = str(error)", "e"),
    "class_getitem": ("class C:\n def __class_getitem__(cls, item): return (cls, item)", "C[3][1], C[3][0] is C"),
    "new": (
        "class C:\n def __new__(cls, n):\n  self = super().__new__(cls)\n  self.n = n\n  return self\nc = C(4)",
        "c.n, C(5).n",
    ),
    "mro_entries": ("class C(typing.NamedTuple):\n a: int\n b: str = 'x'", "C(1), C._fields"),
    "generic base": ("class C(Generic[int]):\n a = 1", "C.a, [b.__name__ for b in C.__mro__]"),
    "typed dict": ("class C(typing.TypedDict):\n a: int", "C(a=1)"),
    "protocol": ("class P(typing.Protocol):\n def f(self): ...\nclass C(P):\n def f(self): return 1", "C().f()"),
    "dataclass": (
        "@dataclasses.dataclass\nclass C:\n a: int\n b: list = dataclasses.field(default_factory=list)\nc = C(1)",
        "c, C(1) == C(1), C(2).b",
    ),
    "frozen dataclass": (
        "@dataclasses.dataclass(frozen=True, order=True)\nclass C:\n a: int\nc = C(1)\ntry: c.a = 2\nexcept Exception as error: e = type(error).__name__",
        "c, e, C(1) < C(2), hash(C(1)) == hash(c)",
    ),
    "dataclass with slots": ("@dataclasses.dataclass(slots=True)\nclass C:\n a: int = 4\nc = C()", "c, C.__slots__"),
    "enum": (
        "class C(enum.Enum):\n A = 1\n B = 2\n def f(self): return self.value\n @property\n def label(self): return self.name",
        "C.A.f(), C(2), list(C), C['A'].label",
    ),
    "int enum and flags": ("class C(enum.IntFlag):\n A = enum.auto()\n B = enum.auto()", "C.A | C.B, int(C.B)"),
    "str enum": ("class C(enum.StrEnum):\n A = enum.auto()", "C.A, C.A == 'a'"),
    "abstract": (
        "class C(Shape):\n def area(self): return 2\ntry: Shape()\nexcept TypeError as error: e = str(error)",
        "C().area(), e, isinstance(C(), Shape)",
    ),
    "abstract inside": (
        "class A(abc.ABC):\n @abc.abstractmethod\n def f(self): ...\nclass C(A):\n def f(self): return 1\ntry: A()\nexcept TypeError as error: e = str(error)",
        "C().f(), e, A.__abstractmethods__",
    ),
    "abstract, registered": (
        "class A(abc.ABC): pass\nclass C: pass\nbefore = issubclass(C, A)\nA.register(C)",
        "before, issubclass(C, A), isinstance(C(), A)",
    ),
    "collections.abc": (
        "class C(collections.abc.Mapping):\n def __getitem__(self, k): return 1\n def __iter__(self): return iter('ab')\n def __len__(self): return 2\nc = C()",
        "dict(c), 'a' in c, c == {'a': 1, 'b': 1}",
    ),
    "structural": (
        "class C:\n def __len__(self): return 1\nclass D: pass",
        "isinstance(C(), collections.abc.Sized), isinstance(D(), collections.abc.Sized), issubclass(D, collections.abc.Hashable)",
    ),
    "decorated": ("@decorated\nclass C:\n a = 1", "C.extra, log"),
    "total_ordering": (
        "@functools.total_ordering\nclass C:\n def __init__(self, n): self.n = n\n def __eq__(self, o): return self.n == o.n\n def __lt__(self, o): return self.n < o.n",
        "C(1) <= C(2), C(1) > C(2)",
    ),
    "by type()": (
        "C = type('C', (Base,), {'a': 1, 'f': lambda self: self.a})",
        "C().f(), C.__name__, C.__module__, log",
    ),
    "by Meta()": ("C = Meta('C', (), {'label': 1})", "C.label, C().label"),
    "by types.new_class": (
        "C = types.new_class('C', (Base,), {'metaclass': Meta}, lambda ns: ns.update(label=3))",
        "C.label, C().label",
    ),
    "exception": (
        "class E(ValueError):\n def __init__(self, n):\n  self.n = n\n  super().__init__(n)\ntry: raise E(3)\nexcept E as error: e = error.n, error.args",
        "e",
    ),
    "list below": ("class C(list):\n def f(self): return len(self)\nc = C([1, 2])", "c.f(), c"),
    "int below": ("class C(int):\n def f(self): return self + 1\nc = C(4)", "c.f(), c"),
    "namedtuple below": (
        "class C(collections.namedtuple('P', 'x y')):\n def f(self): return self.x\nc = C(1, 2)",
        "c.f(), c",
    ),
    "local below local": (
        "class A:\n v = 1\nclass B(A):\n w = 2\nclass C(B, Base):\n pass",
        "C.v, C.w, [c.__name__ for c in C.__mro__], log",
    ),
    "finalizer": ("class C:\n def __del__(self): log.append('gone')\nc = C()\ndel c", "log"),
    "dunder in the body": (
        "class C:\n __module__ = 'elsewhere'\n __qualname__ = 'Q.C'\n __match_args__ = ('a',)",
        "C.__module__, C.__qualname__, C.__match_args__",
    ),
    "names of the metaclass": (
        "class C(metaclass=Meta):\n __name__ = property(lambda self: 'n')\n made = 3",
        "C.__name__, C().__name__, C.made",
    ),
    "mixed metaclasses": (
        "try:\n class M2(type): pass\n class A(metaclass=M2): pass\n class C(A, WithMeta if False else Meta('W', (), {})): pass\nexcept TypeError as error: e = str(error)",
        "e",
    ),
    "body raises": (
        "try:\n class C:\n  a = 1\n  raise KeyError('body')\nexcept KeyError as error: e = error.args",
        "e",
    ),
    "subclasses": ("class A: pass\nclass B(A): pass\nclass C(A): pass", "[c.__name__ for c in A.__subclasses__()]"),
    "loop of classes": (
        "made = []\nfor i in range(3):\n class C(metaclass=Meta):\n  label = i\n  def get(self, n=i): return n, __class__\n made.append(C)",
        "[(c().label, c().get()[0], c().get()[1] is c) for c in made]",
    ),
    "break in the body": (
        "class C(metaclass=Meta):\n label = 4\n BREAK()\n def f(self): return __class__",
        "C.label, C().label, C().f() is C",
    ),
    "break in set_name": (
        "class N:\n def __set_name__(self, owner, name):\n  BREAK()\n  self.n = name\nclass C:\n a = N()\n b = N()",
        "C.a.n, C.b.n",
    ),
    "break in init_subclass": (
        "class B:\n def __init_subclass__(cls):\n  BREAK()\n  cls.seen = 1\nclass C(B):\n x = 1",
        "C.seen, C.x",
    ),
}
ENDS = {"returned": "return x + 1, ({looked})", "over a break": "BREAK()\nreturn x + 1, ({looked})"}


def outcome(source, breaks, compiles):
    names = {"BREAK": breaks, "__name__": "classes"}
    exec(source, names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    seen = []
    for _ in range(2):
        names["log"].clear()
        try:
            seen.append(repr(function(ones(1))[1]))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return seen


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_class_is_the_one_that_python_creates(program):
    body, looked = PROGRAMS[program]
    for end in ENDS.values():
        lines = "\n".join("    " + line for line in (body + "\n" + end.format(looked=looked)).split("\n"))
        source = f"{PRELUDE}\ndef f(x):\n{lines}\n"
        wanted = outcome(source, lambda: None, False)
        assert outcome(source, minidynamo._dynamo.graph_break, True) == wanted, source
    minidynamo._dynamo.reset()
