"""Objects die where they are dropped: containers times operations times ways to observe it, plain and compiled, in the same order.

Each death is written to LOG with the length that the container has at that moment.
"""

import re

import pytest

import minidynamo
from minidynamo import ones
from minidynamo._dynamo import graph_break

PRELUDE = """
import collections, weakref, types, operator, heapq, functools
class Node:
    def __init__(self, n): self.n=n
    def __repr__(self): return f"N{self.n}"
    def __hash__(self): return HASH(self)
    def __eq__(self, other): return self is other
class Dying(Node):
    def __del__(self): LOG.append(("del", self.n, size()))
class Box: pass
class Slot:
    __slots__=("a","b")
CON=[None]
def size():
    c=CON[0]
    try: return len(c)
    except TypeError: return sorted(k for k in vars(c)) if hasattr(c,"__dict__") else None

class Items(list): pass
def box(a,b):
    o=Box(); o.a=a; o.b=b; return o
def slot(a,b):
    o=Slot(); o.a=a; o.b=b; return o
"""
# `mk` creates an object whose death is observed.
WAYS = {
    "del": ("mk=Dying",),
    "weakref": (
        "refs=[]",
        "def mk(n):\n"
        "        o=Node(n); refs.append(weakref.ref(o, lambda r, n=n: LOG.append(('cb',n,size())))); "
        "return o",
    ),
    "finalize": (
        "def mk(n):\n        o=Node(n); weakref.finalize(o, lambda n=n: LOG.append(('fin',n,size()))); return o",
    ),
}
CONTAINERS = {
    "list": "[mk(1),mk(2),mk(3)]",
    "set": "{mk(1),mk(2)}",
    "set1": "{mk(1)}",
    "dict": "{'a':mk(1),'b':mk(2),'c':mk(3)}",
    "dictkey": "{mk(1):'a',mk(2):'b'}",
    "deque": "collections.deque([mk(1),mk(2),mk(3)])",
    "bdeque": "collections.deque([mk(1),mk(2),mk(3)],3)",
    "odict": "collections.OrderedDict(a=mk(1),b=mk(2),c=mk(3))",
    "ddict": "collections.defaultdict(lambda: mk(9), a=mk(1),b=mk(2))",
    "obj": "box(mk(1),mk(2))",
    "slot": "slot(mk(1),mk(2))",
    "nested": "[[mk(1)],[mk(2),mk(3)]]",
    "ns": "types.SimpleNamespace(a=mk(1),b=mk(2))",
    "weakval": "weakref.WeakValueDictionary()",
    "counter": "collections.Counter({mk(1):1})",
    "userlist": "collections.UserList([mk(1),mk(2)])",
    "lists": "Items([mk(1),mk(2),mk(3)])",
}
# c is the container.
SEQUENCE = [
    "c.pop()",
    "c.pop(0)",
    "c.clear()",
    "del c[0]",
    "del c[1:]",
    "c[0]=7",
    "c[:]=[]",
    "c[1:2]=[5,6]",
    "c[0]=c[1]",
    "c.remove(c[1])",
    "c.insert(0,mk(4)); c.pop(0)",
    "c*=0",
    "c.sort(key=lambda o:-o.n); c.pop()",
    "c.reverse(); c.pop()",
    "x1=c.pop(); LOG.append('got'); del x1; LOG.append('gone')",
    "x1=c.pop(); LOG.append('got'); x1=None; LOG.append('gone')",
    "for o in list(c): c.remove(o)",
    "while c: c.pop()",
    "c=None",
    "c=c[:1]",
    "c+=[mk(5)]; del c[-1]",
    "a,*b=c; c.clear(); LOG.append('b'); del b; LOG.append('a'); a=0",
    "c[:]=[o for o in c if o.n!=2]",
    "c[::2]=[0,0]",
    "del c[::2]",
    "c.append(c.pop(0)); c.pop()",
    "c.extend([mk(6)]); c.pop()",
    "c.pop().n",
    "LOG.append(c.pop().n)",
    "(c.pop(), LOG.append('in tuple'))",
    "[c.pop()]; LOG.append('x')",
    "id(c.pop())",
    "str(c.pop())",
    "f'{c.pop()}'",
    "c.index(c[0]); c.__delitem__(0)",
    "operator.delitem(c,0)",
    "list.pop(c)",
    "c.__setitem__(0,5)",
    "c[0],c[1]=1,2",
    "del c[0],c[0]",
    "del c[:]",
    "heapq.heappop(c)",
]
MAPPING = [
    "c.pop('a')",
    "c.clear()",
    "del c['a']",
    "c['a']=7",
    "c.popitem()",
    "c.update(a=1,b=2)",
    "c|={'a':4}",
    "c.pop('z',None)",
    "x1=c.pop('a'); LOG.append('g'); del x1",
    "c=None",
    "c.setdefault('a',mk(4))",
    "c.setdefault('q',mk(4)); del c['q']",
    "for k in list(c): del c[k]",
    "c['a']=c['b']",
    "c={k:v for k,v in c.items() if k!='a'}",
    "LOG.append(c.pop('a').n)",
    "c.__delitem__('a')",
    "c['a'],c['b']=1,2",
    "c.update([('a',1),('b',2)])",
    "c=dict(c); c.clear()",
    "v=c.values(); c.clear(); LOG.append(len(v))",
    "it=iter(c.values()); next(it); del c['a'] ; LOG.append('k')",
    "c.pop('a',c.pop('b'))",
]
SET = [
    "c.pop()",
    "c.clear()",
    "c.discard(next(iter(c)))",
    "c.remove(next(iter(c)))",
    "c-=set(c)",
    "c&=set()",
    "c.difference_update(list(c))",
    "c.intersection_update(())",
    "c^=set(c)",
    "c.symmetric_difference_update(set(c))",
    "x1=c.pop(); LOG.append('g'); x1=0",
    "c=None",
    "while c: c.pop()",
    "o=mk(5); c.add(o); c.discard(o); LOG.append('o'); del o",
    "c=c|set(); c.clear()",
    "LOG.append(c.pop().n)",
    "c.update([mk(7)]); c.clear()",
    "c=frozenset(c); c=0",
]
KEYED = [
    "c.clear()",
    "c.popitem()",
    "del c[next(iter(c))]",
    "c.pop(next(iter(c)))",
    "c=None",
    "k=next(iter(c)); del c[k]; LOG.append('d'); del k",
    "for k in list(c): del c[k]",
]
OBJECT = [
    "del c.a",
    "c.a=5",
    "delattr(c,'a')",
    "setattr(c,'a',5)",
    "c.a=c.b",
    "c=None",
    "c.a,c.b=1,2",
    "x1=c.a; del c.a; LOG.append('d'); del x1",
    "c.a=mk(4)",
    "del c.a, c.b",
    "object.__delattr__(c,'a')",
    "LOG.append(c.a.n); c.a=0",
    "c.__setattr__('a',4)",
]
OBJECT_WITH_DICT = [
    "vars(c).clear()",
    "c.__dict__.pop('a')",
    "c.__dict__={}",
    "vars(c)['a']=5",
    "del vars(c)['a']",
    "c.__dict__.update(a=1)",
]
DEQUE = [
    "c.pop()",
    "c.popleft()",
    "c.clear()",
    "del c[0]",
    "c[0]=7",
    "c.remove(c[1])",
    "c.rotate(1); c.pop()",
    "c*=0",
    "while c: c.pop()",
    "c.appendleft(mk(4)); c.popleft()",
    "c=None",
    "x1=c.popleft(); LOG.append('g'); del x1",
    "c.insert(1,mk(5)); del c[1]",
    "c.extend([1,2]); c.clear()",
    "c.reverse(); c.pop()",
]
FULL_DEQUE = ["c.append(1)", "c.appendleft(1)", "c.extend([1,2])", "c.extendleft([1,2])", "c+=[1]", "c.append(mk(4))"]
NESTED = [
    "c.pop()",
    "c.clear()",
    "c[0].clear()",
    "c[0][0]=1",
    "del c[1][0]",
    "c[1].pop()",
    "c[0]=c[1]",
    "c[1][:]=[]",
    "c[0],c[1]=c[1],c[0]; c.pop()",
]
WEAK_VALUES = [
    "o=mk(1); c['a']=o; del o; LOG.append(len(c))",
    "o=mk(1); c['a']=o; o=None; LOG.append(list(c))",
    "c['a']=mk(1); LOG.append(len(c))",
]
USER_LIST = ["c.pop()", "c.clear()", "del c[0]", "c[0]=1", "c.data=[]"]
OPERATIONS = {
    "list": SEQUENCE,
    "lists": SEQUENCE,
    "deque": DEQUE,
    "bdeque": FULL_DEQUE,
    "set": SET,
    "set1": SET,
    "dict": MAPPING,
    "odict": [*MAPPING, "c.popitem(last=False)", "c.move_to_end('a'); c.popitem()"],
    "ddict": [*MAPPING, "c['n']; del c['n']", "c['n']; c.clear()"],
    "dictkey": KEYED,
    "counter": [*KEYED, "c.subtract(c)", "c+=c", "c=+c"],
    "obj": [*OBJECT, *OBJECT_WITH_DICT],
    "ns": [*OBJECT, *OBJECT_WITH_DICT],
    "slot": OBJECT,
    "nested": NESTED,
    "weakval": WEAK_VALUES,
    "userlist": USER_LIST,
}
SITUATIONS = {
    "made": ("c={c}", "CON[0]=c if not isinstance(c,(int,)) else 0", "{op}", "LOG.append('after')", "y=x+1"),
    "passed": ("c=C[0]", "y=x+1", "{op}", "LOG.append('after')"),
    "ops": ("c={c}", "y=x+1", "z=y*2", "{op}", "LOG.append('after')", "y=z+1"),
}


def program(way, container, operation, situation):
    maker = "\n".join("    " + line for line in WAYS[way])
    lines = [line.format(c=CONTAINERS[container], op=operation) for line in SITUATIONS[situation]]
    body = "\n".join("    " + line for line in (*WAYS[way], *lines))
    return f"""{PRELUDE}
def make():
{maker}
    return {CONTAINERS[container]}, locals()

def f(x, C):
{body}
    LOG.append('end')
    return y
"""


def outcome(source, compiles, given):
    log, seen = [], []
    # Numbers, since the order of a set of them is the same in each run.
    names = {"LOG": log, "BREAK": graph_break if compiles else int, "HASH": lambda node: node.n}
    exec(source, names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    for _ in range(3):
        made = names["make"]() if given else (None, None)
        held, made = [made[0]], made[1]
        try:
            log.append(function(ones(2), held).tolist())
        except Exception as error:
            log.append((type(error).__name__, str(error)))
        log.append("returned")
        held = None
        names["CON"][0] = None
        made = None
        seen.append(re.sub("0x[0-9a-f]+", "", repr(log)))
        log.clear()
    return seen


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_objects_die_where_they_are_dropped(container, way):
    for operation in OPERATIONS[container]:
        for situation in SITUATIONS:
            source = program(way, container, operation, situation)
            wanted = outcome(source, False, situation == "passed")
            assert outcome(source, True, situation == "passed") == wanted, (operation, situation, source)
            minidynamo._dynamo.reset()
