"""Guard programs: for every kind of guard a change that must fail and one that must pass, for every source the
object it fetches."""

import abc
import builtins
import contextvars
import functools
import gc
import io
import math
import os
import random
import sys
import types
import typing
import weakref

import numpy
import pytest

import minidynamo
from minidynamo import _C

testing = _C._testing


def make_program(function=lambda x, y: None):
    return testing.GuardProgram(function)


def sealed(add, function=None):
    """A program whose only guards are those that `add(program, source of x)` adds."""
    program = make_program(function) if function is not None else make_program()
    add(program, program.local("x"))
    program.seal()
    return program


class Point:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def method(self):
        return self


class Slotted:
    __slots__ = ("a", "b")


class HostileKey:
    """Its __eq__ is Python code, and its hash is 7."""

    def __hash__(self):
        return 7

    def __eq__(self, other):
        raise AssertionError("Python code ran in a guard")


def function_with_defaults(a, b=3, *, c="c"):
    return a


def other_function(a):
    return a


def make_closure(captured):
    def inner():
        return captured

    return inner


GLOBAL_NUMBER = 41
NAN = math.nan
OTHER_NAN = -math.nan


class StreamWithWrite(io.StringIO):
    def write(self, text):
        return super().write(text)


class KeptStream(io.TextIOWrapper):
    """As pytest creates them: a subclass that overrides no method for writing."""


class RawStream(io.RawIOBase):
    def writable(self):
        return True


def with_own_write():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream.write = print
    return stream


PLAIN_STREAMS = [
    io.StringIO(),
    io.TextIOWrapper(io.BytesIO(), encoding="utf-8"),
    KeptStream(io.BytesIO(), encoding="ascii"),
    open(os.devnull, "w", encoding="latin-1"),
]
OTHER_STREAMS = [
    StreamWithWrite(),
    with_own_write(),
    io.TextIOWrapper(io.BufferedWriter(RawStream()), encoding="utf-8"),
    io.TextIOWrapper(io.BytesIO(), encoding="cp1252"),
    io.BytesIO(),
    sys,
    None,
]


def without(items, item):
    items.discard(item)
    return items


# kind: (text of the line in print(), add(program, source), objects that pass, objects that fail)
MATCHES = [
    ("TYPE_MATCH", "type(L['x']) is int", lambda p, s: p.type_match(s, int), [1, 2**70], [True, 1.0, None, "1"]),
    ("TYPE_MATCH", "type(L['x']) is Point", lambda p, s: p.type_match(s, Point), [Point(), Point(a=1)], [Point, 1]),
    ("EQUALS_MATCH", "L['x'] == 3", lambda p, s: p.equals_match(s, 3), [3], [4, 3.0, "3", None]),
    ("EQUALS_MATCH", "L['x'] == 1", lambda p, s: p.equals_match(s, 1), [1], [True, 1.0, 1 + 0j]),
    ("EQUALS_MATCH", "L['x'] == 1180591620717411303424", lambda p, s: p.equals_match(s, 2**70), [2**70], [2**71, -(2**70)]),
    ("EQUALS_MATCH", "L['x'] == 0.0", lambda p, s: p.equals_match(s, 0.0), [0.0], [-0.0, 0, False]),
    ("EQUALS_MATCH", "L['x'] == nan", lambda p, s: p.equals_match(s, NAN), [NAN, float("nan")], [OTHER_NAN, 0.0]),
    ("EQUALS_MATCH", "L['x'] == 2j", lambda p, s: p.equals_match(s, 2j), [2j], [-2j, complex(-0.0, 2), 2]),
    ("EQUALS_MATCH", "L['x'] == 'ab'", lambda p, s: p.equals_match(s, "ab"), ["".join("ab")], ["ac", "abc", b"ab", "äb"]),
    ("EQUALS_MATCH", "L['x'] == b'ab'", lambda p, s: p.equals_match(s, b"ab"), [bytes([97, 98])], [b"ac", "ab"]),
    ("EQUALS_MATCH", "L['x'] is None", lambda p, s: p.equals_match(s, None), [None], [False, 0, Ellipsis]),
    ("EQUALS_MATCH", "L['x'] == True", lambda p, s: p.equals_match(s, True), [True], [False, 1]),
    ("EQUALS_MATCH", "L['x'] is Ellipsis", lambda p, s: p.equals_match(s, ...), [...], [None]),
    ("EQUALS_MATCH", "L['x'] == (1, ('a', 2.0))", lambda p, s: p.equals_match(s, (1, ("a", 2.0))), [(1, ("a", 2.0))],
     [(1, ("a", 2)), (True, ("a", 2.0)), (1, ("a", 2.0), 3), [1, ("a", 2.0)]]),
    ("EQUALS_MATCH", "L['x'] == range(0, 6, 2)", lambda p, s: p.equals_match(s, range(0, 6, 2)), [range(0, 6, 2)],
     [range(0, 5, 2), range(6), [0, 2, 4]]),
    ("EQUALS_MATCH", "L['x'] == slice(1, None, 2)", lambda p, s: p.equals_match(s, slice(1, None, 2)),
     [slice(1, None, 2)], [slice(1, None, 2.0), slice(1, None, None)]),
    ("ID_MATCH", "L['x'] is <function other_function>", lambda p, s: p.id_match(s, other_function), [other_function],
     [function_with_defaults, None]),
    ("ID_MATCH", "L['x'] is Point", lambda p, s: p.id_match(s, Point), [Point], [Slotted, Point()]),
    ("ID_MATCH", "L['x'] is <module 'math'>", lambda p, s: p.id_match(s, math), [math], [sys]),
    ("ID_MATCH", "L['x'] is <built-in function len>", lambda p, s: p.id_match(s, len), [len], [abs]),
    ("ID_MATCH", "L['x'] is <method_descriptor object>", lambda p, s: p.id_match(s, list.append), [list.append],
     [list.pop]),
    ("CODE_MATCH", "L['x'].__code__ is <code make_closure.<locals>.inner at ",
     lambda p, s: p.code_match(s, make_closure(1).__code__), [make_closure(1), make_closure(2)],
     [other_function, make_closure(1).__code__, None]),
    ("SLOT_MATCH", "L['x'] is the slot at 16", lambda p, s: p.slot_match(s, Slotted.__dict__["a"]),
     [Slotted.__dict__["a"]], [Slotted.__dict__["b"], Point.method, property(), None]),
    ("LENGTH", "len(L['x']) == 2", lambda p, s: p.length(s, 2), [[1, 2], (1, 2), {1: 1, 2: 2}, {1, 2}, frozenset("ab")],
     [[1], [1, 2, 3], "ab", {}, 2, None]),
    ("DICT_KEYS", "list(L['x']) == ['a', 1]", lambda p, s: p.dict_keys(s, ("a", 1)), [{"a": 0, 1: 0}],
     [{1: 0, "a": 0}, {"a": 0}, {"a": 0, 1: 0, 2: 0}, {"a": 0, True: 0}, ["a", 1], {"a": 0, HostileKey(): 0}]),
    ("DICT_KEYS", "list(L['x']) == [Point]", lambda p, s: p.dict_keys(s, (Point,)), [{Point: 0}], [{Slotted: 0}, {None: 0}]),
    ("SET_ITEMS", "list(L['x']) == ['a']", lambda p, s: p.set_items(s, ("a",)), [{"a"}, frozenset("a")],
     [{"a", "b"}, set(), {"b"}, ["a"], frozenset("b"), {HostileKey()}, None]),
    ("SET_ITEMS", "list(L['x']) == [Point]", lambda p, s: p.set_items(s, (Point,)), [{Point}], [{Slotted}]),
    # Elements at the same places of tables of the same size.
    ("SET_TABLE", "the table of L['x'] has the fingerprint ", lambda p, s: p.set_table(s, {1, 2}),
     [{1, 2}, {2, 1}, {9, 2}, frozenset((1, 2))], [{1}, {1, 3}, set(), {1, 2, *range(8, 20)}, [1, 2], {1: 1, 2: 2}, None]),
    ("SET_TABLE", "the table of L['x'] has the fingerprint 0", lambda p, s: p.set_table(s, without({1, 2, 3}, 3)),
     [without({1, 2, 3}, 3), without({1, 2, 4}, 4)], [{1, 2}, set()]),
    ("NUMBER", "(L['x'] % 3) == 1", lambda p, s: p.number(s, 3, 1), [1, 4, -2, 2**70],
     [2, 0, 1.0, 1.5, 2**70 + 1, "1", None, 1j]),
    ("NUMBER", "(L['x'] % 0.5) == 0.25", lambda p, s: p.number(s, 0.5, 0.25), [0.75, -0.25], [0.5, 1, NAN, float("inf")]),
    ("NUMBER", "(L['x'] % 0) == 0", lambda p, s: p.number(s, 0, 0), [], [0, 1, 1.5, True, None]),
    ("TEXT_STREAM", "L['x'] is a plain text stream", lambda p, s: p.text_stream(s), PLAIN_STREAMS, OTHER_STREAMS),
    ("DICT_CONTAINS", "'a' in L['x']", lambda p, s: p.dict_contains(s, "a"), [{"a": 0}, {1: 0, "a": 0}],
     [{}, {"b": 0}, {1: 0}, ["a"]]),
    ("DICT_CONTAINS", "7 in L['x']", lambda p, s: p.dict_contains(s, 7), [{7: 0}, {7.0: 0}, {8: 1, 7: 0}],
     [{}, {"7": 0}, {8: 0}, {HostileKey(): 0}, {7 + 2**61 - 1: 0}]),
    ("DICT_CONTAINS", "(1, 'a') in L['x']", lambda p, s: p.dict_contains(s, (1, "a")), [{(1, "a"): 0}],
     [{(1, "b"): 0}]),
    ("DICT_MISSING", "'a' not in L['x']", lambda p, s: p.dict_missing(s, "a"), [{}, {"b": 0}, {HostileKey(): 0}],
     [{"a": 0}, {1: 0, "a": 0}, None]),
    ("DICT_MISSING", "7 not in L['x']", lambda p, s: p.dict_missing(s, 7), [{}, {8: 0}, {Point: 0}],
     [{7: 0}, {7.0: 0}, {HostileKey(): 0}]),
    ("PRESENT", "L['x'].a is ", lambda p, s: p.present(p.source("InstanceAttr", s, "a")), [Point(a=1)], [Point(), 3]),
    ("MRO", "type.mro(L['x']) == [Point, object]", lambda p, s: p.mro(s, Point), [Point], [Slotted, Point(), None]),
    ("MATCH_FLAGS", "objects of L['x'] match sequence patterns and do not match mapping patterns",
     lambda p, s: p.match_flags(s, list), [list, tuple], [dict, set, [], None]),
    ("ABSENT", "L['x'].a is unset", lambda p, s: p.absent(p.source("InstanceAttr", s, "a")), [Point(), Point(b=1), 3],
     [Point(a=1)]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "add", "passing", "failing"), MATCHES)
def test_guard_on_one_object(kind, text, add, passing, failing):
    program = sealed(add)
    assert len(program) == 1
    (line,) = program.lines()
    assert line.startswith(f"{kind}: {text}")
    for value in passing:
        assert program.check((value, None)), value
        assert program.explain((value, None)) == ""
    for value in failing:
        assert not program.check((value, None)), value
        assert program.explain((value, None)).startswith(text), value
    assert not program.check((None, None), unset=[0])
    assert not program.check(())
    assert program.deaths == 0


@pytest.mark.parametrize("same", [True, False])
def test_alias(same):
    program = make_program()
    add = program.alias if same else program.not_alias
    add(program.local("x"), program.local("y"))
    add(program.local("y"), program.local("x"))
    program.seal()
    one, other = [1], [1]
    assert program.check((one, one)) is same
    assert program.check((one, other)) is not same
    text = "L['x'] is L['y']" if same else "L['x'] is not L['y']"
    assert program.lines() == [("ALIAS: " if same else "NOT_ALIAS: ") + text]
    assert program.explain((one, other) if same else (one, one)) == text


def test_a_relation_between_sizes():
    program = make_program()
    program.shape(program.local("x"), 1, 4)
    program.shape(program.local("y"), -1, 10)
    program.seal()
    x = minidynamo.zeros(9, 3)
    assert program.check((x, 9)) and program.check((x[:0], -1)) and program.check((x[:, :0], 0))
    assert not program.check((x, 10)) and not program.check((minidynamo.zeros(2, 4), 9))
    for other in (3, minidynamo.zeros(3), None):
        assert not program.check((other, 9))
    for other in (3.0, True, None, 1 << 70):
        assert not program.check((x, other))
    assert program.lines() == ["SHAPE: L['x'].size()[1] < 4  (s0 < 4)", "SHAPE: L['y'] < 10  (s0 < 10)"]
    assert program.explain((x, 10)) == "L['y'] < 10  (s0 < 10)"


@pytest.mark.parametrize("pairs", [1, 20])
def test_tensors_that_share_no_memory(pairs):
    """Beyond 16 pairs one guard holds the others."""
    program = make_program()
    for _ in range(pairs):
        program.no_overlap(program.local("x"), program.local("y"))
    program.seal()
    x = minidynamo.zeros(4)
    assert program.check((x, minidynamo.zeros(4))) and program.check((x[:2], x[2:])) and program.check((x, x[:0]))
    for other in (x, x[3:], x.reshape(2, 2), x.detach()):
        assert not program.check((x, other)) and not program.check((other, x))
    assert not program.check((x, 3)) and not program.check((3, x))
    of_pairs = ["NO_OVERLAP: L['x'] shares no memory with L['y']"]
    of_others = ["APART: L['x'] and 0 more that are written share no memory with 2 tensors"]
    assert program.lines() == of_pairs + (of_others if pairs > 16 else [])
    assert program.explain((x, x)) == "L['x'] shares no memory with L['y']"


@pytest.mark.parametrize("seed", range(30))
def test_which_of_many_tensors_may_share_memory(seed):
    """Only what is written must be apart; each call is as in eager Python, whatever shares memory."""
    drawn = random.Random(seed)
    written = sorted(drawn.sample(range(12), drawn.randint(1, 8)))

    def write(tensors):
        total = sum(tensor.sum() for tensor in tensors)
        for place in written:
            tensors[place].add_(place + 1)
        return total + sum(tensor.sum() for tensor in tensors)

    def arguments(shared):
        memory = minidynamo.arange(60.0)
        tensors = [memory[5 * k : 5 * k + 5] for k in range(12)]
        for a, b in shared:
            tensors[a] = tensors[b][drawn_offset[a] :] if a != b else tensors[a]
        return tensors

    compiled = minidynamo.compile(write)
    for shared_count in (0, 0, 1, 2, 0, 3, 1):
        shared = [(drawn.randrange(12), drawn.randrange(12)) for _ in range(shared_count)]
        drawn_offset = {a: drawn.randint(0, 4) for a in range(12)}
        ours, plain = arguments(shared), arguments(shared)
        assert compiled(ours).item() == write(plain).item()
        assert [tensor.tolist() for tensor in ours] == [tensor.tolist() for tensor in plain]


def test_memory_that_may_be_written():
    program = make_program()
    program.writable(program.local("x"))
    program.seal()
    array = numpy.ones(3, numpy.float32)
    assert program.check((minidynamo.zeros(3), 0)) and program.check((minidynamo.from_dlpack(array), 0))
    array.flags.writeable = False
    frozen = minidynamo.from_dlpack(array)
    for other in (frozen, frozen[1:], 3, None):
        assert not program.check((other, 0))
    assert program.lines() == ["WRITABLE: L['x'] is writable"]
    assert program.explain((frozen, 0)) == "L['x'] is writable"


def test_where_memory_begins():
    program = make_program()
    program.aligned(program.local("x"), 8)
    program.seal()
    values = minidynamo.zeros(4)
    assert program.check((values, 0)) and program.check((values[2:], 0))
    for other in (values[1:], values[3:], 3, None):
        assert not program.check((other, 0))
    assert program.lines() == ["ALIGNED: L['x'] lies at a multiple of 8 bytes"]


def test_the_recursion_limit():
    program = make_program()
    program.recursion_limit()
    program.recursion_limit()
    program.seal()
    limit = sys.getrecursionlimit()
    assert program.lines() == [f"RECURSION_LIMIT: sys.getrecursionlimit() == {limit}"]
    assert program.check(())
    sys.setrecursionlimit(limit + 1)
    try:
        assert not program.check(())
        assert program.explain(()) == f"sys.getrecursionlimit() == {limit}"
    finally:
        sys.setrecursionlimit(limit)


def test_a_registration_with_an_abstract_base_class():
    program = sealed(lambda p, s: p.abc_token(s))
    assert program.check((None, None))
    type("Base", (abc.ABC,), {}).register(int)
    assert not program.check((None, None))
    assert program.explain((None, None)).startswith("abc.get_cache_token() == ")


def test_an_alias_of_itself_needs_no_guard():
    program = sealed(lambda p, s: p.alias(s, s))
    assert len(program) == 0 and program.check(())


# ---- sources ----


def local_source(program):
    return program.local("x"), (5, None), 5


def property_of_point(getter):
    return property(getter)


# name: (text, function, source(program), args, fetched object, args for which the path is missing, args of other types)
def on_x(kind, key=None, index=0):
    return lambda program: program.source(kind, program.local("x"), key, index)


def slotted(a):
    value = Slotted()
    value.a = a
    return value


CLOSURE = make_closure("captured")
EMPTY_CELL = types.CellType()
METHOD = Point().method
STATIC = staticmethod(other_function)
SHOWN = {"a": 1}
MODULE = types.ModuleType("module")
MODULE.here = "in module"
WITH_DICT = Point(a=1)


class SubPoint(Point):
    def method(self):
        return 1


@functools.cache
def cached(n):
    return [n]


KEPT = cached(2)
UNUSED = functools.cache(list)
RESULTS = next(held for held in gc.get_referents(cached) if isinstance(held, dict) and 2 in held)


VARIABLE = contextvars.ContextVar("variable")
VARIABLE.set("set")

GRADIENT = minidynamo.ones(2)


def with_gradient(gradient):
    leaf = minidynamo.ones(2, requires_grad=True)
    leaf.grad = gradient
    return leaf


def hooked():
    leaf = with_gradient(None)
    leaf.register_hook(print)
    return leaf


SOURCES = {
    "Local": ("L['x']", None, lambda p: p.local("x"), 5, 5, [], []),
    "CallerSlot": ("C['f']['y']", None, lambda p: p.source("CallerSlot", None, "C['f']['y']", 0), 5, 5, [], []),
    "Function": ("F", other_function, lambda p: p.source("Function"), None, other_function, [], []),
    "Global": ("G['GLOBAL_NUMBER']", None, lambda p: p.source("Global", None, "GLOBAL_NUMBER"), None, 41, [], []),
    "Builtin": ("B['len']", None, lambda p: p.source("Builtin", None, "len"), None, len, [], []),
    "CellContents": ("L['x'].cell_contents", None, on_x("CellContents"), types.CellType(8), 8, [EMPTY_CELL], [3]),
    "Closure": ("L['x'].__closure__[0]", None, on_x("Closure"), CLOSURE, CLOSURE.__closure__[0], [], [other_function]),
    "Defaults": ("L['x'].__defaults__[0]", None, on_x("Defaults"), function_with_defaults, 3, [other_function], [3]),
    "KwDefault": ("L['x'].__kwdefaults__['c']", None, on_x("KwDefault", "c"), function_with_defaults, "c",
                  [other_function], [3]),
    "MethodFunction": ("L['x'].__func__", None, on_x("MethodFunction"), METHOD, Point.method, [], [other_function]),
    "MethodSelf": ("L['x'].__self__", None, on_x("MethodSelf"), METHOD, METHOD.__self__, [], [other_function]),
    "InstanceAttr": ("L['x'].a", None, on_x("InstanceAttr", "a"), Point(a=6), 6, [Point(), Slotted(), 3, slotted(1)],
                     []),
    "ModuleAttr": ("L['x'].here", None, on_x("ModuleAttr", "here"), MODULE, "in module", [math], [Point(here=1)]),
    "Type": ("type(L['x'])", None, on_x("Type"), Point(), Point, [], []),
    "TypeAttr": ("L['x'].method", None, on_x("TypeAttr", "method"), Point, Point.__dict__["method"], [Slotted, int],
                 [Point()]),
    "MroEntry": ("L['x'].__mro__[1]", None, on_x("MroEntry", index=1), Point, object, [], [Point()]),
    "SuperAttr": ("L['x'].__mro__[1].method", None, on_x("SuperAttr", "method", 1), SubPoint, Point.__dict__["method"],
                  [Point, int], [Point()]),
    "SlotAttr": ("L['x'].a", None, on_x("SlotAttr", Slotted.__dict__["a"]), slotted("slot"), "slot", [Slotted()],
                 [Point(a=1), 3, None]),
    "Item": ("L['x'][1]", None, on_x("Item", index=1), [5, 6], 6, [[5], ()], [{1: 1}, "ab", 3]),
    "DictEntry": ("list(L['x'].values())[1]", None, on_x("DictEntry", index=1), {int: 5, str: 6}, 6, [{}, {1: 1}],
                  [[1, 2], None]),
    "DictKey": ("list(L['x'])[1]", None, on_x("DictKey", index=1), {int: 5, str: 6}, str, [{}, {1: 1}], [[1, 2], None]),
    "SetItem": ("list(L['x'])[0]", None, on_x("SetItem", index=0), {Point}, Point, [set(), frozenset()], [[1], None]),
    "LoadedModule": ("sys.modules['math']", None, lambda p: p.source("LoadedModule", None, "math"), None, math, [], []),
    "Field": ("L['x'].__name__", None, on_x("Field", "__name__", 0), Point, Point.__name__, [], [3, int]),
    "DictItem": ("L['x']['k']", None, on_x("DictItem", "k"), {"k": 9}, 9, [{}, {"j": 1}, {7: 1}], [[1], None]),
    "PropertyGetter": ("L['x'].fget", None, on_x("PropertyGetter"), property(other_function), other_function,
                       [property()], [STATIC, 3]),
    "ShownMapping": ("L['x'].__mapping__", None, on_x("ShownMapping"), types.MappingProxyType(SHOWN), SHOWN, [],
                     [{"a": 1}, 3]),
    "PropertySetter": ("L['x'].fset", None, on_x("PropertySetter"), property(None, other_function), other_function,
                       [property()], [STATIC, 3]),
    "GlobalsDict": ("L['x'].__globals__", None, on_x("GlobalsDict"), other_function, globals(), [], [Point, 3]),
    "InstanceDict": ("L['x'].__dict__", None, on_x("InstanceDict"), WITH_DICT, vars(WITH_DICT), [3, Slotted()], []),
    "AttributesDict": ("L['x'].__dict__", None, on_x("AttributesDict"), WITH_DICT, vars(WITH_DICT), [], [3, Slotted()]),
    "CachedResults": ("L['x'].__cache__", None, on_x("CachedResults"), cached, RESULTS, [],
                      [other_function, 3]),
    "CachedResult": ("L['x'].__cache__[((2,), ())]", None, on_x("CachedResult", ((2,), ())), cached, KEPT, [UNUSED],
                     [other_function, 3]),
    "ContextValue": ("L['x'].get(...)", None, on_x("ContextValue"), VARIABLE, "set", [contextvars.ContextVar("unset")],
                     [other_function, 3]),
    "Referent": ("L['x']()", None, on_x("Referent"), weakref.ref(Point), Point, [], [Point, 3]),
    "Gradient": ("L['x'].grad", None, on_x("Gradient"), with_gradient(GRADIENT), GRADIENT, [], [hooked(), 3]),
    "WeakItem": ("L['x'][ref(type)]", None, on_x("WeakItem", Point), {weakref.ref(Point): 9}, 9,
                 [{}, {weakref.ref(Slotted): 9}], [[1], None]),
    "WrappedFunction": ("L['x'].__func__", None, on_x("WrappedFunction"), STATIC, other_function, [], [METHOD, 3]),
}  # fmt: skip


def test_every_row_is_tried():
    tried = {kind for kind, *_ in MATCHES} | {
        "ALIAS",
        "NOT_ALIAS",
        "NO_OVERLAP",
        "APART",
        "WRITABLE",
        "ALIGNED",
        "SHAPE",
        "TENSOR_MATCH",
        "GLOBAL_STATE",
        "ABC_TOKEN",
        "RECURSION_LIMIT",
    }
    assert tried == set(testing.GUARD_KINDS)
    assert set(SOURCES) | {"HandledException", "StandIn"} == set(testing.SOURCE_KINDS)


def test_what_a_function_of_ours_reads_is_not_guarded():
    program = make_program()
    source = program.source("StandIn", None, other_function)
    assert program.name(source) == "stand_in(other_function)"
    assert program.fetch(source, (1, 2)) is other_function
    number = program.source("Global", source, "GLOBAL_NUMBER")
    assert program.fetch(number, (1, 2)) == GLOBAL_NUMBER
    program.equals_match(number, GLOBAL_NUMBER + 1)
    program.seal()
    assert program.check((1, 2))


def test_the_source_of_the_handled_exception():
    program = make_program()
    source = program.source("HandledException")
    assert program.name(source) == "sys.exception()"
    program.absent(source)
    program.seal()
    assert program.check((1, 2))
    try:
        raise ValueError("v")
    except ValueError as error:
        assert program.fetch(source, (1, 2)) is error
        assert not program.check((1, 2))
    with pytest.raises(KeyError):
        program.fetch(source, (1, 2))


@pytest.mark.parametrize("kind", SOURCES)
def test_source(kind):
    text, function, make, base, expected, absent, foreign = SOURCES[kind]
    program = make_program(function) if function else make_program()
    source = make(program)
    assert program.name(source) == text
    before = sys.getrefcount(expected)
    assert program.fetch(source, (base, None)) is expected
    assert sys.getrefcount(expected) == before
    assert make(program) == source
    for value in absent + foreign:
        with pytest.raises(KeyError):
            program.fetch(source, (value, None))

    there = make_program(function) if function else make_program()
    there.id_match(make(there), expected) if there.can_hold(expected) else there.type_match(make(there), type(expected))
    there.seal()
    assert there.check((base, None))
    for value in absent + foreign:
        assert not there.check((value, None)), value
        assert there.explain((value, None)) == f"{text} is missing"

    missing = make_program(function) if function else make_program()
    missing.absent(make(missing))
    missing.seal()
    assert not missing.check((base, None))
    for value in absent:
        assert missing.check((value, None)), value
    for value in foreign:
        assert not missing.check((value, None)), value


def test_static_and_class_methods_are_unwrapped():
    program = make_program()
    source = program.source("WrappedFunction", program.local("x"))
    assert program.fetch(source, (classmethod(other_function),)) is other_function


def test_an_unset_local_is_absent():
    program = sealed(lambda p, s: p.absent(s))
    assert program.check((1, 2), unset=[0])
    assert not program.check((1, 2))
    assert program.explain((1, 2)) == "L['x'] is unset"


def test_stack_values_follow_the_locals():
    program = make_program(lambda x, y: None)
    assert [program.name(program.stack(0)), program.name(program.stack(1))] == ["S[0]", "S[1]"]
    assert program.fetch(program.stack(1), ("x", "y", "s0", "s1")) == "s1"


def test_globals_of_another_function():
    namespace = {"__builtins__": {"len": "their len"}, "number": 12}
    exec("def theirs(): pass", namespace)
    program = make_program()
    base = program.local("x")
    number, length = program.source("Global", base, "number"), program.source("Builtin", base, "len")
    assert program.fetch(number, (namespace["theirs"],)) == 12
    assert program.fetch(length, (namespace["theirs"],)) == "their len"
    assert program.name(number) == "L['x'].__globals__['number']"
    assert program.name(length) == "L['x'].__builtins__['len']"


def test_a_global_that_changes(monkeypatch):
    program = make_program()
    program.equals_match(program.source("Global", None, "GLOBAL_NUMBER"), 41)
    program.id_match(program.source("Builtin", None, "len"), len)
    program.absent(program.source("Global", None, "shadow"))
    program.seal()
    assert program.check(())
    monkeypatch.setitem(globals(), "GLOBAL_NUMBER", 42)
    assert program.explain(()) == "G['GLOBAL_NUMBER'] == 41"
    monkeypatch.setitem(globals(), "GLOBAL_NUMBER", 41)
    monkeypatch.setattr(builtins, "len", abs)
    assert program.explain(()) == "B['len'] is <built-in function len>"
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "shadow", 1)
    assert program.explain(()) == "G['shadow'] is unset"


def test_attributes_after_the_instance_dict_was_created():
    program = make_program()
    program.equals_match(program.source("InstanceAttr", program.local("x"), "a"), 1)
    program.seal()
    point = Point.__new__(Point)
    point.a = 1
    assert program.check((point,))
    _ = point.__dict__
    assert program.check((point,))
    point.__dict__["a"] = 2
    assert not program.check((point,))
    del point.a
    assert program.explain((point,)) == "L['x'].a is missing"
    point.__dict__ = {"a": 1, HostileKey(): 2}
    assert program.check((point,))
    point.__dict__ = {HostileKey(): 2, "b": 1}
    assert not program.check((point,))


def test_attributes_are_read_without_running_code():
    class Trap:
        def __getattribute__(self, name):
            raise AssertionError("Python code ran in a guard")

        __getattr__ = __getattribute__

    trap = Trap()
    object.__setattr__(trap, "a", 1)
    program = make_program()
    program.equals_match(program.source("InstanceAttr", program.local("x"), "a"), 1)
    program.absent(program.source("InstanceAttr", program.local("x"), "b"))
    program.seal()
    assert program.check((trap,))


def test_class_attribute_found_along_the_mro():
    class Base:
        value = 1

    class Derived(Base):
        pass

    program = make_program()
    kind = program.source("Type", program.local("x"))
    program.equals_match(program.source("TypeAttr", kind, "value"), 1)
    program.seal()
    assert program.check((Derived(),))
    Base.value = 2
    assert program.explain((Derived(),)) == "type(L['x']).value == 1"
    Derived.value = 1
    assert program.check((Derived(),))


def test_a_slot_of_a_base_class():
    class Derived(Slotted):
        __slots__ = ("c",)

    value = Derived()
    value.b = 4
    program = make_program()
    assert program.fetch(program.source("SlotAttr", program.local("x"), Slotted.__dict__["b"]), (value,)) == 4


def test_a_slot_whose_class_is_gone():
    class Gone:
        __slots__ = ("a", "__weakref__")

    alive = weakref.ref(Gone)
    program = make_program()
    source = program.source("SlotAttr", program.local("x"), Gone.__dict__["a"])
    del Gone
    gc.collect()
    assert alive() is None
    with pytest.raises(KeyError):
        program.fetch(source, (slotted(1),))


@pytest.mark.parametrize("key", [3, object.__dict__["__class__"], type.__dict__["__basicsize__"]])
def test_other_descriptors_are_rejected_as_slots(key):
    program = make_program()
    with pytest.raises(RuntimeError):
        program.source("SlotAttr", program.local("x"), key)


# ---- tensors and modes ----


def test_tensor_match():
    x = minidynamo.zeros(2, 3)
    program = sealed(lambda p, s: p.tensor_match(s, x))
    (line,) = program.lines()
    assert line.startswith("TENSOR_MATCH: L['x'] is ")
    assert line.endswith(" float32 size=(2, 3) stride=(3, 1) requires_grad=False")
    assert program.check((minidynamo.ones(2, 3), None))
    cases = [
        (minidynamo.zeros(2, 4), "size mismatch at index 1. expected 3, actual 4"),
        (minidynamo.zeros(3, 2).transpose(0, 1), "stride mismatch at index 0. expected 3, actual 1"),
        (minidynamo.zeros(2), "rank mismatch. expected 2, actual 1"),
        (minidynamo.zeros(2, 3, dtype=minidynamo.float64), "dtype mismatch. expected float32, actual float64"),
        (minidynamo.zeros(2, 3).requires_grad_(), "requires_grad mismatch. expected requires_grad=0"),
    ]
    for value, reason in cases:
        assert not program.check((value, None))
        assert program.explain((value, None)) == f"tensor 'x' {reason}"
    assert program.explain((3, None)).startswith("tensor 'x' type mismatch. expected ")
    assert program.explain((3, None)).endswith(", actual int")


def test_guards_keep_no_tensor_alive():
    x = minidynamo.zeros(2, 3)
    before = sys.getrefcount(x)
    program = sealed(lambda p, s: p.tensor_match(s, x))
    assert program.check((x, None))
    assert sys.getrefcount(x) == before


def test_global_state():
    def add(program, _):
        program.global_state()
        program.global_state()

    program = sealed(add)
    assert program.lines() == ["GLOBAL_STATE: grad_mode=True inference_mode=False default_dtype=float32"]
    assert program.check(())
    with minidynamo.no_grad():
        assert not program.check(())
        assert program.explain(()) == "GLOBAL_STATE changed: grad_mode"
        assert sealed(add).check(())
    assert program.check(())
    with minidynamo.inference_mode():
        assert "inference_mode" in program.explain(())
    minidynamo.set_default_dtype(minidynamo.float64)
    try:
        assert program.explain(()) == "GLOBAL_STATE changed: default_dtype"
    finally:
        minidynamo.set_default_dtype(minidynamo.float32)
    with minidynamo.autocast("cpu"):
        assert program.explain(()) == "GLOBAL_STATE changed: autocast"
        assert sealed(add).lines()[0].endswith(" default_dtype=float32 autocast=bfloat16")
    assert program.check(())


# ---- one guard for one fact ----


def test_the_same_fact_is_one_guard():
    def add(program, x):
        for _ in range(2):
            program.type_match(x, int)
            program.equals_match(x, 3)
            program.id_match(program.local("y"), other_function)
            program.length(program.local("y"), 2)
            program.dict_contains(program.local("y"), "a")
            program.dict_missing(program.local("y"), "a")

    assert sorted(sealed(add).lines()) == [
        "DICT_CONTAINS: 'a' in L['y']",
        "DICT_MISSING: 'a' not in L['y']",
        "EQUALS_MATCH: L['x'] == 3",
        "ID_MATCH: L['y'] is <function other_function>",
        "LENGTH: len(L['y']) == 2",
    ]


POINT = Point()
IMPLIED = [
    (lambda p, s: (p.type_match(s, int), p.equals_match(s, 3)), ["EQUALS_MATCH"]),
    (lambda p, s: (p.type_match(s, str), p.equals_match(s, 3)), ["TYPE_MATCH", "EQUALS_MATCH"]),
    (lambda p, s: (p.id_match(s, other_function), p.type_match(s, types.FunctionType)), ["ID_MATCH"]),
    (lambda p, s: (p.id_match(s, POINT), p.type_match(s, Point)), ["TYPE_MATCH", "ID_MATCH"]),
    (lambda p, s: (p.id_match(s, MODULE), p.type_match(s, types.ModuleType)), ["TYPE_MATCH", "ID_MATCH"]),
    (lambda p, s: (p.code_match(s, other_function.__code__), p.type_match(s, types.FunctionType)), ["CODE_MATCH"]),
    (lambda p, s: (p.equals_match(s, (1, 2)), p.length(s, 2)), ["EQUALS_MATCH"]),
    (lambda p, s: (p.equals_match(s, (1, 2)), p.length(s, 3)), ["EQUALS_MATCH", "LENGTH"]),
    (lambda p, s: (p.type_match(s, dict), p.dict_contains(s, 1.0), p.dict_missing(s, "b"), p.length(s, 2),
                   p.dict_keys(s, ("a", 1))), ["DICT_KEYS"]),
    (lambda p, s: (p.dict_contains(s, "b"), p.dict_keys(s, ("a", 1))), ["DICT_KEYS", "DICT_CONTAINS"]),
    (lambda p, s: (p.id_match(s, "text"), p.equals_match(s, "text")), ["ID_MATCH"]),
    (lambda p, s: (p.id_match(s, None), p.equals_match(s, None)), ["EQUALS_MATCH"]),
]  # fmt: skip


@pytest.mark.parametrize(("add", "kinds"), IMPLIED)
def test_implied_guards_are_dropped(add, kinds):
    assert [line.split(":")[0] for line in sealed(add).lines()] == kinds


def test_class_assignment_is_noticed_in_addition_to_the_identity():
    class First:
        pass

    class Second:
        pass

    value = First()
    program = sealed(lambda p, s: (p.id_match(s, value), p.type_match(s, First)))
    assert program.check((value,))
    value.__class__ = Second
    assert program.explain((value,)) == "type(L['x']) is First"


def test_arguments_are_checked_before_what_is_reached_through_them():
    def add(program, x):
        program.equals_match(program.source("InstanceAttr", x, "a"), 1)
        program.length(program.local("y"), 1)
        program.type_match(x, Point)

    assert [line.split(":")[0] for line in sealed(add).lines()] == ["TYPE_MATCH", "LENGTH", "EQUALS_MATCH"]


def test_nothing_is_added_after_seal():
    program = sealed(lambda p, s: p.type_match(s, int))
    with pytest.raises(RuntimeError):
        program.length(program.local("y"), 2)


def test_a_program_holds_only_when_sealed():
    program = make_program()
    assert not program.check(())
    program.seal()
    assert program.check(())


# ---- lifetime ----

HOLDABLE = [1, 2.5, "s", b"b", None, True, ..., (1, ("a",)), int, Point, other_function, len, math, Point.method.__code__,
            list.append, str.join, object.__init__, dict.fromkeys, range(3), slice(1, 2), POINT]  # fmt: skip
NOT_HOLDABLE = [[], {}, Slotted(), (1, []), [].__add__, object()]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="these are objects of plain Python")
def test_objects_that_lose_their_weak_references_are_rejected():
    """CPython 3.12 and later free `P.args` without clearing its weak references: a guard would read freed memory."""
    parameters = typing.ParamSpec("P")
    assert testing.GuardProgram.can_hold(parameters)
    assert not testing.GuardProgram.can_hold(parameters.args)
    assert not testing.GuardProgram.can_hold(parameters.kwargs)


def test_objects_that_guards_can_reference():
    assert [value for value in HOLDABLE if not testing.GuardProgram.can_hold(value)] == []
    assert [value for value in NOT_HOLDABLE if testing.GuardProgram.can_hold(value)] == []


@pytest.mark.parametrize("value", NOT_HOLDABLE, ids=lambda value: type(value).__name__)
def test_objects_that_guards_cannot_reference(value):
    program = make_program()
    with pytest.raises(RuntimeError, match="cannot hold"):
        program.id_match(program.local("x"), value)


def add_identity(value, program, source):
    program.id_match(source, value)


def make_function():
    def function():
        pass

    return function


def make_class():
    class Class:
        pass

    return Class


MORTAL = {
    "function": (make_function, lambda p, s, o: p.id_match(s, o)),
    "class": (make_class, lambda p, s, o: p.id_match(s, o)),
    "type": (make_class, lambda p, s, o: p.type_match(s, o)),
    "instance": (Point, lambda p, s, o: p.id_match(s, o)),
    "module": (lambda: types.ModuleType("mortal"), lambda p, s, o: p.id_match(s, o)),
    "code": (lambda: compile("1", "mortal", "eval"), lambda p, s, o: p.code_match(s, o)),
    "key": (make_class, lambda p, s, o: p.dict_keys(s, ("a", o))),
}


@pytest.mark.parametrize("what", MORTAL)
def test_an_object_dies_and_takes_the_entry_with_it(what):
    make, add = MORTAL[what]
    value = make()
    before = sys.getrefcount(value)
    alive = weakref.ref(value)
    program = sealed(functools.partial(add, o=value))
    assert sys.getrefcount(value) == before
    assert (program.dead, program.deaths) == (False, 0)
    del value
    gc.collect()
    assert alive() is None
    assert (program.dead, program.deaths) == (True, 1)
    assert not program.check((None, None))
    assert not program.check(({"a": 1, None: 2}, None))
    assert program.explain((None, None)) == "an object that the guards refer to is gone"
    assert len(program.lines()) == 1


def test_the_listener_is_called_once():
    values = [Point() for _ in range(10)]

    def add(program, x):
        for i, value in enumerate(values):
            program.id_match(program.source("Item", x, index=i), value)

    program = sealed(add)
    assert program.check((values,))
    values.clear()
    assert program.deaths == 1


def test_an_object_that_dies_in_a_reference_cycle():
    value = Point()
    value.itself = value
    program = sealed(functools.partial(add_identity, value))
    del value
    assert program.deaths == 0
    gc.collect()
    assert program.deaths == 1


def test_an_object_that_dies_while_guards_are_sealed():
    program = make_program()
    program.id_match(program.local("x"), Point())
    assert program.deaths == 0
    program.seal()
    assert (program.dead, program.deaths) == (True, 1)


def test_an_object_that_outlives_the_guards():
    value = Point()
    program = sealed(functools.partial(add_identity, value))
    assert weakref.getweakrefcount(value) == 1
    del program
    assert weakref.getweakrefcount(value) == 0


def test_the_guards_die_in_the_callback_of_another_reference():
    """The collector may keep our callback alive while the guards die."""
    value = Point()
    value.itself = value
    holder = []
    holder.append(sealed(functools.partial(add_identity, value)))
    keep = weakref.ref(value, lambda _: holder.clear())
    del value
    gc.collect()
    assert holder == [] and keep() is None


def test_many_programs_come_and_go():
    function, kind = make_function(), make_class()
    key = "".join(["k", "ey"])
    counts = [sys.getrefcount(o) for o in (function, kind, function.__code__, key)]

    def build():
        program = make_program(other_function)
        x = program.source("Local", index=0)
        program.type_match(x, kind)
        program.id_match(program.source("InstanceAttr", x, "f"), function)
        program.code_match(program.source("InstanceAttr", x, "f"), function.__code__)
        program.dict_keys(program.source("InstanceAttr", x, "d"), (key, kind, 3))
        program.equals_match(program.source("InstanceAttr", x, "n"), (1, None, "text"))
        program.seal()
        value = kind()
        value.f, value.d, value.n = function, {key: 1, kind: 2, 3: 3}, (1, None, "text")
        assert program.check((value,), repeat=3)
        assert program.explain((value,)) == ""

    build()
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(10_000):
        build()
    gc.collect()
    assert len(gc.get_objects()) <= objects + 10
    assert [sys.getrefcount(o) for o in (function, kind, function.__code__, key)] == counts
    assert weakref.getweakrefcount(function) == 0


def test_check_allocates_nothing():
    program = make_program()
    x = program.local("x")
    program.type_match(x, Point)
    program.equals_match(program.source("InstanceAttr", x, "a"), (1, 2.0, "s"))
    program.dict_contains(program.source("InstanceAttr", x, "d"), (1, 2))
    program.absent(program.source("InstanceAttr", x, "b"))
    program.seal()
    args = (Point(a=(1, float("2.0"), "s"), d={(1, 2): 3}), None)
    assert program.check(args)
    before = sys.getallocatedblocks()
    assert program.check(args, repeat=1000)
    assert sys.getallocatedblocks() <= before + 2


def test_errors_of_the_builder():
    with pytest.raises(TypeError):
        testing.GuardProgram(3)
    program = make_program()
    with pytest.raises(ValueError, match="no local z"):
        program.local("z")
    with pytest.raises(ValueError, match="no source kind Nowhere"):
        program.source("Nowhere")
    with pytest.raises(IndexError):
        program.type_match(99, int)
