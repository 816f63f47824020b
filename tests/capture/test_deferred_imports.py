"""Modules that are imported when a compiled function first needs them, by the means that libraries use to defer
imports."""

import sys

import pytest

import minidynamo
from minidynamo import ones

FILES = {
    "lazily/__init__.py": """
import importlib
log = []
_names = {"first": ".parts.one", "second": ".parts.two"}
def __getattr__(name):
    if name in _names:
        log.append(name)
        value = getattr(importlib.import_module(_names[name], __name__), name)
        globals()[name] = value
        return value
    if name == "parts":
        return importlib.import_module(".parts", __name__)
    raise AttributeError(f"no {name} here")
def __dir__():
    return [*globals(), *_names]
""",
    "lazily/parts/__init__.py": "from . import one\n",
    "lazily/parts/one.py": """
class Meta(type):
    @property
    def label(cls): return "class"
class Thing(metaclass=Meta):
    @property
    def label(self): return "object"
def first(): return Thing().label, Thing.label
""",
    "lazily/parts/two.py": "from .one import Thing\nfrom .. import log\ndef second(): return Thing.__name__, list(log)\n",
    "circular/__init__.py": "from circular import a\nfrom circular.b import late\nvalue = a.value\n",
    "circular/a.py": "import circular\nfrom circular import b\nvalue = b.value + 1\n",
    "circular/b.py": "import circular\nvalue = 1\ndef late():\n    from circular import value\n    return value\n",
    "proxied.py": """
import sys, types
class Proxy(types.ModuleType):
    def __getattr__(self, name):
        if name[:2] == "__": raise AttributeError(name)
        return "proxied " + name
made = Proxy(__name__)
made.own = 1
sys.modules[__name__] = made
""",
    "failing.py": "value = 1\nraise ImportError('half-way')\n",
    "failing_name.py": "value = 1\nfrom failing import value\n",
    "classed.py": """
import sys, types
class Own(types.ModuleType):
    @property
    def computed(self): return 5
sys.modules[__name__].__class__ = Own
plain = 1
""",
    "registering.py": """
import abc, collections, dataclasses, enum, functools, typing
class Kind(enum.Enum):
    A = 1
    def show(self): return f"{self.name}={self.value}"
class Flag(enum.IntFlag):
    X = enum.auto()
    Y = enum.auto()
@dataclasses.dataclass(frozen=True, order=True)
class Record:
    a: int
    b: list = dataclasses.field(default_factory=list, compare=False)
class Shape(abc.ABC):
    registry = {}
    def __init_subclass__(cls, **keywords):
        super().__init_subclass__()
        Shape.registry[cls.__name__] = keywords
    @abc.abstractmethod
    def area(self): ...
class Square(Shape, side=2):
    def area(self): return 4
class Named:
    def __set_name__(self, owner, name): self.name = (owner.__name__, name)
class Holder:
    held = Named()
    __slots__ = ("x",)
class Point(typing.NamedTuple):
    x: int
    y: int = 2
@functools.singledispatch
def area(shape): return None
@area.register
def _(shape: Shape): return shape.area()
class Table(collections.UserDict, metaclass=abc.ABCMeta): pass
def all_of():
    return Kind.A.show(), repr(Flag.X | Flag.Y), Record(1) < Record(2), Shape.registry, area(Square()), Holder.held.name, Point(1), Table(a=1)
""",
}
PROGRAMS = {
    "a module's __getattr__": ("import lazily", "r = lazily.first(), lazily.second(), lazily.log[:2]"),
    "a name by a module's __getattr__": ("from lazily import first, second", "r = first(), second()"),
    "a name that is not there": ("import lazily", "try: lazily.third\nexcept AttributeError as e: r = str(e)"),
    "a name that cannot be imported": ("try: from lazily import third\nexcept ImportError as e: r = e.name",),
    "a submodule by from": ("from lazily import parts", "r = parts.one.first()"),
    "a submodule": ("import lazily.parts.one as one", "r = one.first(), one is lazily_parts()"),
    "the package of a submodule": ("import lazily.parts.two", "r = lazily.parts.two.second()[0]"),
    "hasattr": ("import lazily", "r = hasattr(lazily, 'first'), hasattr(lazily, 'third')"),
    "dir": ("import lazily", "r = 'second' in dir(lazily)"),
    "circular": ("import circular", "r = circular.value, circular.late()"),
    "circular, from": ("from circular.a import value", "from circular.b import late", "r = value, late()"),
    "a proxy": ("import proxied", "r = proxied.own, proxied.zzz, type(proxied).__name__"),
    "a name of a proxy": ("from proxied import zzz, own", "r = zzz, own"),
    "a class of its own": ("import classed", "r = classed.computed, classed.plain"),
    "failing": ("try: import failing\nexcept ImportError as e: r = str(e), 'failing' in sys.modules",),
    "failing twice": ("for _ in range(2):\n try: import failing_name\n except ImportError as e: r = str(e)",),
    "absent": ("try: import nowhere_to_be_found\nexcept ModuleNotFoundError as e: r = e.name",),
    "absent, then found": (
        "try:\n import nowhere_to_be_found as m\nexcept ImportError:\n import lazily as m",
        "r = m.__name__",
    ),
    "classes of all kinds": ("import registering", "r = registering.all_of()"),
    "put off": ("m = lazily_loaded('registering')", "r = m.all_of(), type(m).__name__"),
    "import_module": ("import importlib", "m = importlib.import_module('lazily.parts.one')", "r = m.first()"),
    "reload": (
        "import importlib, lazily.parts.one as m",
        "old = m.Thing",
        "m = importlib.reload(m)",
        "r = m.Thing is old, m.first()",
    ),
    "in a loop": (
        "r = []",
        "for name in ('one', 'two'): r.append(__import__('lazily.parts.' + name).parts.one.first())",
    ),
    "under a lock of its own": ("with lock:\n import registering as m", "r = m.Point(3)"),
    "cached": (
        "r = cached_import('registering').Point(1), cached_import('registering') is cached_import('registering')",
    ),
}
PRELUDE = """
import functools, importlib.util, sys, threading
lock = threading.Lock()
def lazily_parts(): return sys.modules["lazily.parts.one"]
def lazily_loaded(name):
    spec = importlib.util.find_spec(name)
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module
@functools.cache
def cached_import(name): return importlib.import_module(name)
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    forget()
    minidynamo._dynamo.reset()


def forget():
    roots = {name.split("/")[0].removesuffix(".py") for name in FILES}
    for name in [name for name in sys.modules if name.split(".")[0] in roots]:
        del sys.modules[name]


def outcome(program, compiles):
    forget()
    body = "\n".join(" " + line for part in PROGRAMS[program] for line in part.split("\n"))
    names = {"__name__": "importing"}
    exec(f"{PRELUDE}\ndef f(x):\n y, r = x + 1, None\n{body}\n return y * 2, r\n", names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    seen = []
    for forgets in (False, False, True):
        if forgets:
            forget()
        result = function(ones(1))
        seen.append((result[0].tolist(), repr(result[1])))
    return seen


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_import_at_the_first_call(program, packages):
    assert outcome(program, True) == outcome(program, False)
