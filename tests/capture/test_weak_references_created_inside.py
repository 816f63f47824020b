"""Weak references to objects that are created in the same function, and what the standard library stores under them."""

import pytest

import minidynamo
from minidynamo import ones

PRELUDE = """
import abc, array, collections, functools, gc, re, types, weakref

log = []
class Node:
    def __init__(self, n=0): self.n = n
    def method(self): return self.n
    def __repr__(self): return f"Node({self.n})"
@functools.singledispatch
def kind(value): return "any"
class Base:
    def __init_subclass__(cls): log.append(weakref.ref(cls))
class Abstract(abc.ABC): pass
class Holder:
    @functools.singledispatchmethod
    def of(self, value): return "any"
table = weakref.WeakKeyDictionary()
values = weakref.WeakValueDictionary()
members = weakref.WeakSet()
"""
REFERENTS = {
    "class": "type('Made', (), {})",
    "class statement": None,
    "instance": "Node(1)",
    "instance of a made class": "type('Made', (Node,), {})(2)",
    "function": "(lambda: 1)",
    "function with a closure": "(lambda: x)",
    "set": "{1, 2}",
    "frozenset": "frozenset((1, 2))",
    "deque": "collections.deque([1])",
    "partial": "functools.partial(len, [1])",
    "array": "array.array('i', [1])",
    "pattern": "re.compile('md_made_inside')",
    "alias": "list[int]",
    "generator": "(n for n in (1, 2))",
    "module": "types.ModuleType('made')",
    "bound method": "Node(3).method",
    "exception": "ValueError(1)",
    "list": "[1]",
    "tuple": "(1, 2)",
    "int": "5",
    "none": "None",
    "tensor": "x + 1",
    "an outer class": "Node",
    "a built-in class": "int",
    "a counter": "collections.Counter('aab')",
    "an ordered dict": "collections.OrderedDict(a=1)",
    "a default dict": "collections.defaultdict(list)",
    "a property": "property(len)",
    "an object of slots": "type('S', (), {'__slots__': ('__weakref__',)})()",
    "an object of slots without": "type('S', (), {'__slots__': ('a',)})()",
    "a weak reference": "weakref.ref(Node)",
}
USES = {
    "ref": (
        "r = weakref.ref(o)",
        "s = r() is o, r == weakref.ref(o), r is weakref.ref(o)",
    ),
    "a ref that dies": ("r = weakref.ref(o)", "del o", "gc.collect()", "s = r() is None"),
    "callback": (
        "r = weakref.ref(o, lambda ref: log.append('gone'))",
        "s = r() is o",
        "del o",
        "gc.collect()",
        "s = s, r() is None, list(log)",
    ),
    "proxy": ("r = weakref.proxy(o)", "s = type(r).__name__, r.__class__ is type(o)"),
    "finalize": (
        "r = weakref.finalize(o, log.append, 'done')",
        "s = r.alive",
        "del o",
        "gc.collect()",
        "s = s, r.alive, list(log)",
    ),
    "key": ("table[o] = 5", "s = table[o], o in table, len(table), [k is o for k in table]", "table.clear()"),
    "key that dies": ("table[o] = 5", "del o", "gc.collect()", "s = len(table)", "table.clear()"),
    "key of a new table": (
        "t = weakref.WeakKeyDictionary()",
        "t[o] = 5",
        "t.setdefault(o, 6)",
        "s = t[o], t.get(o), o in t, len(t)",
    ),
    "value": ("values['a'] = o", "s = values['a'] is o, len(values)", "del values['a']"),
    "member": ("members.add(o)", "s = o in members, len(members)", "members.discard(o)", "s = s, o in members"),
    "new members": ("m = weakref.WeakSet([o])", "s = o in m, len(m), [e is o for e in m]"),
    "dispatch": ("before = kind(o)", "s = before, kind(o), kind.dispatch(type(o)) is kind.dispatch(object)"),
    "dispatch on it": (
        "before = kind(o)",
        "kind.register(type(o) if not isinstance(o, type) else o, lambda v: 'made')",
        "s = before, kind(o), kind(5)",
    ),
    "plain key": ("d = {o: 1}", "s = d[o], o in d"),
    "ref in a container": ("held = [weakref.ref(o)]", "BREAK()", "s = held[0]() is o"),
    "returned": ("s = weakref.ref(o)() is o", "BREAK()", "s = s, weakref.ref(o)() is o"),
}
PROGRAMS = {
    "a subclass that a base refers to": ("class C(Base): pass", "s = log[0]() is C"),
    "a class that dies": ("class C: pass", "r = weakref.ref(C)", "del C", "gc.collect()", "s = r() is None"),
    "registered with abc": (
        "class C: pass",
        "before = isinstance(C(), Abstract)",
        "Abstract.register(C)",
        "s = before, isinstance(C(), Abstract)",
    ),
    "subclasses": ("class C(Node): pass", "s = [c is C for c in Node.__subclasses__() if c.__name__ == 'C']"),
    "singledispatch made inside": (
        "@functools.singledispatch",
        "def of(v): return 'any'",
        "class C: pass",
        "class D(C): pass",
        "of.register(C, lambda v: 'C')",
        "s = of(C()), of(D()), of(1), sorted(k.__name__ for k in of.registry)",
    ),
    "singledispatch by annotations": (
        "class C: pass",
        "@functools.singledispatch",
        "def of(v): return 'any'",
        "@of.register",
        "def _(v: C): return 'C'",
        "s = of(C()), of(1)",
    ),
    "singledispatchmethod": (
        "class C: pass",
        "Holder.of.register(C, lambda self, v: 'C')",
        "s = Holder().of(C()), Holder().of(1)",
    ),
    "weak method": (
        "n = Node(4)",
        "r = weakref.WeakMethod(n.method)",
        "s = r()(), r() == n.method",
        "del n",
        "s = s, r() is None",
    ),
    "a ref with a key": ("n = Node(4)", "r = weakref.KeyedRef(n, None, 'k')", "s = r.key, r() is n"),
    "refs as keys": ("class C: pass", "d = {weakref.ref(C): 1}", "s = d[weakref.ref(C)]"),
    "hash of a ref": ("class C: pass", "r = weakref.ref(C)", "s = hash(r) == hash(C)"),
    "a cycle": ("n = Node()", "n.me = weakref.ref(n)", "s = n.me() is n"),
    "atexit": ("n = Node()", "f = weakref.finalize(n, log.append, 1)", "f.detach()", "s = f.alive"),
    "cached by class": (
        "class C: pass",
        "@functools.lru_cache",
        "def of(c): return c.__name__",
        "s = of(C), of(C), of.cache_info()[:2]",
    ),
}


def outcome(lines, compiles):
    names = {"__name__": "weak", "BREAK": minidynamo._dynamo.graph_break if compiles else lambda: None}
    body = "\n".join("    " + line for line in lines)
    exec(f"{PRELUDE}\ndef f(x):\n    s = None\n{body}\n    return x + 1, s\n", names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    seen = []
    for _ in range(2):
        names["log"].clear()
        try:
            seen.append(repr(function(ones(1))[1]))
        except Exception as error:
            seen.append((type(error).__name__, str(error).split(" at 0x")[0]))
    return seen


@pytest.mark.parametrize("use", USES)
def test_references_to_objects_created_inside(use):
    for name, referent in REFERENTS.items():
        made = ["class o: pass"] if referent is None else [f"o = {referent}"]
        lines = [*made, *USES[use]]
        if name == "frozenset" and "del o" in lines:
            continue  # a tuple of constants is a constant of the region, which keeps it alive
        wanted = outcome(lines, False)
        assert outcome(lines, True) == wanted, (name, lines)
    minidynamo._dynamo.reset()


@pytest.mark.parametrize("program", PROGRAMS)
def test_tables_of_the_standard_library(program):
    wanted = outcome(PROGRAMS[program], False)
    assert outcome(PROGRAMS[program], True) == wanted
    minidynamo._dynamo.reset()
