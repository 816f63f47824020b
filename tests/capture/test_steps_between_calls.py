"""Programs with changes between their calls, by kind: the result or exception of each step, plain and compiled.

A row has a set-up, with a function f that is compiled, and the steps: an expression that is evaluated, or statements.
"""

import codecs
import re

import pytest

import minidynamo

PRELUDE = """
import abc, array, builtins, codecs, collections, contextlib, copyreg, dataclasses, enum, functools, importlib, io, logging
import math, operator, sys, types, typing, weakref
import minidynamo as md
from minidynamo import ones, tensor
"""
ATTRIBUTES = {
    "grad fn attr dict": (
        "x=ones(2)\ndef f(x):\n    return x+1, getattr(x,'tag',None), 'tag' in x.__dict__",
        ["f(x)", "x.tag=1", "f(x)", "x.tag=2", "f(x)", "del x.tag", "f(x)"],
    ),
    "view attr": (
        "x=ones(2,2)\ndef f(x):\n    y=x[0]; y.mark=3\n    z=x[0]\n    return x+1, hasattr(z,'mark'), y.mark",
        ["f(x)", "f(x)"],
    ),
    "detach loses": (
        "x=ones(2)\n"
        "x.a=4\n"
        "def f(x):\n"
        "    return [hasattr(v,'a') for v in (x.detach(), x.clone(), x+0, x.view(2), x.to(md.float32), "
        "x.contiguous(), x.float(), x.reshape(2), x.requires_grad_(False))]",
        ["f(x)", "del x.a", "f(x)"],
    ),
    "attr by setattr inside then read after": (
        "x=ones(2)\ndef f(x):\n    x.n=getattr(x,'n',0)+1\n    return x*x.n",
        ["f(x)", "f(x)", "f(x)", "x.n=10", "f(x)"],
    ),
    "out attr": (
        "def f(x):\n    y=x*2; y.info={'k':[1]}\n    y.info['k'].append(2)\n    return y",
        ["r=f(ones(2)); out=r.info", "r=f(ones(2)); out=r.info"],
    ),
    "grad attr": (
        "w=ones(2,requires_grad=True)\ndef f(w):\n    return w*2 if w.grad is None else w*w.grad",
        ["f(w)", "w.grad=ones(2)*3", "f(w)", "w.grad=None", "f(w)"],
    ),
    "param attr in module": (
        "m=md.nn.Linear(2,2)\ndef f(x):\n    return getattr(m.weight,'scale',1)*x",
        ["f(ones(2))", "m.weight.scale=5", "f(ones(2))", "m.weight=md.nn.Parameter(ones(2,2))", "f(ones(2))"],
    ),
    "class attr of tensor sub": (
        "x=ones(2)\ndef f(x):\n    return x+1, vars(x).get('q'), list(vars(x))",
        ["f(x)", "x.q=1", "f(x)", "x.r=2", "f(x)", "x.__dict__.clear()", "f(x)"],
    ),
    "property deleter": (
        "class A:\n"
        "    @property\n"
        "    def p(self): return self._p\n"
        "    @p.setter\n"
        "    def p(self,v): self._p=v\n"
        "    @p.deleter\n"
        "    def p(self): del self._p\n"
        "a=A()\n"
        "a.p=1\n"
        "def f(x):\n"
        "    try: return x+a.p\n"
        "    except AttributeError as e: return str(e)",
        ["f(ones(1))", "a.p=2", "f(ones(1))", "del a.p", "f(ones(1))"],
    ),
    "getattr fallback": (
        "class A:\n    def __getattr__(self,n): return 7\na=A()\ndef f(x): return x+a.zz",
        ["f(ones(1))", "a.zz=1", "f(ones(1))", "del a.zz", "f(ones(1))", "A.zz=3", "f(ones(1))"],
    ),
    "function attr default": (
        "def g(x): return x+getattr(g,'k',0)\nf=g",
        ["f(ones(1))", "g.k=3", "f(ones(1))", "g.__dict__['k']=4", "f(ones(1))", "g.__dict__={}", "f(ones(1))"],
    ),
    "method attr": (
        "class A:\n    def m(self,x): return x+getattr(self.m,'k',0)\na=A()\ndef f(x): return a.m(x)",
        ["f(ones(1))", "A.m.k=2", "f(ones(1))", "del A.m.k", "f(ones(1))"],
    ),
    "code attr": (
        "def g(x): return x\n"
        "def f(x): return x+g.__code__.co_firstlineno*0+len(g.__code__.co_varnames), g.__name__, "
        "g.__qualname__, g.__doc__",
        [
            "f(ones(1))",
            "g.__code__=(lambda x,y=1: x).__code__",
            "f(ones(1))",
            "g.__name__='zz'",
            "f(ones(1))",
            "g.__doc__='d'",
            "f(ones(1))",
        ],
    ),
    "partial attrs": (
        "p=functools.partial(max,1)\ndef f(x): return x+p(2), p.args, p.keywords, getattr(p,'z',0)",
        [
            "f(ones(1))",
            "p.z=1",
            "f(ones(1))",
            "p.keywords['key']=lambda v:-v",
            "f(ones(1))",
            "p.__setstate__((max,(9,),{},{}))",
            "f(ones(1))",
        ],
    ),
    "enum attr": (
        "class E(enum.Enum):\n    A=1\n    B=2\ndef f(x): return x+E.A.value, E.A.name, getattr(E.A,'k',0)",
        ["f(ones(1))", "E.A.k=3", "f(ones(1))", "E.A._value_=10", "f(ones(1))"],
    ),
    "dataclass": (
        "@dataclasses.dataclass\n"
        "class D:\n"
        "    a:int=1\n"
        "    b:list=dataclasses.field(default_factory=list)\n"
        "d=D()\n"
        "def f(x): return x+d.a, d.b, dataclasses.asdict(d), d==D()",
        ["f(ones(1))", "d.b.append(1)", "f(ones(1))", "d.a=2", "f(ones(1))"],
    ),
    "namedtuple": (
        "P=collections.namedtuple('P','a b')\np=P(1,[2])\ndef f(x): return x+p.a, p.b, p._fields, p._asdict()",
        ["f(ones(1))", "p.b.append(3)", "f(ones(1))", "P.a=property(lambda s:9)", "f(ones(1))"],
    ),
    "slots": (
        "class S:\n    __slots__=('a','__dict__')\ns=S()\ndef f(x): return x+getattr(s,'a',0)+getattr(s,'b',0)",
        ["f(ones(1))", "s.a=1", "f(ones(1))", "s.b=5", "f(ones(1))", "del s.a", "f(ones(1))"],
    ),
    "exception attrs": (
        "e=ValueError(1)\n"
        "def f(x): return x+len(e.args), getattr(e,'__notes__',None), e.__cause__, e.__traceback__ is "
        "None, e.__suppress_context__",
        [
            "f(ones(1))",
            "e.add_note('n')",
            "f(ones(1))",
            "e.args=(1,2)",
            "f(ones(1))",
            "e.__cause__=KeyError()",
            "out=repr(f(ones(1)))",
        ],
    ),
    "weakref dead": (
        "class A: pass\na=A()\nw=weakref.ref(a)\ndef f(x): return x+1, w() is None",
        ["f(ones(1))", "del a", "f(ones(1))"],
    ),
    "proxy": (
        "class A: pass\n"
        "a=A()\n"
        "a.v=1\n"
        "w=weakref.proxy(a)\n"
        "def f(x):\n"
        "    try: return x+w.v\n"
        "    except ReferenceError as e: return str(e)",
        ["f(ones(1))", "a.v=2", "f(ones(1))", "del a", "f(ones(1))"],
    ),
    "generator frame attrs": (
        "def gen():\n"
        "    yield 1\n"
        "    yield 2\n"
        "g=gen()\n"
        "def f(x): return x+1, g.gi_running, g.gi_frame is None, g.gi_yieldfrom",
        ["f(ones(1))", "list(g)", "f(ones(1))"],
    ),
    "module getattr": (
        "m=types.ModuleType('m')\nm.__getattr__=lambda n: n+'!'\ndef f(x): return x+1, m.foo",
        [
            "f(ones(1))",
            "m.foo=1",
            "f(ones(1))",
            "del m.foo",
            "f(ones(1))",
            "m.__getattr__=lambda n: n+'?'",
            "f(ones(1))",
        ],
    ),
    "classmethod attrs": (
        "class A:\n"
        "    k=1\n"
        "    @classmethod\n"
        "    def c(cls,x): return x+cls.k\n"
        "class B(A): pass\n"
        "def f(x): return B.c(x)",
        ["f(ones(1))", "B.k=2", "f(ones(1))", "A.k=7", "f(ones(1))", "del B.k", "f(ones(1))"],
    ),
    "metaclass attr": (
        "class M(type):\n    k=1\nclass A(metaclass=M): pass\ndef f(x): return x+A.k",
        [
            "f(ones(1))",
            "A.k=2",
            "f(ones(1))",
            "del A.k",
            "f(ones(1))",
            "M.k=9",
            "f(ones(1))",
            "M.__getattribute__=lambda c,n: 100",
            "f(ones(1))",
        ],
    ),
    "dir/vars": (
        "class A: pass\n"
        "a=A()\n"
        "def f(x): return x+1, sorted(vars(a)), 'q' in dir(a), sorted(n for n in dir(A) if n[0]!='_')",
        ["f(ones(1))", "a.q=1", "f(ones(1))", "A.z=1", "f(ones(1))"],
    ),
}
COMPILED_FUNCTIONS = {
    "copy of compiled attr": (
        "def g(x): return x+1\ng.k=5\nimport copy,pickle\nf=g",
        [
            "f(ones(1))",
            "copy.copy(f)(ones(1))",
            "copy.deepcopy(f)(ones(1))",
            "f.k",
            "f.__name__",
            "f.__doc__",
            "f.__module__",
        ],
    ),
    "defaults change": (
        "def g(x,a=1,*,b=2): return x+a+b\nf=g",
        [
            "f(ones(1))",
            "f.__defaults__=(5,)",
            "f(ones(1))",
            "f.__kwdefaults__={'b':10}",
            "f(ones(1))",
            "f.__defaults__=None",
            "f(ones(1))",
            "f.__code__=(lambda x,a=1,*,b=2: x*b).__code__",
            "f(ones(1))",
        ],
    ),
    "globals": (
        "def g(x): return x+K\nK=1\nf=g",
        ["f(ones(1))", "f.__globals__['K']=5", "f(ones(1))", "f.__annotations__", "f.__closure__", "f.__qualname__"],
    ),
}
CLASSES = {
    "slots": (
        "reg=[]\n"
        "def f(x):\n"
        "    class C:\n"
        "        __slots__=('a',)\n"
        "        def __init__(s): s.a=1\n"
        "    return x+C().a, C.__slots__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "initsub": (
        "reg=[]\n"
        "def f(x):\n"
        "    class B:\n"
        "        def __init_subclass__(cls,k=0,**kw): cls.k=k\n"
        "    class C(B,k=3): pass\n"
        "    return x+C.k",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "setname": (
        "reg=[]\n"
        "def f(x):\n"
        "    class D:\n"
        "        def __set_name__(s,o,n): s.n=n\n"
        "    class C:\n"
        "        d=D()\n"
        "    return x+1,C.d.n",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "meta prepare": (
        "reg=[]\n"
        "def f(x):\n"
        "    class M(type):\n"
        "        @classmethod\n"
        "        def __prepare__(m,n,b): return {'pre':4}\n"
        "    class C(metaclass=M):\n"
        "        z=pre\n"
        "    return x+C.z+C.pre",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "generic": (
        "reg=[]\n"
        "def f(x):\n"
        "    T=typing.TypeVar('T')\n"
        "    class C(typing.Generic[T]):\n"
        "        pass\n"
        "    return x+1,C[int].__args__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "dataclass": (
        "reg=[]\n"
        "def f(x):\n"
        "    @dataclasses.dataclass(order=True,frozen=True)\n"
        "    class C:\n"
        "        a:int\n"
        "        b:str='q'\n"
        "    return x+C(1).a, C(1)<C(2), repr(C(3)).split('.')[-1], hash(C(1))==hash(C(1))",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "enum": (
        "reg=[]\n"
        "def f(x):\n"
        "    class E(enum.IntFlag):\n"
        "        A=1\n"
        "        B=2\n"
        "    return x+E.A, (E.A|E.B).value, E['B'].name",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "namedtuple": (
        "reg=[]\n"
        "def f(x):\n"
        "    class N(typing.NamedTuple):\n"
        "        a:int\n"
        "        b:int=2\n"
        "    return x+N(1).b, N(1)._asdict()",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "abc": (
        "reg=[]\n"
        "def f(x):\n"
        "    class A(abc.ABC):\n"
        "        @abc.abstractmethod\n"
        "        def m(self): ...\n"
        "    try: A()\n"
        "    except TypeError as e: return x+1,str(e)",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "property": (
        "reg=[]\n"
        "def f(x):\n"
        "    class M(type):\n"
        "        @property\n"
        "        def name(cls): return 'meta'\n"
        "    class C(metaclass=M):\n"
        "        name=5\n"
        "    return x+1,C.name,C().name",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "super": (
        "reg=[]\n"
        "def f(x):\n"
        "    class A:\n"
        "        def m(self): return 1\n"
        "    class B(A):\n"
        "        def m(self): return super().m()+1\n"
        "    return x+B().m(), B.__mro__[1] is A",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "closure": (
        "reg=[]\n"
        "def f(x):\n"
        "    k=3\n"
        "    class C:\n"
        "        v=k\n"
        "        def g(self): return k, __class__\n"
        "    k=4\n"
        "    return x+C.v, C().g()[0], C().g()[1] is C",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "getattr": (
        "reg=[]\n"
        "def f(x):\n"
        "    class C:\n"
        "        def __getattr__(s,n): return n\n"
        "    return x+1,C().foo, hasattr(C(),'z')",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "annot": (
        "reg=[]\ndef f(x):\n    class C:\n        a:int=1\n        b:'str'\n    return x+C.a, C.__annotations__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "typecall": (
        "reg=[]\n"
        "def f(x):\n"
        "    C=type('C',(),{'a':1,'__doc__':'d'})\n"
        "    return x+C.a,C.__doc__,C.__module__,C.__qualname__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "types.new_class": (
        "reg=[]\ndef f(x):\n    C=types.new_class('C',(),{},lambda ns: ns.update(a=2))\n    return x+C.a",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "nested": (
        "reg=[]\n"
        "def f(x):\n"
        "    class O:\n"
        "        class I:\n"
        "            v=1\n"
        "        w=I.v\n"
        "    return x+O.w, O.I.__qualname__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "call": (
        "reg=[]\n"
        "def f(x):\n"
        "    class M(type):\n"
        "        def __call__(c,*a): return (c.__name__,a)\n"
        "    class C(metaclass=M): pass\n"
        "    return x+1,C(1)",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "descr": (
        "reg=[]\n"
        "def f(x):\n"
        "    class D:\n"
        "        def __get__(s,o,t): return (o is None)\n"
        "        def __set__(s,o,v): o.__dict__['q']=v\n"
        "    class C: d=D()\n"
        "    c=C(); c.d=4\n"
        "    return x+1,c.d,C.d,c.__dict__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "delname": (
        "reg=[]\ndef f(x):\n    class C:\n        a=1\n        b=a+1\n        del a\n    return x+C.b,hasattr(C,'a')",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "mro_entries": (
        "reg=[]\n"
        "def f(x):\n"
        "    class F:\n"
        "        def __mro_entries__(s,b): return (dict,)\n"
        "    class C(F()): pass\n"
        "    return x+1,C.__bases__,C.__orig_bases__[0].__class__.__name__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "class_getitem": (
        "reg=[]\ndef f(x):\n    class C:\n        def __class_getitem__(c,k): return k\n    return x+1,C[3]",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "subclass registry": (
        "reg=[]\n"
        "def f(x):\n"
        "    reg.clear()\n"
        "    class B:\n"
        "        def __init_subclass__(c): reg.append(c.__name__)\n"
        "    class X(B): pass\n"
        "    class Y(X): pass\n"
        "    return x+1,list(reg)",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "exc": (
        "reg=[]\n"
        "def f(x):\n"
        "    class E(ValueError):\n"
        "        def __str__(s): return 'mine'\n"
        "    try: raise E(1)\n"
        "    except ValueError as e: return x+1,str(e),type(e).__name__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "protocol": (
        "reg=[]\n"
        "def f(x):\n"
        "    @typing.runtime_checkable\n"
        "    class P(typing.Protocol):\n"
        "        def m(self): ...\n"
        "    class C:\n"
        "        def m(self): pass\n"
        "    return x+1,isinstance(C(),P),isinstance(3,P)",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "cachedprop": (
        "reg=[]\n"
        "def f(x):\n"
        "    class C:\n"
        "        n=0\n"
        "        @functools.cached_property\n"
        "        def p(self): C.n+=1; return C.n\n"
        "    c=C(); c.p\n"
        "    return x+c.p,c.__dict__",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "total": (
        "reg=[]\n"
        "def f(x):\n"
        "    @functools.total_ordering\n"
        "    class C:\n"
        "        def __init__(s,v): s.v=v\n"
        "        def __eq__(s,o): return s.v==o.v\n"
        "        def __lt__(s,o): return s.v<o.v\n"
        "    return x+1,C(1)>=C(0),C(1)>C(2)",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "module": (
        "reg=[]\n"
        "def f(x):\n"
        "    class C(md.nn.Module):\n"
        "        def __init__(s):\n"
        "            super().__init__(); s.k=2\n"
        "        def forward(s,x): return x*s.k\n"
        "    return C()(x)",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
    "tensorattr": (
        "reg=[]\ndef f(x):\n    class C:\n        t=x*2\n    return C.t+1",
        ["f(ones(1))", "f(ones(1))", "f(ones(2))"],
    ),
}
CODECS = {
    "'a\\udc80'.encode('utf-8','surrogateescape')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return "
        "('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), "
        "lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r='a\\udc80'.encode('utf-8','surrogateescape')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "b'\\xff'.decode('ascii','mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=b'\\xff'.decode('ascii','mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "'\\u0430'.encode('ascii','mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r='\\u0430'.encode('ascii','mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "b'abc'.decode('myc')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=b'abc'.decode('myc')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "'x'.encode('myc')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r='x'.encode('myc')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.lookup('myc').name": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.lookup('myc').name\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.lookup_error('mine').__name__": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.lookup_error('mine').__name__\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "str(b'\\xff','ascii','mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) "
        "or s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=str(b'\\xff','ascii','mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "bytes('\\u0430','ascii','mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=bytes('\\u0430','ascii','mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.getencoder('myc')('q')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) "
        "or s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.getencoder('myc')('q')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.getincrementaldecoder('utf-8')().decode(b'a')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return "
        "('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    "
        "r=codecs.getincrementaldecoder('utf-8')().decode(b'a')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.escape_decode(b'a')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.escape_decode(b'a')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.iterencode(['a'],'utf-8').__class__": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return "
        "('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.iterencode(['a'],'utf-8').__class__\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "b'a'.decode('rot13') if 0 else codecs.encode('abc','rot13')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return "
        "('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=b'a'.decode('rot13') if 0 else "
        "codecs.encode('abc','rot13')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.decode('abc','rot_13')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) "
        "or s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.decode('abc','rot_13')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "io.StringIO('a').read()": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) or "
        "s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=io.StringIO('a').read()\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "io.TextIOWrapper(io.BytesIO(b'\\xff'),encoding='ascii',errors='mine').read()": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); "
        "return "
        "('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return "
        "codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) "
        "or s[::-1].encode(),len(s)), "
        "lambda "
        "b,e='strict':(calls.append(2) "
        "or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    "
        "r=io.TextIOWrapper(io.BytesIO(b'\\xff'),encoding='ascii',errors='mine').read()\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "bytearray('\\u0430','ascii','mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=bytearray('\\u0430','ascii','mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "bytearray(b'\\xff').decode('ascii','mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return "
        "('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=bytearray(b'\\xff').decode('ascii','mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "codecs.charmap_encode('a','mine',{97:98})": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=codecs.charmap_encode('a','mine',{97:98})\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "'a'.encode(encoding='myc',errors='mine')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda "
        "s,e='strict':(calls.append(1) or s[::-1].encode(),len(s)), lambda "
        "b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r='a'.encode(encoding='myc',errors='mine')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
    "int('5'.encode('myc') and '5')": (
        "calls=[]\n"
        "def mine(err):\n"
        "    calls.append(err.start); return ('?'+str(len(calls)),err.end)\n"
        "codecs.register_error('mine',mine)\n"
        "def find(n):\n"
        "    if n=='myc': return codecs.CodecInfo(lambda s,e='strict':(calls.append(1) "
        "or s[::-1].encode(),len(s)), lambda b,e='strict':(calls.append(2) or "
        "bytes(b).decode()[::-1],len(b)),name='myc')\n"
        "codecs.register(find)\n"
        "def f(x):\n"
        "    r=int('5'.encode('myc') and '5')\n"
        "    return x+1, r, list(calls)",
        ["f(ones(1))", "f(ones(1))", "codecs.register_error('mine', lambda e:('!',e.end))", "f(ones(1))"],
    ),
}
TABLES_OF_THE_INTERPRETER = {
    "sys.modules['zz']=types.ModuleType('zz')\n    sys.m": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.modules['zz']=types.ModuleType('zz')\n"
        "    sys.modules['zz'].v=x\n"
        "    import zz\n"
        "    return zz.v+1",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.modules['zz']=None\n    try:\n        import zz\n": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.modules['zz']=None\n"
        "    try:\n"
        "        import zz\n"
        "    except ImportError as e: return x+1,str(e)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.modules['zq']=types.SimpleNamespace(v=3)\n    f": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.modules['zq']=types.SimpleNamespace(v=3)\n"
        "    from zq import v\n"
        "    del sys.modules['zq']\n"
        "    try:\n"
        "        import zq\n"
        "    except ImportError as e: return x+v,str(e)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "builtins.len=lambda v: 42\n    try: return x+len([]": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    builtins.len=lambda v: 42\n"
        "    try: return x+len([])\n"
        "    finally: builtins.len=L",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "old=builtins.__import__\n    builtins.__import__=la": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    old=builtins.__import__\n"
        "    builtins.__import__=lambda *a,**k: 7\n"
        "    try:\n"
        "        import zzz\n"
        "    finally: builtins.__import__=old\n"
        "    return x+zzz",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "old=sys.displayhook\n    sys.displayhook=lambda v: ": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    old=sys.displayhook\n"
        "    sys.displayhook=lambda v: log.append(v)\n"
        "    exec('1+1') or exec(compile('3','s','single'))\n"
        "    sys.displayhook=old\n"
        "    return x+1,list(log)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "class A(abc.ABC): pass\n    A.register(int)\n    ret": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    class A(abc.ABC): pass\n"
        "    A.register(int)\n"
        "    return x+1,isinstance(3,A),issubclass(bool,A)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "copyreg.pickle(Q,lambda q:(int,(5,)))\n    import c": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    copyreg.pickle(Q,lambda q:(int,(5,)))\n"
        "    import copy\n"
        "    r=copy.copy(Q()); copyreg.dispatch_table.pop(Q)\n"
        "    return x+r",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.path.insert(0,'/nonexistent')\n    sys.path.pop": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.path.insert(0,'/nonexistent')\n"
        "    sys.path.pop(0)\n"
        "    return x+1",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.path_hooks.insert(0,hook)\n    sys.path_importe": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.path_hooks.insert(0,hook)\n"
        "    sys.path_importer_cache.clear()\n"
        "    try:\n"
        "        import nope_nope\n"
        "    except ImportError: pass\n"
        "    sys.path_hooks.remove(hook)\n"
        "    return x+1,len(log)>0",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.meta_path.insert(0,Finder)\n    try:\n        im": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.meta_path.insert(0,Finder)\n"
        "    try:\n"
        "        import nope_n\n"
        "    except ImportError: pass\n"
        "    sys.meta_path.remove(Finder)\n"
        "    return x+1,list(log)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "@functools.singledispatch\n    def g(a): return 'o'": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    @functools.singledispatch\n"
        "    def g(a): return 'o'\n"
        "    g.register(int,lambda a:'i')\n"
        "    return x+1,g(3),g('s'),g(True)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.setrecursionlimit(sys.getrecursionlimit())\n   ": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.setrecursionlimit(sys.getrecursionlimit())\n"
        "    return x+1",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "old=sys.stdout\n    sys.stdout=s=io.StringIO()\n    ": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    old=sys.stdout\n"
        "    sys.stdout=s=io.StringIO()\n"
        "    print('hey')\n"
        "    sys.stdout=old\n"
        "    return x+1,s.getvalue()",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "with contextlib.redirect_stdout(io.StringIO()) as ": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as s: "
        "print('q')\n"
        "    return x+1,s.getvalue()",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "old=sys.excepthook\n    sys.excepthook=print\n    r=": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    old=sys.excepthook\n"
        "    sys.excepthook=print\n"
        "    r=sys.excepthook is print\n"
        "    sys.excepthook=old\n"
        "    return x+1,r",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "builtins.NEW=x*2\n    r=NEW+1\n    del builtins.NEW\n": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    builtins.NEW=x*2\n"
        "    r=NEW+1\n"
        "    del builtins.NEW\n"
        "    try: NEW\n"
        "    except NameError as e: return r,str(e)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "globals()['GG']=4\n    return x+GG": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    globals()['GG']=4\n"
        "    return x+GG",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "__builtins__['WW']=3 if isinstance(__builtins__,di": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    __builtins__['WW']=3 if isinstance(__builtins__,dict) "
        "else 0\n"
        "    r=WW\n"
        "    return x+r",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "types.FunctionType(g0.__code__,{'q':5})\n    return": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    types.FunctionType(g0.__code__,{'q':5})\n"
        "    return x+types.FunctionType(g0.__code__,{'q':5})()",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "sys.modules[__name__+'x']=types.ModuleType('a.b')\n": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    sys.modules[__name__+'x']=types.ModuleType('a.b')\n"
        "    return x+len([m for m in sys.modules if m=='mx'])",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "import collections.abc as cabc\n    cabc.Sized.regi": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    import collections.abc as cabc\n"
        "    cabc.Sized.register(Q)\n"
        "    return x+1,isinstance(Q(),cabc.Sized)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "os=importlib.import_module('os.path')\n    return x": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    os=importlib.import_module('os.path')\n"
        "    return x+1,os.basename('a/b')",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "import logging as lg\n    l=lg.getLogger('zzq'); l.": (
        "L=len\n"
        "log=[]\n"
        "class Q: pass\n"
        "def hook(p): log.append(p); raise ImportError\n"
        "class Finder:\n"
        "    @staticmethod\n"
        "    def find_spec(n,p=None,t=None): log.append(n)\n"
        "g0=lambda: q\n"
        "sys.modules.pop('zz',None)\n"
        "def f(x):\n"
        "    import logging as lg\n"
        "    l=lg.getLogger('zzq'); l.setLevel(10)\n"
        "    r=l.isEnabledFor(5),l.isEnabledFor(20)\n"
        "    l.setLevel(50)\n"
        "    return x+1,r,l.isEnabledFor(20),dict(l._cache)",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
}
READ_ONLY_MEMBERS = {
    "memberro": (
        "class A(io.BytesIO): pass\n"
        "def f(x):\n"
        "    a=A()\n"
        "    r=[]\n"
        "    for n,v in (('closed',1),('zz',2),('__dict__',{}),('__class__',int),('__weakref__',1)):\n"
        "        try: setattr(a,n,v); r.append('ok')\n"
        "        except (AttributeError,TypeError) as e: r.append((type(e).__name__,str(e)))\n"
        "    return x+1,r",
        ["f(ones(1))", "f(ones(1))"],
    ),
    "memberro2": (
        "def f(x):\n"
        "    r=[]\n"
        "    for o,n,v in "
        "((functools.partial(max),'func',1),((lambda:0),'__closure__',1),((lambda:0),'__code__',1),(slice(1),'start',2),(range(3),'stop',2),(ValueError(),'args',3),(ValueError(),'__cause__',3),(ValueError(),'__traceback__',3),(type('Q',(),{}),'__mro__',()),(type('Q',(),{}),'__bases__',3),(types.ModuleType('m'),'__dict__',{}),(collections.deque(),'maxlen',2),(property(),'fget',2),(staticmethod(max),'__func__',2),(3,'real',1),('a','x',1),(object(),'x',1),(Exception,'x',1),(len,'__doc__',1)):\n"
        "        try: setattr(o,n,v); r.append('ok')\n"
        "        except (AttributeError,TypeError) as e: r.append((type(e).__name__,str(e)))\n"
        "        try: delattr(o,n); r.append('ok')\n"
        "        except (AttributeError,TypeError) as e: r.append((type(e).__name__,str(e)))\n"
        "    return x+1,r",
        ["f(ones(1))", "f(ones(1))"],
    ),
}
CLASSES_IN_REGISTRIES = {
    "sd class inside": (
        "def f(x):\n"
        "    class C: pass\n"
        "    @functools.singledispatch\n"
        "    def g(a): return 0\n"
        "    @g.register(C)\n"
        "    def _(a): return 1\n"
        "    return x+g(C())+g(2)",
        ["f(ones(1))", "f(ones(1))"],
    ),
    "sdmethod": (
        "def f(x):\n"
        "    class B: pass\n"
        "    class C:\n"
        "        @functools.singledispatchmethod\n"
        "        def m(self,a): return 0\n"
        "        @m.register\n"
        "        def _(self,a:int): return 1\n"
        "        @m.register(B)\n"
        "        def _(self,a): return 2\n"
        "    return x+C().m(3)*10+C().m('s')+C().m(B())",
        ["f(ones(1))", "f(ones(1))"],
    ),
    "outer sd": (
        "@functools.singledispatch\n"
        "def g(a): return 0\n"
        "def f(x):\n"
        "    class C: pass\n"
        "    g.register(C,lambda a:1)\n"
        "    r=g(C()), len(g.registry)>1, g.dispatch(C)(C())\n"
        "    return x+1,r",
        ["f(ones(1))", "f(ones(1))", "f(ones(1))"],
    ),
    "weakset of class": (
        "ws=weakref.WeakSet()\ndef f(x):\n    class C: pass\n    ws.add(C)\n    return x+1, C in ws, len(ws)",
        ["f(ones(1))[1]", "f(ones(1))[1]"],
    ),
    "weakkey of class": (
        "wk=weakref.WeakKeyDictionary()\ndef f(x):\n    class C: pass\n    wk[C]=x\n    return wk[C]+1, C in wk",
        ["f(ones(1))", "f(ones(1))"],
    ),
    "cache on class": (
        "@functools.lru_cache\n"
        "def g(c): return c.__name__\n"
        "def f(x):\n"
        "    class C: pass\n"
        "    return x+1,g(C),g(C),g.cache_info().hits",
        ["f(ones(1))", "f(ones(1))", "g.cache_clear()", "f(ones(1))"],
    ),
}
LOGGING = {
    "logging": (
        "l=logging.getLogger('nb')\n"
        "l.propagate=False\n"
        "rec=[]\n"
        "class H(logging.Handler):\n"
        "    def emit(self,r): rec.append((r.getMessage(),r.levelno,r.funcName,r.lineno,r.name))\n"
        "l.addHandler(H())\n"
        "def f(x):\n"
        "    l.setLevel(20)\n"
        "    l.debug('a %s',1); l.info('b %s',2); l.warning('c')\n"
        "    try: 1/0\n"
        "    except ZeroDivisionError: l.exception('ex')\n"
        "    logging.disable(30)\n"
        "    l.info('no'); l.error('yes',extra={'q':1},stacklevel=1)\n"
        "    logging.disable(0)\n"
        "    return x+1,list(rec),dict(l._cache),l.getEffectiveLevel(),l.hasHandlers()",
        ["f(ones(1))", "f(ones(1))", "l.setLevel(50)", "f(ones(1))"],
    ),
    "logging adapter": (
        "l=logging.getLogger('nb2')\n"
        "l.propagate=False\n"
        "rec=[]\n"
        "class H(logging.Handler):\n"
        "    def emit(self,r): rec.append(r.getMessage())\n"
        "l.addHandler(H())\n"
        "def f(x):\n"
        "    a=logging.LoggerAdapter(l,{'k':1})\n"
        "    a.warning('q')\n"
        "    c=l.getChild('z'); c.error('up %d',3)\n"
        "    l.addFilter(lambda r: 'no' not in r.msg)\n"
        "    l.error('no'); l.error('ok')\n"
        "    l.filters.clear()\n"
        "    logging.getLogger('nb2.z').setLevel(50)\n"
        "    c.error('gone')\n"
        "    c.setLevel(0)\n"
        "    return x+1,list(rec)",
        ["f(ones(1))", "f(ones(1))"],
    ),
}
PREDICATES = {
    "isinstance bases": (
        "class A: pass\n"
        "class B: pass\n"
        "class C(A): pass\n"
        "c=C()\n"
        "def f(x): return x+1,isinstance(c,B),issubclass(C,(A,)),C.mro()[1].__name__",
        ["f(ones(1))", "C.__bases__=(B,)", "f(ones(1))", "c.__class__=A", "f(ones(1))"],
    ),
    "callable": (
        "class A: pass\na=A()\ndef f(x): return x+1,callable(a),hasattr(a,'__call__'),hasattr(type(a),'__call__')",
        [
            "f(ones(1))",
            "A.__call__=lambda s:1",
            "f(ones(1))",
            "del A.__call__",
            "f(ones(1))",
            "a.__call__=3",
            "f(ones(1))",
        ],
    ),
    "abcs": (
        "import collections.abc as c\n"
        "class A: pass\n"
        "a=A()\n"
        "def f(x): return "
        "x+1,isinstance(a,c.Iterable),isinstance(a,c.Hashable),isinstance(a,c.Callable),isinstance(a,c.Sized),isinstance(a,c.Container)",
        ["f(ones(1))", "A.__iter__=lambda s:iter(())", "f(ones(1))"],
    ),
    "abcs2": (
        "import collections.abc as c\n"
        "class A: pass\n"
        "a=A()\n"
        "def f(x): return x+1,isinstance(a,c.Sized),issubclass(A,c.Hashable),isinstance(a,c.Sequence)",
        ["f(ones(1))", "c.Sequence.register(A)", "f(ones(1))", "A.__hash__=None", "f(ones(1))"],
    ),
    "instancecheck": (
        "class M(type):\n"
        "    ok=False\n"
        "    def __instancecheck__(c,o): return M.ok\n"
        "class A(metaclass=M): pass\n"
        "def f(x): return x+1,isinstance(3,A)",
        ["f(ones(1))", "M.ok=True", "f(ones(1))", "M.__instancecheck__=lambda c,o: o==4", "f(ones(1))"],
    ),
    "match class": (
        "class A:\n"
        "    __match_args__=('a','b')\n"
        "a=A()\n"
        "a.a=1;a.b=2\n"
        "def f(x):\n"
        "    match a:\n"
        "        case A(1,b): return x+b\n"
        "        case A(a=q): return x*q\n"
        "    return x",
        ["f(ones(1))", "a.a=5", "f(ones(1))", "A.__match_args__=('b','a')", "a.b=1", "f(ones(1))"],
    ),
    "match seq": (
        "class A: pass\n"
        "a=A()\n"
        "import collections.abc\n"
        "def f(x):\n"
        "    match a:\n"
        "        case [*_]: return x+1\n"
        "        case {}: return x+2\n"
        "        case _: return x+3",
        [
            "f(ones(1))",
            "A=type('A',(list,),{})",
            "a=A()",
            "f(ones(1))",
            "a={}",
            "f(ones(1))",
            "a=collections.deque()",
            "f(ones(1))",
        ],
    ),
    "truth": (
        "class A: pass\na=A()\ndef f(x): return x+1 if a else x+2",
        [
            "f(ones(1))",
            "A.__len__=lambda s:0",
            "f(ones(1))",
            "A.__bool__=lambda s:True",
            "f(ones(1))",
            "del A.__bool__, A.__len__",
            "f(ones(1))",
        ],
    ),
    "dunder later": (
        "class A: pass\n"
        "a=A()\n"
        "def f(x):\n"
        "    r=[]\n"
        "    for g in "
        "(lambda:a+1,lambda:1+a,lambda:a[0],lambda:len(a),lambda:-a,lambda:a==1,lambda:a<1,lambda:list(a),lambda:1 "
        "in a,lambda:int(a),lambda:hash(a)==5,lambda:format(a,'q'),lambda:a()):\n"
        "        try: r.append(g())\n"
        "        except TypeError as e: r.append('TE')\n"
        "        except ValueError: r.append('VE')\n"
        "    return x+1,r",
        [
            "f(ones(1))",
            "A.__add__=A.__radd__=lambda s,o:5",
            "f(ones(1))",
            "A.__getitem__=lambda s,i: [7,8][i]",
            "f(ones(1))",
            "A.__len__=lambda s:3;A.__neg__=lambda s:1;A.__eq__=lambda s,o:True;A.__hash__=lambda s:5",
            "f(ones(1))",
            "A.__lt__=lambda s,o:1;A.__int__=lambda s:4;A.__format__=lambda s,q:q;A.__call__=lambda "
            "s:8;A.__contains__=lambda s,o:False",
            "f(ones(1))",
            "A.__iter__=lambda s:iter([1])",
            "f(ones(1))",
            "del A.__getitem__,A.__add__,A.__call__",
            "f(ones(1))",
        ],
    ),
    "type identity": (
        "class A: pass\na=A()\ndef f(x): return x+1,type(a) is A,a.__class__.__name__,type(a).__name__",
        [
            "f(ones(1))",
            "A.__name__='Z'",
            "f(ones(1))",
            "A.__class__=type",
            "A.__module__='mm'",
            "f(ones(1))",
            "A.__qualname__='q.r'",
            "f(ones(1))",
        ],
    ),
    "hints": (
        "def g(a:int)->str: ...\ndef f(x): return x+1,typing.get_type_hints(g),g.__annotations__",
        ["f(ones(1))", "g.__annotations__['a']=str", "f(ones(1))", "g.__annotations__={}", "f(ones(1))"],
    ),
}
ARRAYS = {
    "mixed foreign": (
        "import numpy as np\n"
        "a=np.ones(2,dtype='float32')\n"
        "def f(x):\n"
        "    r=[]\n"
        "    for g in "
        "(lambda:x+a,lambda:a+x,lambda:x@a,lambda:x==a,lambda:md.add(x,a),lambda:x[a.astype('int64')],lambda:md.where(a>0,x,x),lambda:md.cat([x,a]),lambda:x.copy_(a),lambda:md.tensor(a),lambda:md.as_tensor(a),lambda:x*np.float32(2),lambda:np.float64(2)*x,lambda:x.sum()+np.int64(1),lambda:md.stack([x,a]),lambda:x.add_(a),lambda:x.__setitem__(0,a[0]),lambda:x[np.int64(0)],lambda:md.full((2,),np.float32(3)),lambda:md.zeros(np.int64(2)),lambda:x.reshape(np.int64(2))):\n"
        "        try: v=g(); r.append(v)\n"
        "        except Exception as e: r.append((type(e).__name__,str(e)))\n"
        "    return r",
        ["f(ones(2))", "f(ones(2))"],
    )
}
# y is created with a dynamic number n, after a break; then there is a branch on its size.
MAKERS = [
    "md.arange(n)",
    "md.zeros(n,2)",
    "x[:n]",
    "x.repeat(n)",
    "x.expand(n,8)[:,0]",
    "md.cat([x]*n)",
    "x.new_ones(n)",
    "md.full((n,),2.0)",
    "x.narrow(0,0,n)",
    "md.linspace(0,1,n)",
    "md.eye(n)",
    "md.randn(n)*0",
    "x[n:]",
    "x.unfold(0,n,1)",
    "md.nn.functional.pad(x,(0,n))",
    "md.stack([x]*n)",
    "x.split(n)[0]",
    "x.chunk(n)[0]",
    "md.tensor([1.0]*n)",
    "md.ones(n)",
]
DECISIONS = [
    "len(y)>4",
    "y.shape[0]%2==0",
    "y.numel()>6",
    "y.size(0)==5",
    "bool(y.shape[0]-3)",
    "[1,2,3,4,5,6,7][len(y)-1:len(y)]",
    "range(len(y))[-1]",
    "min(len(y),4)",
    "y.shape[0] in (2,3)",
    "divmod(y.shape[0],3)",
    "str(y.shape)",
    "y.is_contiguous()",
    "y.stride()",
    "'%d'%y.shape[0]",
    "hash(y.shape[0])",
    "{y.shape[0]:1}",
    "y.shape[-1]//2>1",
    "list(y.shape)",
    "sorted([4,y.shape[0]])",
    "-y.shape[0]<-3",
    "y.ndim*y.shape[0]",
    "y.shape[0].bit_length()",
    "float(y.shape[0])>2.5",
    "1 if y.shape[0] else 0",
    "y.shape==(3,)",
    "y.numel()==y.shape[0]",
]
KINDS = {
    "attributes": ATTRIBUTES,
    "compiled functions": COMPILED_FUNCTIONS,
    "classes made inside": CLASSES,
    "codecs": CODECS,
    "tables of the interpreter": TABLES_OF_THE_INTERPRETER,
    "read-only members": READ_ONLY_MEMBERS,
    "classes in registries": CLASSES_IN_REGISTRIES,
    "logging": LOGGING,
    "predicates": PREDICATES,
    "arrays": ARRAYS,
}


def shown(value):
    if isinstance(value, minidynamo.Tensor):
        return value.tolist(), str(value.dtype), value.stride(), value.requires_grad
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(each) for each in value]
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    return repr(value)


def is_expression(step):
    try:
        compile(step, "step", "eval")
    except SyntaxError:
        return False
    return True


def outcome(setup, steps, compiles):
    names = {"__name__": "program"}
    try:
        return outcome_in(names, setup, steps, compiles)
    finally:
        # A codec that a program has registered would serve the next one, too.
        codecs.unregister(names.get("find"))


def outcome_in(names, setup, steps, compiles):
    seen = []
    exec(PRELUDE + setup, names)
    if compiles:
        names["f"] = minidynamo.compile(names["f"])
    for step in steps:
        try:
            if is_expression(step):
                seen.append(shown(eval(step, names)))
            else:
                exec(step, names)
                seen.append(shown(names.pop("out", None)))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return re.sub("0x[0-9a-f]+", "", repr(seen))


def check(setup, steps):
    wanted = outcome(setup, steps, False)
    assert outcome(setup, steps, True) == wanted, setup


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    minidynamo._dynamo.reset()


ROWS = [(kind, name) for kind, rows in KINDS.items() for name in rows]


@pytest.mark.parametrize(("kind", "name"), ROWS, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(ROWS)])
def test_each_step_is_as_in_eager_python(kind, name):
    if kind == "arrays":
        pytest.importorskip("numpy")
    check(*KINDS[kind][name])


@pytest.mark.parametrize("maker", MAKERS)
def test_branches_on_sizes_after_a_break(maker):
    for decision in DECISIONS:
        setup = f"""
x = md.arange(8.0)
def f(n):
    md._dynamo.graph_break()
    y = {maker}
    return y.shape[0] + 0, {decision}
"""
        check(setup, [f"f({n})" for n in (5, 3, 6, 2, 4, 1)])
        minidynamo._dynamo.reset()
