"""A table of changes between two calls that change the value of an expression: special methods, bases, registries, modules, names,
cells.

A row has a set-up, an expression, and changes. Each change is made before the next two calls, in separate worlds for eager Python
and for the compiled function; the results of both are compared, exceptions included.
"""

import contextlib
import os
import re
import sys

import pytest

import minidynamo

pytestmark = pytest.mark.counts_regions

PRELUDE = """
import abc, array, builtins, codecs, collections, collections.abc, contextlib, copy, copyreg, dataclasses, enum, functools, inspect, io
import contextvars, decimal, fractions, gc, itertools, logging, math, numbers, operator, os, re, string, sys, threading, types, typing, weakref
import minidynamo
class A: pass
class B: pass
class C(A): pass
class D(C): pass
class E(Exception): pass
class F(Exception): pass
class G(E): pass
class L(list): pass
class Meta(type): pass
class M(metaclass=Meta): pass
a, b, c, d, o = A(), B(), C(), D(), A()
x0 = minidynamo.ones(1)
def raised(error): raise error
def caught(make, *classes):
    try:
        raise make("text")
    except classes:
        return "caught"
    except Exception as error:
        return "other"
def handled(make, cls):
    try:
        try:
            raise make("text")
        except cls:
            return "inner"
    except Exception:
        return "outer"
def grouped(make, cls):
    found = []
    try:
        raise ExceptionGroup("g", [make("a"), ValueError("b")])
    except* cls as group:
        found.append(len(group.exceptions))
    except* Exception:
        found.append("others")
    return found
def match_sequence(o):
    match o:
        case [*_]: return "sequence"
        case {}: return "mapping"
    return "neither"
def match_class(o, cls):
    match o:
        case cls(): return "is one"
    return "is none"
def used(o):
    with o as value: return value
"""

# A special method (or none), the expressions that call it, two ways to define it.
METHODS = {
    "__len__": (["len(o)", "bool(o)", "1 if o else 2", "not o"], "lambda self: 3", "lambda self: 0"),
    "__bool__": (
        ["bool(o)", "1 if o else 2", "not o", "o and 1", "any([o])", "all([o])", "list(filter(None, [o])) == [o]"],
        "lambda self: False",
        "lambda self: True",
    ),
    "__getitem__": (
        ["o[0]", "list(itertools.islice(iter(o), 2))", "1 in o", "operator.getitem(o, 0)"],
        "lambda self, at: 1 if at < 3 else raised(IndexError(at))",
        "lambda self, at: [7, 1][at]",
    ),
    "__iter__": (
        [
            "list(o)",
            "[v for v in o]",
            "sum(o)",
            "1 in o",
            "tuple(o)",
            "max(o)",
            "[*o]",
            "isinstance(o, collections.abc.Iterable)",
        ],
        "lambda self: iter([1, 2])",
        "lambda self: iter([3])",
    ),
    "__contains__": (
        ["1 in o", "1 not in o", "operator.contains(o, 1)"],
        "lambda self, item: True",
        "lambda self, item: False",
    ),
    "__reversed__": (["list(reversed(o))"], "lambda self: iter([2])", "lambda self: iter([3])"),
    "__next__": (["next(o)", "next(o, 4)"], "lambda self: 1", "lambda self: 2"),
    "__call__": (
        [
            "callable(o)",
            "o()",
            "list(map(o, []))",
            "functools.partial(o) is None",
            "iter(o, 1) is None",
            "isinstance(o, collections.abc.Callable)",
            "collections.defaultdict(o) == {}",
        ],
        "lambda self: 1",
        "lambda self: 2",
    ),
    "__eq__": (
        ["o == 1", "o != 1", "o in [1]", "[o] == [1]", "o == b", "[1].count(o)"],
        "lambda self, other: True",
        "lambda self, other: 'other'",
    ),
    "__ne__": (["o != 1", "o == 1"], "lambda self, other: 'other'", "lambda self, other: False"),
    "__lt__": (
        ["o < 1", "1 > o", "sorted([o, o]) == [o, o]", "o < b"],
        "lambda self, other: True",
        "lambda self, other: 'other'",
    ),
    "__le__": (["o <= 1", "1 >= o"], "lambda self, other: True", "lambda self, other: 'other'"),
    "__gt__": (["o > 1", "1 < o", "b < o"], "lambda self, other: True", "lambda self, other: 'other'"),
    "__ge__": (["o >= 1", "1 <= o"], "lambda self, other: True", "lambda self, other: 'other'"),
    "__hash__": (["hash(o) == 5", "{o: 1}[o]", "len({o, o})"], "lambda self: 5", "None"),
    "__add__": (["o + 1", "o + b", "sum([o], o)"], "lambda self, other: 1", "lambda self, other: NotImplemented"),
    "__radd__": (["1 + o", "b + o", "sum([o])"], "lambda self, other: 1", "lambda self, other: NotImplemented"),
    "__iadd__": (["operator.iadd(o, 1)"], "lambda self, other: 1", "lambda self, other: NotImplemented"),
    "__sub__": (["o - 1"], "lambda self, other: 1", "lambda self, other: 2"),
    "__rsub__": (["1 - o"], "lambda self, other: 1", "lambda self, other: 2"),
    "__mul__": (["o * 2", "x * o if False else o * 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__rmul__": (["2 * o", "[1] * o"], "lambda self, other: 1", "lambda self, other: 2"),
    "__truediv__": (["o / 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__floordiv__": (["o // 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__mod__": (["o % 2", "'%s' % o == 'text'"], "lambda self, other: 1", "lambda self, other: 2"),
    "__rmod__": (["2 % o", "'text' % o"], "lambda self, other: 1", "lambda self, other: 2"),
    "__divmod__": (["divmod(o, 2)"], "lambda self, other: 1", "lambda self, other: 2"),
    "__pow__": (["o ** 2", "pow(o, 2)"], "lambda self, other: 1", "lambda self, other: 2"),
    "__rpow__": (["2 ** o"], "lambda self, other: 1", "lambda self, other: 2"),
    "__matmul__": (["o @ 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__and__": (["o & 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__or__": (["o | 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__ror__": (["2 | o", "{} | o"], "lambda self, other: 1", "lambda self, other: 2"),
    "__xor__": (["o ^ 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__lshift__": (["o << 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__rshift__": (["o >> 2"], "lambda self, other: 1", "lambda self, other: 2"),
    "__neg__": (["-o"], "lambda self: 1", "lambda self: 2"),
    "__pos__": (["+o"], "lambda self: 1", "lambda self: 2"),
    "__invert__": (["~o"], "lambda self: 1", "lambda self: 2"),
    "__abs__": (["abs(o)"], "lambda self: 1", "lambda self: 2"),
    "__round__": (["round(o)", "round(o, 1)"], "lambda self, n=None: 1", "lambda self, n=None: 2"),
    "__floor__": (["math.floor(o)"], "lambda self: 1", "lambda self: 2"),
    "__ceil__": (["math.ceil(o)"], "lambda self: 1", "lambda self: 2"),
    "__trunc__": (["math.trunc(o)"], "lambda self: 1", "lambda self: 2"),
    "__int__": (["int(o)", "'%d' % o"], "lambda self: 1", "lambda self: 2"),
    "__index__": (
        [
            "int(o)",
            "[1, 2, 3][o]",
            "range(o)",
            "hex(o)",
            "operator.index(o)",
            "[0] * o",
            "x.expand(3)[o].item()",
            "minidynamo.zeros(o).tolist()",
            "x.expand(2, 3).sum(o).tolist()",
            "(x + o).tolist()",
            "x.reshape(o, -1).shape == (1, 1)",
            "'abc'[o:]",
            "[1, 2, 3][:o]",
            "minidynamo.full((2,), o).tolist()",
            "minidynamo.tensor(o).tolist()",
            "minidynamo.tensor([o, 2]).tolist()",
            "minidynamo.arange(o).tolist()",
            "x.expand(3)[o:].tolist()",
            "float(o)",
            "complex(o)",
            "x.expand(2, 3).select(1, o).tolist()",
            "minidynamo.as_tensor([o]).tolist()",
            "x.new_tensor([o]).tolist()",
            "x.new_full((2,), o).tolist()",
            "x.repeat(o).tolist()",
            "x.clamp(o).tolist()",
        ],
        "lambda self: 1",
        "lambda self: 0",
    ),
    "__float__": (
        [
            "float(o)",
            "(x + o).tolist()",
            "(x * o).tolist()",
            "minidynamo.full((2,), o).tolist()",
            "math.sqrt(o)",
            "'%f' % o",
            "minidynamo.tensor(o).tolist()",
            "minidynamo.tensor([o, 2.0]).tolist()",
            "x.clamp(min=o).tolist()",
            "minidynamo.arange(0, o).tolist()",
            "x.add(x, alpha=o).tolist()",
            "complex(o)",
            "(o + x).tolist()",
            "(x - o).tolist()",
            "(x > o).tolist()",
            "minidynamo.where(x > 0, x, o).tolist()",
            "x.fill_(o).tolist()",
            "x.masked_fill(x > 0, o).tolist()",
        ],
        "lambda self: 1.5",
        "lambda self: 2.5",
    ),
    "__complex__": (["complex(o)"], "lambda self: 1j", "lambda self: 2j"),
    "__bytes__": (["bytes(o)"], "lambda self: b'1'", "lambda self: b'2'"),
    "__str__": (
        ["str(o) == '1'", "f'{o}' == '1'", "'%s' % o == '1'", "format(o) == '1'", "'{}'.format(o) == '1'"],
        "lambda self: '1'",
        "lambda self: '2'",
    ),
    "__repr__": (
        [
            "repr(o) == '1'",
            "f'{o!r}' == '1'",
            "str(o) == '1'",
            "str([o]) == '[1]'",
            "'%r' % o == '1'",
            "ascii(o) == '1'",
        ],
        "lambda self: '1'",
        "lambda self: '2'",
    ),
    "__format__": (
        ["format(o, '') == '1'", "f'{o}' == '1'", "f'{o:>3}'", "'{:>3}'.format(o)"],
        "lambda self, spec: '1'",
        "lambda self, spec: '2'",
    ),
    "__enter__": (["used(o)"], "lambda self: 1", "lambda self: 2"),
    "__exit__": (["used(o)"], "lambda self, *error: None", "lambda self, *error: True"),
    "__getattr__": (
        ["getattr(o, 'attr', 3)", "hasattr(o, 'attr')", "o.attr"],
        "lambda self, name: 1",
        "lambda self, name: raised(AttributeError(name))",
    ),
    "__getattribute__": (
        ["getattr(o, 'attr', 3)", "isinstance(o, A)", "o.attr", "isinstance(o, B)"],
        "lambda self, name: 1 if name == 'attr' else object.__getattribute__(self, name)",
        "lambda self, name: B if name == '__class__' else object.__getattribute__(self, name)",
    ),
    "__get__": (
        ["Holder.o is o", "Holder().o is o"],
        "lambda self, instance, owner: 1",
        "lambda self, instance, owner: 2",
    ),
    "__set__": (
        ["assigned()"],
        "lambda self, instance, value: None",
        "lambda self, instance, value: vars(instance).update(o=9)",
    ),
    "__match_args__": (["matched(o)"], "('attr',)", "('other',)"),
    "__setattr__": (
        ["stored(o)"],
        "lambda self, name, value: None",
        "lambda self, name, value: object.__setattr__(self, name, 9)",
    ),
    "__delattr__": (["deleted(o)"], "lambda self, name: None", "lambda self, name: object.__delattr__(self, name)"),
    "__dir__": (["len(dir(o))"], "lambda self: ['a']", "lambda self: []"),
    "__sizeof__": (["o.__sizeof__()"], "lambda self: 1", "lambda self: 2"),
    "__reduce__": (["copy.copy(o) == 'text'"], "lambda self: 'text'", "lambda self: (str, ('text',))"),
    "__copy__": (["copy.copy(o) == 1"], "lambda self: 1", "lambda self: 2"),
    "__deepcopy__": (["copy.deepcopy(o) == 1"], "lambda self, memo: 1", "lambda self, memo: 2"),
    "__length_hint__": (["operator.length_hint(o, 3)"], "lambda self: 1", "lambda self: 2"),
    "__missing__": (["OfDict()['a']"], None, None),
    "__instancecheck__": (["isinstance(1, m)", "match_class(1, m)", "isinstance(m(), m)"], None, None),
    "__subclasscheck__": (["issubclass(int, m)", "issubclass(m, m)"], None, None),
    "__init__": (["A().__dict__"], "lambda self: setattr(self, 'attr', 1)", "lambda self: setattr(self, 'attr', 2)"),
    "__new__": (["type(A()) is A"], "staticmethod(lambda cls: 1)", "staticmethod(lambda cls: 2)"),
    "__init_subclass__": (
        ["type('N', (A,), {}).__name__"],
        "classmethod(lambda cls: setattr(cls, '__name__', 'M'))",
        "classmethod(lambda cls: None)",
    ),
    "__class_getitem__": (["A[0]"], "classmethod(lambda cls, item: 1)", "classmethod(lambda cls, item: 2)"),
    "__fspath__": (["os.fspath(o)"], "lambda self: '1'", "lambda self: '2'"),
    "__iter__ and __next__": (["list(itertools.islice(o, 1))"], None, None),
}
METHOD_PRELUDE = """
class Holder:
    pass
Holder.o = o
o.__dict__.update(other=1)
def matched(o):
    match o:
        case A(value): return value
    return "unmatched"
def assigned():
    made = Holder()
    made.o = 1
    return vars(made).get("o")
def stored(o):
    o.kept = 1
    return vars(o).pop("kept", None)
def deleted(o):
    o.gone = 1
    del o.gone
    return vars(o).pop("gone", None)
"""

# (name, set-up, expression, changes)
ROWS = [
    # Bases.
    (
        "isinstance, other bases",
        "",
        "isinstance(c, A)",
        "C.__bases__ = (B,)",
        "C.__bases__ = (A,)",
        "C.__bases__ = (A, B)",
    ),
    (
        "isinstance, bases of a base",
        "",
        "isinstance(d, A), isinstance(d, B)",
        "C.__bases__ = (B,)",
        "C.__bases__ = (A,)",
    ),
    (
        "isinstance of a tuple",
        "",
        "isinstance(c, (int, A)), isinstance(c, (int, B))",
        "C.__bases__ = (B,)",
        "C.__bases__ = (A, B)",
    ),
    ("isinstance of a union", "", "isinstance(c, int | A), isinstance(c, int | B)", "C.__bases__ = (B,)"),
    ("isinstance of an object made there", "", "isinstance(C(), A), isinstance(C(), B)", "C.__bases__ = (B,)"),
    ("isinstance of a class made there", "", "isinstance(type('N', (C,), {})(), A)", "C.__bases__ = (B,)"),
    (
        "isinstance, another __class__",
        "",
        "isinstance(a, A), type(a) is A, a.__class__ is A",
        "a.__class__ = B",
        "a.__class__ = A",
    ),
    ("identity, then another __class__", "", "(a is o, isinstance(a, B))", "a.__class__ = B", "o = a"),
    ("key, then another __class__", "table = {a: 1}", "(table[a], isinstance(a, B))", "a.__class__ = B"),
    ("issubclass, other bases", "", "issubclass(C, A), issubclass(C, B)", "C.__bases__ = (B,)", "C.__bases__ = (A,)"),
    ("issubclass of a derived class", "", "issubclass(D, A), issubclass(D, (B, int))", "C.__bases__ = (B,)"),
    ("issubclass of a type", "", "issubclass(type(d), B)", "C.__bases__ = (B,)"),
    ("MRO", "", "[k.__name__ for k in D.__mro__]", "C.__bases__ = (B,)"),
    ("MRO of a type", "", "[k.__name__ for k in type(d).__mro__], type(d).mro() == D.mro()", "C.__bases__ = (B,)"),
    ("base", "", "C.__base__.__name__, C.__bases__[0].__name__", "C.__bases__ = (B,)"),
    ("subclasses", "", "[k.__name__ for k in A.__subclasses__()]", "C.__bases__ = (B,)", "class N(A): pass"),
    (
        "attribute of a base",
        "A.attr = 1\nB.attr = 2",
        "d.attr, D.attr",
        "C.__bases__ = (B,)",
        "B.attr = 3",
        "C.attr = 4",
    ),
    (
        "super",
        "A.f = lambda self: 1\nB.f = lambda self: 2\nC.f = lambda self: super(C, self).f()",
        "c.f(), d.f()",
        "C.__bases__ = (B,)",
    ),
    ("class pattern", "", "match_class(c, A), match_class(c, B)", "C.__bases__ = (B,)"),
    ("except, other bases", "", "caught(G, E), caught(G, F)", "G.__bases__ = (F,)", "G.__bases__ = (E,)"),
    ("except of a tuple", "", "caught(G, ValueError, E), caught(G, KeyError, F)", "G.__bases__ = (F,)"),
    ("except inside", "", "handled(G, E), handled(G, F)", "G.__bases__ = (F,)"),
    ("except of a pre-existing exception", "g = G()", "caught(lambda text: g, E)", "G.__bases__ = (F,)"),
    ("except*", "", "grouped(G, E), grouped(G, F)", "G.__bases__ = (F,)"),
    (
        "except of IndexError ends iteration",
        "class Odd(Exception): pass\nclass S:\n    def __getitem__(self, at):\n        if at: raise Odd\n        return 1\nOdd.__bases__ = (IndexError,)",
        "list(S())",
        "Odd.__bases__ = (KeyError,)",
        "Odd.__bases__ = (IndexError,)",
    ),
    (
        "suppress",
        "def f():\n    with contextlib.suppress(E):\n        raise G\n    return 1",
        "f()",
        "G.__bases__ = (F,)",
    ),
    (
        "reflected method of a subclass",
        "class P: pass\nclass Q: pass\nclass R(P): pass\nclass Empty: pass\nP.__add__ = lambda s, o: 'left'\nR.__radd__ = lambda s, o: 'right'",
        "P() + R()",
        "R.__bases__ = (Q,)",
        "R.__bases__ = (P,)",
    ),
    (
        "comparison with a subclass",
        "class P: pass\nclass Q: pass\nclass R(Q): pass\nP.__lt__ = lambda s, o: 'left'\nR.__gt__ = lambda s, o: 'right'",
        "P() < R()",
        "R.__bases__ = (P,)",
        "R.__bases__ = (Q,)",
    ),
    (
        "__init__ after __new__",
        "class P: pass\nclass Q: pass\nclass R(P): pass\nP.__new__ = staticmethod(lambda cls: object.__new__(R))\nR.__init__ = lambda self: setattr(self, 'n', 1)",
        "hasattr(P(), 'n')",
        "R.__bases__ = (Q,)",
    ),
    ("metaclass of a class", "", "isinstance(M, Meta), type(M) is Meta", "M.__class__ = type('Other', (type,), {})"),
    ("method of a metaclass", "", "hasattr(M, 'm'), getattr(M, 'm', 2)", "Meta.m = 1", "del Meta.m"),
    ("metaclass of a class changes", "class Meta2(type): m = 5\nMeta.m = 4", "M.m", "M.__class__ = Meta2"),
    (
        "isinstance, a base that shows another class",
        "class W: __class__ = property(lambda self: B)",
        "isinstance(c, B), isinstance(c, A), match_class(c, B)",
        "C.__bases__ = (W,)",
        "C.__bases__ = (A,)",
    ),
    (
        "what super finds becomes a descriptor",
        "A.n = b\nC.n = property(lambda self: super(C, self).n is b)",
        "c.n, d.n",
        "B.__get__ = lambda self, instance, owner: 1",
        "del B.__get__",
    ),
    (
        "what a metaclass has becomes a descriptor",
        "Meta.n = b\nM.n = 3",
        "M.n",
        "B.__get__ = lambda self, instance, owner: 1; B.__set__ = lambda self, instance, value: None",
        "del B.__set__",
    ),
    # Callables.
    (
        "callable",
        "",
        "callable(a), callable(A), callable(len), callable(1)",
        "A.__call__ = lambda self: 1",
        "del A.__call__",
        "A.__call__ = None",
    ),
    (
        "callable of a derived class",
        "",
        "callable(d)",
        "A.__call__ = lambda self: 1",
        "C.__bases__ = (B,)",
        "B.__call__ = 1",
    ),
    (
        "callable of an object made there",
        "",
        "callable(A()), callable(type('N', (A,), {})())",
        "A.__call__ = lambda self: 1",
        "del A.__call__",
    ),
    ("callable of an instance's own", "", "callable(a)", "a.__call__ = lambda: 1"),
    ("factory of a default dict", "A.__call__ = lambda self: 1", "collections.defaultdict(a)['k']", "del A.__call__"),
    (
        "partial",
        "A.__call__ = lambda self: 1",
        "functools.partial(a)()",
        "A.__call__ = lambda self: 2",
        "del A.__call__",
    ),
    (
        "key of sorted",
        "A.__call__ = lambda self, v: v",
        "sorted([2, 1], key=a)",
        "A.__call__ = lambda self, v: -v",
        "del A.__call__",
    ),
    # Registries.
    ("register", "class K(abc.ABC): pass", "isinstance(a, K), issubclass(A, K)", "K.register(A)"),
    ("register a base", "class K(abc.ABC): pass", "isinstance(d, K), issubclass(D, K)", "K.register(A)"),
    (
        "register as a sequence",
        "",
        "isinstance(a, collections.abc.Sequence), match_sequence(a)",
        "collections.abc.Sequence.register(A)",
    ),
    ("register as a mapping", "", "match_sequence(a)", "collections.abc.Mapping.register(A)"),
    ("register a base as a sequence", "", "match_sequence(d)", "collections.abc.Sequence.register(C)"),
    ("register as a number", "", "isinstance(a, numbers.Number)", "numbers.Number.register(A)"),
    (
        "subclass hook",
        "class K(abc.ABC): pass",
        "isinstance(a, K)",
        "K.__subclasshook__ = classmethod(lambda cls, other: True)\nK.register(int)",
    ),
    (
        "single dispatch",
        "@functools.singledispatch\ndef f(v): return 1",
        "f(a), f(d)",
        "f.register(A, lambda v: 2)",
        "f.register(C, lambda v: 3)",
    ),
    (
        "single dispatch and bases",
        "@functools.singledispatch\ndef f(v): return 1\nf.register(B, lambda v: 2)",
        "f(c)",
        "C.__bases__ = (B,)\nf._clear_cache()",
    ),
    ("copyreg", "", "copy.copy(a) == 1", "copyreg.pickle(A, lambda o: (int, (1,)))"),
    (
        "protocol",
        "@typing.runtime_checkable\nclass K(typing.Protocol):\n    def f(self): ...",
        "isinstance(a, K)",
        "A.f = lambda self: 1",
        "del A.f",
    ),
    ("type hints", "def f(v: int): pass", "typing.get_type_hints(f)['v'] is int", "f.__annotations__['v'] = str"),
    # Metaclass checks.
    (
        "instance check",
        "",
        "isinstance(1, M), isinstance(M(), M)",
        "Meta.__instancecheck__ = lambda cls, o: True",
        "Meta.__instancecheck__ = lambda cls, o: False",
        "del Meta.__instancecheck__",
    ),
    (
        "subclass check",
        "",
        "issubclass(int, M)",
        "Meta.__subclasscheck__ = lambda cls, o: True",
        "del Meta.__subclasscheck__",
    ),
    ("length of a class", "", "bool(M)", "Meta.__len__ = lambda cls: 0", "del Meta.__len__"),
    (
        "iteration of a class",
        "Meta.__iter__ = lambda cls: iter([1])",
        "list(M)",
        "Meta.__iter__ = lambda cls: iter([2])",
    ),
    ("subscript of a class", "Meta.__getitem__ = lambda cls, at: 1", "M[0]", "Meta.__getitem__ = lambda cls, at: 2"),
    (
        "membership of a class",
        "Meta.__contains__ = lambda cls, at: True",
        "1 in M",
        "Meta.__contains__ = lambda cls, at: False",
    ),
    ("text of a class", "", "repr(M) == 'm'", "Meta.__repr__ = lambda cls: 'm'"),
    ("call of a class", "", "type(M()) is M", "Meta.__call__ = lambda cls: 1", "del Meta.__call__"),
    # Functions.
    ("code", "def f(): return 1\ndef g(): return 2", "f()", "f.__code__ = g.__code__"),
    ("defaults", "def f(v=1): return v", "f()", "f.__defaults__ = (2,)", "f.__defaults__ = None"),
    (
        "keyword defaults",
        "def f(*, v=1): return v",
        "f()",
        "f.__kwdefaults__ = {'v': 2}",
        "f.__kwdefaults__['v'] = 3",
        "f.__kwdefaults__ = None",
    ),
    (
        "closure cell",
        "def make():\n    n = 1\n    def f(): return n\n    return f\nf = make()",
        "f()",
        "f.__closure__[0].cell_contents = 2",
        "del f.__closure__[0].cell_contents",
    ),
    (
        "attribute of a function",
        "def f(): return getattr(f, 'n', 0)",
        "f(), vars(f).get('n')",
        "f.n = 1",
        "f.n = 2",
        "del f.n",
    ),
    (
        "name of a function",
        "def f(): pass",
        "f.__name__, f.__qualname__, f.__doc__, f.__module__ == 'm'",
        "f.__name__ = 'g'",
        "f.__doc__ = 'd'",
        "f.__qualname__ = 'q'",
        "f.__module__ = 'm'",
    ),
    ("globals of a function", "n = 1\ndef f(): return n", "f()", "n = 2", "f.__globals__['n'] = 3", "del n"),
    ("signature", "def f(a): pass", "str(inspect.signature(f))", "f.__signature__ = inspect.signature(lambda b: 1)"),
    ("wrapped", "def f(a): pass\ndef g(b): pass", "str(inspect.signature(f))", "f.__wrapped__ = g"),
    (
        "function of a bound method",
        "A.f = lambda self: 1\nm = a.f",
        "m()",
        "m.__func__.__code__ = (lambda self: 2).__code__",
    ),
    ("self of a bound method", "A.f = lambda self: self.n\na.n = 1\nm = a.f", "m()", "a.n = 2", "A.f = 3"),
    (
        "static method",
        "A.f = staticmethod(lambda: 1)",
        "a.f(), A.f()",
        "A.f = staticmethod(lambda: 2)",
        "A.f = lambda *v: 3",
        "A.f = classmethod(lambda c: 4)",
    ),
    (
        "property",
        "A.f = property(lambda self: 1)",
        "a.f",
        "A.f = property(lambda self: 2)",
        "A.f = 3",
        "a.f = 4",
        "A.f = property(lambda self: 5)",
    ),
    (
        "cached property",
        "A.f = functools.cached_property(lambda self: 1)\nA.f.__set_name__(A, 'f')",
        "a.f",
        "a.f = 2",
        "del a.f",
        "vars(a)['f'] = 3",
    ),
    ("cache", "n = [1]\n@functools.lru_cache\ndef f(): return n[0]", "f()", "n[0] = 2", "f.cache_clear()"),
    (
        "decorated",
        "def f(): return 1\n@functools.wraps(f)\ndef g(): return f()",
        "g()",
        "f = lambda: 2",
        "g.__wrapped__ = None",
    ),
    ("generator function", "def f(): yield 1", "list(f())", "f.__code__ = (lambda: (yield 2)).__code__"),
    (
        "method of an instance",
        "A.f = lambda self: 1",
        "a.f()",
        "a.f = lambda: 2",
        "del a.f",
        "A.f = lambda self: 3",
        "del A.f",
    ),
    (
        "slot",
        "class S: __slots__ = ('n',)\ns = S()",
        "getattr(s, 'n', 0), hasattr(s, 'n')",
        "s.n = 1",
        "del s.n",
        "S.n = 5",
    ),
    # Names.
    ("global", "n = 1", "n", "n = 2", "del n"),
    ("builtin", "", "len([1])", "len = lambda v: 5", "del len"),
    ("shadowed by a global", "", "abs(-1)", "globals()['abs'] = lambda v: 7", "del abs"),
    (
        "attribute of a module",
        "m = types.ModuleType('m')\nm.n = 1",
        "m.n, hasattr(m, 'k'), vars(m)['n']",
        "m.n = 2",
        "m.k = 1",
        "del m.n",
    ),
    ("function of a module", "m = types.ModuleType('m')\nm.f = lambda: 1", "m.f()", "m.f = lambda: 2"),
    (
        "__getattr__ of a module",
        "m = types.ModuleType('m')",
        "getattr(m, 'k', 0), hasattr(m, 'k')",
        "m.__getattr__ = lambda name: 1",
        "del m.__getattr__",
    ),
    (
        "class of a module",
        "m = types.ModuleType('m')\nclass K(types.ModuleType): k = property(lambda self: 1)",
        "getattr(m, 'k', 0)",
        "m.__class__ = K",
    ),
    (
        "loaded module",
        "sys.modules['made_for_a_test'] = types.SimpleNamespace(n=1)\ndef f():\n    import made_for_a_test\n    return made_for_a_test.n",
        "f()",
        "sys.modules['made_for_a_test'] = types.SimpleNamespace(n=2)",
        "sys.modules['made_for_a_test'].n = 3",
        "del sys.modules['made_for_a_test']",
    ),
    (
        "environment",
        "os.environ['MADE_FOR_A_TEST'] = '1'",
        "os.environ.get('MADE_FOR_A_TEST'), os.getenv('MADE_FOR_A_TEST')",
        "os.environ['MADE_FOR_A_TEST'] = '2'",
        "del os.environ['MADE_FOR_A_TEST']",
    ),
    (
        "attribute",
        "a.n = 1",
        "a.n, vars(a)['n'], a.__dict__.get('k')",
        "a.n = 2",
        "a.k = 3",
        "a.__dict__ = {'n': 4}",
        "del a.n",
    ),
    ("attribute of a class", "A.n = 1", "a.n, A.n, A.__dict__['n']", "A.n = 2", "a.n = 3", "del A.n", "del a.n"),
    ("names of a class", "", "'n' in vars(A), 'n' in dir(A), 'n' in dir(a)", "A.n = 1", "del A.n"),
    (
        "name of a class",
        "",
        "A.__name__, A.__qualname__, A.__module__ == 'm', type(a).__name__",
        "A.__name__ = 'Z'",
        "A.__qualname__ = 'Q'",
        "A.__module__ = 'm'",
    ),
    (
        "annotations of a class",
        "A.__annotations__ = {'n': int}",
        "list(A.__annotations__)",
        "A.__annotations__ = {'k': int}",
        "A.__annotations__['j'] = 1",
    ),
    (
        "abstract methods",
        "class K(abc.ABC):\n    @abc.abstractmethod\n    def f(self): ...\nclass N(K): pass",
        "type(N()).__name__",
        "N.f = 1; abc.update_abstractmethods(N)",
    ),
    (
        "data class",
        "@dataclasses.dataclass\nclass P:\n    n: int = 1",
        "P().n, P() == P(2), repr(P()) == 'p'",
        "P.__init__.__defaults__ = (2,)",
        "P.__eq__ = lambda s, o: 'e'",
        "P.__repr__ = lambda s: 'p'",
        "[f.name for f in dataclasses.fields(P)]",
    ),
    (
        "fields of a data class",
        "@dataclasses.dataclass\nclass P:\n    n: int = 1\np = P()",
        "dataclasses.asdict(p), dataclasses.replace(p, n=2).n, [f.name for f in dataclasses.fields(p)]",
        "p.n = 5",
        "P.__dataclass_fields__ = {}",
    ),
    (
        "named tuple",
        "P = collections.namedtuple('P', 'n k')\np = P(1, 2)",
        "p.n, p._fields, p._asdict()",
        "P.n = property(lambda s: 7)",
        "P._fields = ('k', 'n')",
    ),
    (
        "enum",
        "K = enum.Enum('K', 'N M')",
        "K.N.value, K.N.name, len(K), [k.name for k in K], K(1) is K.N, K['N'] is K.N",
        "K.N._value_ = 9",
        "K._member_names_.reverse()",
    ),
    (
        "simple namespace",
        "s = types.SimpleNamespace(n=1)",
        "s.n, getattr(s, 'k', 0), vars(s) == {'n': 1}",
        "s.n = 2",
        "s.k = 1",
        "del s.n",
    ),
    (
        "partial's parts",
        "p = functools.partial(dict, n=1)",
        "p(), p.keywords",
        "p.keywords['n'] = 2",
        "p.__setstate__((dict, (), {'k': 1}, {}))",
    ),
    ("list", "v = [1]", "v, len(v), 1 in v, v[0], sum(v)", "v[0] = 2", "v.append(1)", "v.clear()"),
    ("dict", "v = {'n': 1}", "v['n'], len(v), list(v), v.get('k')", "v['n'] = 2", "v['k'] = 1", "v.pop('n')"),
    ("set", "v = {1}", "v, len(v), 1 in v", "v.add(2)", "v.discard(1)"),
    ("deque", "v = collections.deque([1])", "list(v), len(v), 1 in v, v[0]", "v.append(2)", "v.popleft()"),
    ("byte array", "v = bytearray(b'a')", "v[0], len(v), bytes(v) == b'b'", "v[0] = 98", "v.append(1)"),
    ("array", "v = array.array('d', [1.0])", "v[0], len(v), list(v), sum(v)", "v[0] = 2.0", "v.append(3.0)"),
    ("memory view", "v = bytearray(b'a'); w = memoryview(v)", "w[0], list(w), w.tolist()", "v[0] = 98"),
    (
        "mapping proxy",
        "v = {'n': 1}; w = types.MappingProxyType(v)",
        "w['n'], len(w), 'k' in w",
        "v['n'] = 2",
        "v['k'] = 1",
    ),
    ("chain map", "v = {'n': 1}; w = collections.ChainMap({}, v)", "w['n'], len(w)", "v['n'] = 2", "w.maps.reverse()"),
    ("weak reference", "w = weakref.ref(a)", "w() is None, w() is a", "a = None\no = None"),
    ("weak key", "w = weakref.WeakKeyDictionary({a: 1})", "w[a], len(w)", "w[a] = 2"),
    ("cell of a generator", "def g():\n    while True: yield n\nn = 1\nv = g()", "next(v)", "n = 2"),
    (
        "list of a subclass",
        "v = L([1])",
        "v[0], len(v), list(v), 1 in v, bool(v)",
        "L.__getitem__ = lambda s, at: 5",
        "L.__len__ = lambda s: 0",
        "L.__iter__ = lambda s: iter([9])",
        "L.__contains__ = lambda s, o: False",
    ),
    (
        "int of a subclass",
        "class N(int): pass\nn = N(2)",
        "n + 1, n == 2, bool(n), int(n), hash(n), -n, [1, 2, 3][n]",
        "N.__add__ = lambda s, o: 9",
        "N.__eq__ = lambda s, o: False",
        "N.__bool__ = lambda s: False",
        "N.__int__ = lambda s: 8",
        "N.__hash__ = lambda s: 7",
        "N.__neg__ = lambda s: 6",
        "N.__index__ = lambda s: 0",
    ),
    (
        "text of a subclass",
        "class S(str): pass\ns = S('a')",
        "s + 'b', s == 'a', len(s), s.upper(), s in {'a'}",
        "S.__add__ = lambda s, o: 'c'",
        "S.__eq__ = lambda s, o: False",
        "S.__len__ = lambda s: 9",
        "S.upper = lambda s: 'u'",
        "S.__hash__ = lambda s: 7",
    ),
    (
        "dict of a subclass",
        "class S(dict): pass\ns = S(n=1)",
        "s['n'], s.get('k'), 'n' in s, len(s), list(s)",
        "S.__getitem__ = lambda s, k: 5",
        "S.get = lambda s, k: 6",
        "S.__contains__ = lambda s, k: False",
        "S.__len__ = lambda s: 7",
        "S.__iter__ = lambda s: iter('z')",
    ),
    ("missing key", "class S(dict): pass\ns = S()", "s['n']", "S.__missing__ = lambda s, k: 1", "del S.__missing__"),
    (
        "float of a subclass",
        "class N(float): pass\nn = N(2)",
        "n + 1, float(n), (x + n).tolist(), round(n)",
        "N.__add__ = lambda s, o: 9.0",
        "N.__float__ = lambda s: 8.0",
        "N.__radd__ = lambda s, o: 4",
        "N.__round__ = lambda s: 5",
    ),
    ("operator with a tensor", "", "o + x if False else hasattr(o, '__radd__')", "A.__radd__ = lambda s, v: 1"),
    ("pattern", "p = re.compile('a')", "bool(p.match('a')), p.pattern", "p = re.compile('b')"),
    (
        "hook of attributes with a tensor",
        "A.__torch_function__ = classmethod(lambda *v: 1)",
        "hasattr(a, '__torch_function__')",
        "del A.__torch_function__",
    ),
    # Values that are read and discarded may still fail.
    (
        "code then identity",
        "def make():\n    def f(): return 1\n    return f\ng=make()\nh=make()\ntable={g:1}\nk=g",
        "k(), table.get(k), k is g",
        "k=h",
        "k=g",
    ),
    ("identity then code", "def f(): return 1\ntable={f:1}", "table.get(f), f()", "f.__code__=(lambda: 2).__code__"),
    (
        "identity is then code",
        "def f(): return 1\ng=f",
        "f is g, f(), g()",
        "f.__code__=(lambda: 2).__code__",
        "g=lambda: 3",
    ),
    (
        "method then identity",
        "def make():\n    def f(s): return 1\n    return f\nA.f=make()\ng=A.f",
        "a.f(), A.f is g, A.__dict__['f'] is g",
        "A.f=make()",
        "A.f=g",
    ),
    (
        "cache unused",
        "n=[0]\n@functools.lru_cache\ndef f():\n    n[0]+=1\n    return 1\ndef g():\n    f()\n    return n[0]",
        "g()",
        "f.cache_clear()",
    ),
    (
        "defaults by keyword",
        "def f(a, b=2, *, c=3): return a, b, c",
        "f(1), f(1, c=5), f(1, b=6)",
        "f.__defaults__=(7,8)",
        "f.__kwdefaults__={'c':9}",
        "f.__kwdefaults__={}",
        "f.__defaults__=None",
    ),
    (
        "partial inner code",
        "def f(a): return a\np=functools.partial(f,1)",
        "p(), p.func is f",
        "f.__code__=(lambda a: 5).__code__",
    ),
    (
        "dict subclass key",
        "class S(dict):\n    __hash__=object.__hash__\ns=S(n=1)\ntable={s:1}",
        "list(s), len(table)",
        "s['k']=1",
    ),
    ("list alias", "v=[1]\nw=v", "v is w, v[0]", "w=[1]", "v=w"),
    ("unused element", "v=[1,2]\ndef f():\n    v[1]\n    return 3", "f()", "v.pop()"),
    ("unused key", "v={'a':1}\ndef f():\n    v['a']\n    return 3", "f()", "v.clear()"),
    ("unused attr", "a.n=1\ndef f():\n    a.n\n    return 3", "f()", "del a.n"),
    ("unused global", "n=1\ndef f():\n    n\n    return 3", "f()", "del n"),
    ("unused slot", "class S: __slots__=('n',)\ns=S()\ns.n=1\ndef f():\n    s.n\n    return 3", "f()", "del s.n"),
    ("unused class attr", "A.n=1\ndef f():\n    a.n\n    A.n\n    return 3", "f()", "del A.n"),
    ("unused module attr", "m=types.ModuleType('m')\nm.n=1\ndef f():\n    m.n\n    return 3", "f()", "del m.n"),
    (
        "unused enum",
        "K=enum.Enum('K','N')\ndef f():\n    K.N\n    K['N']\n    return 3",
        "f()",
        "del K._member_map_['N']",
        "type.__delattr__(K,'N')",
    ),
    ("unused method", "A.f=lambda s: 3\ndef f():\n    a.f\n    A.f\n    return 3", "f()", "del A.f"),
    (
        "unused cell attr",
        "def make():\n    n=[1]\n    def f():\n        n[0]\n        return 1\n    return f\nf=make()",
        "f()",
        "f.__closure__[0].cell_contents=3",
        "f.__closure__[0].cell_contents=[]",
    ),
    (
        "unused import",
        "sys.modules['zzq']=types.SimpleNamespace(n=1)\ndef f():\n    from zzq import n\n    return 3",
        "f()",
        "del sys.modules['zzq'].n",
        "del sys.modules['zzq']",
    ),
    ("unused isinstance", "def f():\n    isinstance(a, k)\n    return 3\nk=A", "f()", "k=5", "k=(A,5)", "k=(5,A)"),
    ("unused len", "def f():\n    len(v)\n    return 3\nv=[1]", "f()", "v=5", "v=()", "v='a'"),
    ("unused iteration", "def f():\n    for _ in v: pass\n    return 3\nv=[1]", "f()", "v=5", "v=()", "v='a'"),
    ("unused unpack", "def f():\n    a, b = v\n    return 3\nv=[1,2]", "f()", "v=[1]", "v=(1,2)", "v=5"),
    ("unused super", "A.f=lambda s: 1\nC.f=lambda s: (super(C,s).f, 3)[1]", "c.f()", "del A.f"),
    (
        "unused op",
        "def f():\n    a + 1\n    return 3\nA.__add__=lambda s,o: 1",
        "f()",
        "del A.__add__",
        "A.__add__=lambda s,o: raised(E())",
    ),
    ("unused cmp", "def f():\n    a < 1\n    return 3\nA.__lt__=lambda s,o: 1", "f()", "del A.__lt__"),
    ("unused call", "def f():\n    a()\n    return 3\nA.__call__=lambda s: 1", "f()", "del A.__call__"),
    (
        "unused contains",
        "def f():\n    1 in a\n    return 3\nA.__contains__=lambda s,o: 1",
        "f()",
        "del A.__contains__",
    ),
    ("unused hash", "def f():\n    hash(a)\n    {a: 1}\n    return 3", "f()", "A.__hash__=None"),
    (
        "unused bool",
        "def f():\n    bool(a)\n    return 3",
        "f()",
        "A.__bool__=lambda s: 3",
        "A.__bool__=lambda s: True",
    ),
    ("unused str", "def f():\n    str(a.n)\n    return 3\na.n=1", "f()", "a.n=b", "B.__str__=lambda s: 3"),
    ("unused default get", "v={}\ndef f():\n    v.get('a', n)\n    return 3\nn=1", "f()", "del n"),
    ("unused slice", "v=[1]\ndef f():\n    v[k:]\n    return 3\nk=1", "f()", "k='a'", "k=None"),
    ("default unused", "def f(v=1): return 5", "f()", "f.__defaults__ = None"),
    ("kw default unused", "def f(*, v=1): return 5", "f()", "f.__kwdefaults__ = None"),
    ("default handed", "def f(v=1): return [v]", "f()", "f.__defaults__ = (2,)", "f.__defaults__ = (3, 4)"),
    ("defaults more", "def f(u, v=1): return 5", "f(1)", "f.__defaults__ = (2,3)", "f.__defaults__=()"),
    (
        "default factory",
        "d=collections.defaultdict(int)",
        "d.pop('k',0), d['k']",
        "d.default_factory=list",
        "d.default_factory=None",
        "d.clear()",
    ),
    (
        "order of an OrderedDict",
        "d=collections.OrderedDict(a=1,b=2)",
        "list(d), list(d.items()), d",
        "d.move_to_end('a')",
    ),
    ("counter", "d=collections.Counter('aab')", "d['a'], d['z'], d.most_common(1)", "d['z']=9"),
    (
        "decimal",
        "",
        "str(decimal.Decimal(1)/decimal.Decimal(3))",
        "decimal.getcontext().prec=5",
        "decimal.getcontext().prec=28",
    ),
    ("gc", "", "gc.isenabled()", "gc.disable()", "gc.enable()"),
    ("context variable", "v=contextvars.ContextVar('v', default=1)", "v.get(), v.get(4)", "v.set(2)"),
    (
        "thread",
        "",
        "threading.current_thread().name",
        "threading.current_thread().name='z'",
        "threading.current_thread().name='MainThread'",
    ),
    ("constant of a module that C made", "", "math.pi", "math.pi=4; ", "math.pi=3.141592653589793"),
    (
        "import hook",
        "n=[0]\nimp=builtins.__import__\ndef f():\n    import math as m\n    return n[0]",
        "f()",
        "builtins.__import__ = lambda *a, **k: (n.__setitem__(0, n[0]+1), imp(*a, **k))[1]",
        "builtins.__import__=imp",
    ),
    ("enum missing", "class K(enum.Enum):\n    A=1", "K(2).name", "K._missing_=classmethod(lambda c,v: c.A)"),
    ("lock", "l=threading.Lock()", "l.locked()", "l.acquire()", "l.release()"),
    ("weakset", "w=weakref.WeakSet([a])", "a in w, len(w)", "w.add(b)", "w.discard(a)"),
    ("weakvalue", "w=weakref.WeakValueDictionary(k=a)", "'k' in w, len(w)", "w['j']=b", "del w['k']"),
    (
        "class dict",
        "",
        "A.__dict__.get('n'), sorted(k for k in A.__dict__ if k[0]!='_')",
        "A.n=1",
        "B.n=3",
        "C.__bases__=(B,)",
    ),
    ("inherited classdict", "", "sorted(k for k in vars(C) if k[0]!='_'), hasattr(C,'n')", "A.n=1", "C.n=2"),
    ("doc", "", "A.__doc__, len.__doc__ is None", "A.__doc__='z'"),
    (
        "user exc init",
        "",
        "caught(G, E)",
        "G.__init__=lambda s, t: raised(F(t))",
        "E.__new__=lambda cls,*a: Exception.__new__(F)",
    ),
    ("exc str", "", "str(G('a'))", "G.__str__=lambda s:'z'"),
    (
        "exc attrs",
        "g=G('a')",
        "g.args, getattr(g,'n',0), g.__cause__ is None, g.__notes__ if hasattr(g,'__notes__') else 0",
        "g.args=('b',)",
        "g.n=1",
        "g.__cause__=F('c')",
        "g.add_note('z')",
    ),
    ("raise class", "", "handled(G, G), handled(G,(E,)), handled(lambda t: 3, G)", "G.__bases__=(F,)"),
    ("except non exc", "k=E", "caught(G, k)", "k=F", "k=int", "k=(E,)"),
    (
        "iter slots",
        "class S:\n    def __init__(s): s.n=0\n    def __iter__(s): return s\n    def __next__(s):\n        s.n+=1\n        if s.n>3: raise StopIteration\n        return s.n",
        "list(S())",
        "S.__next__=lambda s: raised(StopIteration())",
        "del S.__next__",
        "S.__iter__=None",
    ),
    (
        "ctx",
        "class S:\n    def __enter__(s): return 1\n    def __exit__(s,*e): return True\ndef f():\n    with S() as v:\n        raise E\n    return v",
        "f()",
        "S.__exit__=lambda s,*e: False",
        "S.__exit__=lambda s,*e: 1",
        "S.__enter__=lambda s: 2",
        "del S.__exit__",
    ),
    ("generic", "class S: pass", "S[int]", "S.__class_getitem__=classmethod(lambda c,i: 3)"),
    ("nested attr", "a.b=b\nb.n=1", "a.b.n", "b.n=2", "a.b=o", "o.n=4"),
    (
        "bool of class w len",
        "class S: \n    def __len__(s): return 1\ns=S()",
        "1 if s else 2",
        "S.__bool__=lambda s: False",
        "del S.__bool__",
        "S.__len__=lambda s:0",
    ),
    ("is none", "v=None", "v is None, v is not a", "v=a", "v=3"),
    (
        "str method",
        "S=type('S',(str,),{})\ns=S('ab')",
        "s[0], s.startswith('a'), 'a' in s, f'{s}', '%s' % s, s.join(['x','y'])",
        "S.__getitem__=lambda s,i:9",
        "S.__contains__=lambda s,i: False",
        "S.__str__=lambda s:'z'",
        "S.__format__=lambda s,f:'w'",
        "S.join=lambda *a: 'q'",
    ),
    (
        "sorted lt",
        "class S:\n    def __init__(s,n): s.n=n\n    def __lt__(s,o): return s.n<o.n\nv=[S(2),S(1)]",
        "[s.n for s in sorted(v)], max(v, key=lambda s: s.n).n, min(v).n",
        "S.__lt__=lambda s,o: s.n>o.n",
        "S.__gt__=lambda s,o: True",
    ),
    (
        "index in tensor",
        "class S:\n    def __index__(s): return s.n\nS.n=1\ns=S()",
        "x.expand(3,2)[s].tolist(), x.expand(3,2)[:, s].shape == (3,), x.sum(S()).tolist()",
        "S.n=0",
        "S.__index__=lambda s: -1",
    ),
    (
        "instance number",
        "class S:\n    def __index__(s): return s.n\n    def __init__(s): s.n=k\nk=0",
        "x.expand(3,1).sum(S()).tolist(), minidynamo.zeros(S(), 2).shape[0], minidynamo.tensor(S()).tolist(), minidynamo.tensor([S(), 1.5]).tolist()",
        "k=1",
        "S.__init__=lambda s: setattr(s,'n','z')",
    ),
    (
        "attributes beside methods of a tensor",
        "q=minidynamo.ones(2)",
        "getattr(q,'sum',0) == 0, q.sum().tolist(), hasattr(q,'zz'), hasattr(q, 'shape')",
        "q.sum=lambda: x0",
        "q.zz=1",
        "del q.sum",
        "q.__dict__={'sum': lambda: minidynamo.ones(1)}",
        "q.__dict__.clear()",
    ),
    (
        "tensor own shadows",
        "q=minidynamo.ones(2)",
        "q.relu().tolist(), q.tolist(), q.mul(2).tolist(), len(q)",
        "q.relu=lambda: minidynamo.zeros(1)",
        "q.mul=lambda v: minidynamo.zeros(v)",
        "q.__len__=3",
        "q.shape=3",
        "q.dtype=4",
    ),
    (
        "tensor alias",
        "q=minidynamo.ones(2)\nr=q\ndef f(u,v):\n    u.n=getattr(u,'n',0)+1\n    v.n=v.n+1 if hasattr(v,'n') else 10\n    return u.n, v.n",
        "f(q,r)",
        "r=minidynamo.ones(2)",
        "r.n=4",
        "del q.n",
        "r=q",
    ),
    (
        "tensor dict",
        "q=minidynamo.ones(2)\ndef f():\n    d=q.__dict__\n    d['n']=d.get('n',0)+1\n    s=q.n\n    d['n']+=1\n    q.n+=1\n    return s, d['n'], q.n, vars(q)",
        "f()",
        "q.n=7",
        "q.__dict__={}",
        "q.__dict__=dict(n=1)",
    ),
    (
        "param attr",
        "p=minidynamo.nn.Parameter(minidynamo.ones(2))",
        "getattr(p,'n',0), hasattr(p,'tag'), p.sum().tolist(), p.shape[0]",
        "p.n=1",
        "p.tag=1",
        "type(p).tag=3",
        "del p.tag",
        "del type(p).tag",
        "type(p).sum=lambda s: minidynamo.zeros(1)",
        "del type(p).sum",
        "type(p).shape=property(lambda s: (9,))",
        "del type(p).shape",
    ),
    (
        "module param attr",
        "net=minidynamo.nn.Linear(1,1)\nnet.weight.data.fill_(1.)\nnet.bias.data.fill_(1.)",
        "net(x).tolist(), getattr(net.weight,'n',0), hasattr(net.bias,'k')",
        "net.weight.n=1",
        "net.bias.k=1",
        "del net.weight.n",
    ),
    ("unused tensor attr", "q=minidynamo.ones(1)\nq.n=1\ndef f():\n    q.n\n    return 3", "f()", "del q.n"),
    ("unused vars", "a.n=1\ndef f():\n    vars(a)['n']\n    return 3", "f()", "del a.n"),
    (
        "unused property",
        "A.f=property(lambda s: 3)\ndef f():\n    a.f\n    return 3",
        "f()",
        "A.f=property(lambda s: raised(E()))",
        "del A.f",
        "A.f=property()",
    ),
    (
        "unused tensor op",
        "q=minidynamo.ones(2)\ndef f():\n    q + k\n    return 3\nk=1",
        "f()",
        "k='a'",
        "k=a",
        "k=None",
        "k=minidynamo.ones(3)",
    ),
    ("number abc", "", "isinstance(1, numbers.Integral), isinstance(o, numbers.Real)", "numbers.Real.register(A)"),
    ("sized", "", "isinstance(o, collections.abc.Sized)", "A.__len__=lambda s:3", "collections.abc.Sized.register(B)"),
    (
        "hashable",
        "",
        "isinstance(o, collections.abc.Hashable), issubclass(A, collections.abc.Hashable)",
        "A.__hash__=None",
    ),
]
# Methods that are called together with another one.
BESIDE = {"__enter__": "A.__exit__ = lambda self, *error: None", "__exit__": "A.__enter__ = lambda self: 1"}
# No change in eager Python either: abstract base classes cache their results, methods are looked up in the class alone.
UNCHANGED = {
    "callable of an instance's own",
    "hashable",
    "subclass hook",
    "hashable",
    "__iter__: isinstance(o, collections.abc.Iterable)",
    "__call__: isinstance(o, collections.abc.Callable)",
    "__call__: list(map(o, []))",
    "__ne__: o == 1",
    "__mod__: '%s' % o == 'text'",
    "__rmod__: 'text' % o",
    "__getattribute__: isinstance(o, A)",
}
for method, (expressions, first, second) in METHODS.items():
    if first is not None:
        ROWS += [
            (
                f"{method}: {expression}",
                METHOD_PRELUDE + BESIDE.get(method, ""),
                expression,
                f"A.{method} = {first}",
                f"A.{method} = {second}",
                f"del A.{method}",
                f"A.{method} = {second}",
                f"o.{method} = 1",
                f"A.{method} = {first}",
            )
            for expression in expressions
        ]


def shown(value):
    if isinstance(value, minidynamo.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {str(key): shown(each) for key, each in value.items()}
    return value if type(value) in (int, float, complex, bool, str, bytes, type(None)) else type(value).__name__


class World:
    def __init__(self, row, compiled):
        _, set_up, expression, *_ = row
        self.names = {"__name__": __name__}
        exec(PRELUDE + set_up, self.names)
        exec(f"def run(x):\n    return x + 1, {expression}", self.names)
        self.run = self.names["run"]
        if compiled:
            self.run = minidynamo.compile(self.run, backend="eager")

    def outcome(self):
        try:
            return shown(self.run(minidynamo.ones(1)))
        except Exception as error:
            return type(error).__name__, re.sub(" at 0x[0-9a-f]+", "", str(error))

    def change(self, text):
        with contextlib.suppress(Exception):
            exec(text, self.names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_change_is_seen(row):
    minidynamo._dynamo.reset()
    steps = ["pass", *row[3:]]
    outcomes = []
    for compiled in (False, True):
        world = World(row, compiled)
        try:
            found = []
            for step in steps:
                world.change(step)
                found.append((step, [world.outcome() for _ in range(3)]))
            outcomes.append(found)
        finally:
            sys.modules.pop("made_for_a_test", None)
            os.environ.pop("MADE_FOR_A_TEST", None)
    assert outcomes[1] == outcomes[0]
    assert len(outcomes[0]) == len(steps)


def test_the_rows_change_something():
    """A row whose changes have no effect in eager Python would pass whatever capture did."""
    still = set()
    for row in ROWS:
        world = World(row, compiled=False)
        seen = set()
        for step in ["pass", *row[3:]]:
            world.change(step)
            seen.add(repr(world.outcome()))
        if len(seen) == 1:
            still.add(row[0])
    sys.modules.pop("made_for_a_test", None)
    os.environ.pop("MADE_FOR_A_TEST", None)
    assert still == UNCHANGED
