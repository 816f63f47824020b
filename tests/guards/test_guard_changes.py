"""For each kind of guard: a change to a running program that must be noticed, and one that must not cost a capture.

A case returns the function, the calls and changes that are served by one capture, and the change after which a call needs
another one. Every call is compared with eager Python, so that a missing guard shows as a wrong result.
"""

import abc
import collections
import io
import sys
import types

import numpy
import pytest

import minidynamo
from minidynamo import _C, nn
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions

CASES = {}


def case(kind):
    def register(make):
        CASES.setdefault(kind, []).append(make)
        return make

    return register


def ones(*shape, **arguments):
    return minidynamo.ones(*shape, **arguments)


@case("TENSOR_MATCH")
def a_tensor():
    """(function, [arguments that one capture serves], arguments that it does not serve)"""
    return lambda x: x + 1, [(ones(2, 3),), (minidynamo.zeros(2, 3),)], (ones(2, 3, dtype=minidynamo.float64),)


@case("TENSOR_MATCH")
def strides():
    return lambda x: x + 1, [(ones(3, 3),)], (minidynamo.arange(9).float().view(3, 3).t(),)


@case("TENSOR_MATCH")
def rank():
    return lambda x: x.sum(), [(ones(2, 3),)], (ones(2),)


@case("TENSOR_MATCH")
def requires_grad():
    return lambda x: x + 1, [(ones(2),)], (ones(2).requires_grad_(),)


@case("TENSOR_MATCH")
def a_parameter():
    net = nn.Linear(2, 2)

    def change():
        net.weight = nn.Parameter(ones(2, 2, dtype=minidynamo.float64))
        net.bias = nn.Parameter(ones(2, dtype=minidynamo.float64))
        return (ones(1, 2, dtype=minidynamo.float64),)

    def same():
        net.weight = nn.Parameter(ones(2, 2) * 3)
        return (ones(1, 2),)

    return net, [(ones(1, 2),), same], change


class First:
    value = 1
    __slots__ = ("own",)


class Second:
    value = 2
    __slots__ = ("own",)


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@case("TYPE_MATCH")
def class_of_an_argument():
    return lambda x, thing: x + thing.value, [(ones(1), First()), (ones(1), First())], (ones(1), Second())


@case("TYPE_MATCH")
def class_of_an_object_changes():
    first, second = type("A", (), {"value": 1}), type("B", (), {"value": 2})
    thing = first()

    def change():
        thing.__class__ = second
        return (ones(1),)

    def same():
        thing.unrelated = 5
        return (ones(1),)

    return lambda x: x + thing.value, [(ones(1),), same], change


@case("EQUALS_MATCH")
def a_constant():
    return lambda x, how: x + 1 if how == "a" else x - 1, [(ones(1), "a"), (ones(1), "".join(["a"]))], (ones(1), "b")


class Noisy(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x + 1


@case("EQUALS_MATCH")
def a_flag_of_a_module():
    net = nn.Sequential(nn.Linear(2, 2), Noisy()).eval()

    def same():
        net.eval()
        return (ones(1, 2),)

    def change():
        net.train()
        return (ones(1, 2),)

    return net, [(ones(1, 2),), same], change


@case("ID_MATCH")
def a_builtin_that_is_called():
    holder = Plain(function=abs)

    def change():
        holder.function = int
        return (ones(1),)

    def same():
        holder.function = abs
        return (ones(1),)

    return lambda x: x + holder.function(-3), [(ones(1),), same], change


@case("ALIAS")
def identity_of_a_class():
    holder = Plain(kind=First)

    def change():
        holder.kind = Second
        return (ones(1),)

    def same():
        holder.kind = First
        return (ones(1),)

    return lambda x: x + (1 if holder.kind is First else 2), [(ones(1),), same], change


def make_adder(number):
    def add(x):
        return x + number

    return add


def subtract(x):
    return x - 1


@case("CODE_MATCH")
def a_function():
    return lambda x, f: f(x), [(ones(1), make_adder(1)), (ones(1), make_adder(1))], (ones(1), subtract)


@case("CODE_MATCH")
def code_of_a_method():
    thing = type("Thing", (), {"run": lambda self, x: x + 1})

    def change():
        thing.run = lambda self, x: x * 50
        return (ones(1),)

    def same():
        thing.other = 3
        return (ones(1),)

    return lambda x: thing().run(x), [(ones(1),), same], change


@case("SLOT_MATCH")
def place_of_a_slot():
    kind = type("Slots", (), {"__slots__": ("a", "b")})
    thing = kind()
    thing.a, thing.b = 1, 2

    def change():
        kind.a = kind.__dict__["b"]
        return (ones(1),)

    def same():
        thing.b = 7
        return (ones(1),)

    return lambda x: x + thing.a, [(ones(1),), same], change


@case("LENGTH")
def length_of_a_list():
    return lambda x, items: x + len(items), [(ones(1), [1, 2]), (ones(1), ["a", "b"])], (ones(1), [1])


@case("DICT_KEYS")
def keys_in_order():
    def total(x, table):
        for number, key in enumerate(table):
            x = x + number * len(key)
        return x

    return total, [(ones(1), {"a": 1, "bc": 2}), (ones(1), {"a": 5, "bc": 6})], (ones(1), {"bc": 1, "a": 2})


@case("MRO")
def bases_of_a_class():
    base, other = type("Base", (), {}), type("Other", (), {})
    kind = type("Kind", (base,), {})
    thing = kind()

    def same():
        kind.unrelated = base.unrelated = 1
        return (ones(1),)

    def change():
        kind.__bases__ = (other,)
        return (ones(1),)

    return lambda x: x + 1 if isinstance(thing, base) else x - 1, [(ones(1),), same], change


@case("MATCH_FLAGS")
def a_class_becomes_a_sequence():
    thing = type("Kind", (), {})()

    def match(x):
        match thing:
            case [*_]:
                return x + 1
        return x - 1

    def same():
        collections.abc.Sized.register(type(thing))
        return (ones(1),)

    def change():
        collections.abc.Sequence.register(type(thing))
        return (ones(1),)

    return match, [(ones(1),), same], change


@case("TENSOR_MATCH")
def attributes_of_a_tensor():
    x = ones(2)

    def change():
        x.flag = 1
        return (x,)

    return lambda x: x * 2 if hasattr(x, "flag") else x + 1, [(x,), (ones(2),)], change


@case("ABSENT")
def an_attribute_among_others():
    x = ones(2)
    x.other = 1

    def same():
        x.other = 2
        return (x,)

    def change():
        x.flag = 1
        return (x,)

    return lambda x: x * 2 if hasattr(x, "flag") else x + 1, [(x,), same], change


@case("SET_ITEMS")
def elements_of_a_set():
    def total(x, items):
        for item in items:
            x = x + item
        return x

    return total, [(ones(1), {1, 2}), (ones(1), {1, 2})], (ones(1), {1, 3})


@case("SET_TABLE")
def places_in_a_table():
    def merged(x, items):
        return x + 1, list(set(items) | {8})

    others = {1, 2, 3}
    others.discard(3)
    return merged, [(ones(1), {1, 2}), (ones(1), {1, 2})], (ones(1), others)


@case("DICT_CONTAINS")
def a_key_goes():
    def read(x, table):
        return x + 1 if "a" in table else x - 1

    return read, [(ones(1), {"a": 1}), (ones(1), {"a": 2, "b": 3})], (ones(1), {"b": 3})


@case("DICT_MISSING")
def a_key_comes():
    def read(x, table):
        return x + 1 if "a" in table else x - 1

    return read, [(ones(1), {}), (ones(1), {"b": 3})], (ones(1), {"a": 3})


@case("PRESENT")
def what_is_passed_on():
    def hand_on(x, holder):
        return x + 1, holder.value

    return hand_on, [(ones(1), Plain(value=object)), (ones(1), Plain(value="text"))], None


@case("ABSENT")
def an_attribute_that_hides_a_method():
    thing = Plain()
    Plain.method = lambda self: 1

    def change():
        thing.method = lambda: 2
        return (ones(1),)

    def same():
        thing.other = 2
        return (ones(1),)

    return lambda x: x + thing.method(), [(ones(1),), same], change


@case("ALIAS")
def two_names_of_one_list():
    def write(x, a, b):
        a.append(1)
        return x + len(b) if a is b else x - len(b)

    def twice():
        items = []
        return ones(2), items, items

    return write, [twice, twice], lambda: (ones(2), [], [])


@case("NOT_ALIAS")
def two_lists():
    def write(x, a, b):
        a.append(1)
        return x + len(b)

    def one():
        items = []
        return ones(1), items, items

    return write, [lambda: (ones(1), [], []), lambda: (ones(1), [], [])], one


@case("APART")
def many_tensors_that_share_memory():
    def write(tensors):
        for tensor in tensors:
            tensor.mul_(2)
        return tensors[0] + 1

    def shared():
        whole = ones(20)
        return ([whole[:3], whole[2:4], *[whole[2 * k : 2 * k + 2] for k in range(2, 10)]],)

    def apart():
        whole = ones(20)
        return ([whole[2 * k : 2 * k + 2] for k in range(10)],)

    return write, [apart, apart], shared


@case("NO_OVERLAP")
def tensors_that_share_memory():
    def write(x, y):
        x.mul_(2)
        return y + 1

    def shared():
        whole = ones(4)
        return whole[:2], whole[1:3]

    def apart():
        whole = ones(4)
        return whole[:2], whole[2:]

    return write, [apart, apart], shared


@case("SHAPE")
def a_branch_on_a_size():
    def branch(x):
        return x + 1 if x.shape[0] < 10 else x - 1

    # The second size makes it symbolic: from then on only the condition of the branch is guarded.
    return branch, [(ones(3),), (ones(4),), (ones(5),), (ones(9),)], (ones(12),)


@case("NUMBER")
def a_branch_on_a_float():
    def branch(x, number):
        return x + 1 if number * 2 < 3 else x - 1

    # The second number makes it dynamic: from then on only the result of the comparison is guarded.
    return branch, [(ones(3), 0.5), (ones(3), 1.0), (ones(3), -7.5), (ones(3), 0.0)], (ones(3), 2.5)


@case("ABC_TOKEN")
def a_registration():
    base = abc.ABCMeta("Base", (), {})
    thing = Plain()

    def change():
        base.register(Plain)
        return (ones(1),)

    def same():
        thing.other = 1
        return (ones(1),)

    return lambda x: x + (5 if isinstance(thing, base) else 1), [(ones(1),), same], change


@case("RECURSION_LIMIT")
def how_deep_calls_may_be():
    def same():
        sys.setrecursionlimit(RECURSION_LIMIT)
        return (ones(1),)

    def change():
        sys.setrecursionlimit(RECURSION_LIMIT + 10)
        return (ones(1),)

    return lambda x: x + sys.getrecursionlimit(), [same, same], change


@case("TEXT_STREAM")
def where_output_goes():
    def write(x, stream):
        print("text", file=stream)
        return x + 1

    class Loud(io.StringIO):
        def write(self, text):
            return super().write(text.upper())

    return write, [(ones(1), io.StringIO()), (ones(1), io.StringIO())], (ones(1), Loud())


@case("WRITABLE")
def memory_that_may_not_be_written():
    def write(x):
        y = x + 1
        try:
            x.mul_(2)
        except RuntimeError as error:
            return str(error)
        return y

    def read_only():
        array = numpy.ones(4, numpy.float32)
        array.flags.writeable = False
        return (minidynamo.from_dlpack(array),)

    def writable():
        return (minidynamo.from_dlpack(numpy.ones(4, numpy.float32)),)

    return write, [writable, writable], read_only


@case("ALIGNED")
def bytes_that_lie_elsewhere():
    whole = numpy.arange(64, dtype=numpy.int32)

    def as_wider(x):
        return x * 2 + 1, x.view(numpy.int64) + 1  # the product is captured with any place

    return as_wider, [(whole[:8],), (whole[2:10],)], (whole[1:9],)


@case("GLOBAL_STATE")
def grad_mode():
    def requires(x):
        y = x * 2
        return y + 1 if minidynamo.is_grad_enabled() else y - 1

    class WithoutGrad(tuple):
        pass

    return requires, [(ones(1),), (ones(1),)], WithoutGrad((ones(1),))


def arguments_of(given):
    return given() if isinstance(given, types.FunctionType) else given


def snapshot(value):
    """The observable state of arguments and results."""
    if isinstance(value, minidynamo.Tensor):
        return (str(value.dtype), value.requires_grad, value.tolist())
    if isinstance(value, (tuple, list)):
        return [snapshot(item) for item in value]
    if isinstance(value, io.StringIO):
        return value.getvalue()
    return value


def run(function, given):
    if type(given).__name__ == "WithoutGrad":
        with minidynamo.no_grad():
            return function(*given)
    return function(*given)


def visible(value):
    return isinstance(value, (minidynamo.Tensor, list, dict, set, str, io.StringIO))


PARAMETERS = [(kind, make) for kind, makes in CASES.items() for make in makes]


def played(make, compile_function):
    """Plays the case; returns what was observed after each call, and the captures after each."""
    minidynamo.manual_seed(0)
    function, served, other = make()
    count = CompileCounter()
    callee = compile_function(function, count)
    seen, captures = [], []
    for given in [*served, *([other] if other is not None else [])]:
        arguments = arguments_of(given)
        if type(given).__name__ == "WithoutGrad":
            arguments = given
        result = run(callee, arguments)
        seen.append((snapshot(result), [snapshot(each) for each in arguments if visible(each)]))
        captures.append(count.frame_count)
    return seen, captures


RECURSION_LIMIT = sys.getrecursionlimit()


@pytest.fixture(autouse=True)
def recursion_limit_restored():
    yield
    sys.setrecursionlimit(RECURSION_LIMIT)


@pytest.mark.parametrize(("kind", "make"), PARAMETERS, ids=[f"{kind}-{make.__name__}" for kind, make in PARAMETERS])
def test_change(kind, make):
    expected, _ = played(make, lambda function, count: function)
    seen, captures = played(make, lambda function, count: minidynamo.compile(function, backend=count))
    assert repr(seen) == repr(expected)
    _, served, other = make()
    first = captures[0]
    assert first == 1
    if kind in ("SHAPE", "NUMBER"):
        assert captures[: len(served)] == [first, first + 1, *[first + 1] * (len(served) - 2)]
        first += 1
    else:
        assert captures[: len(served)] == [first] * len(served)
    if other is not None:
        # Output through Python code is left to Python.
        assert captures[-1] > first or kind == "TEXT_STREAM"


@pytest.mark.parametrize(("kind", "make"), PARAMETERS, ids=[f"{kind}-{make.__name__}" for kind, make in PARAMETERS])
def test_the_guard_exists_and_is_named(kind, make):
    """The capture holds a guard of this kind."""
    function, served, _ = make()
    captured = minidynamo.compile(function)
    events = []

    def keep(_, line):
        events.append(line)

    _C._set_event_listener(keep)
    try:
        for given in served:
            run(captured, arguments_of(given))
    finally:
        _C._set_event_listener(None)
    explained = " ".join(line for line in events if '"kind": "guards"' in line)
    assert f"{kind}: " in explained


def test_every_kind_has_a_case():
    assert set(CASES) == set(_C._testing.GUARD_KINDS)


def test_captures_of_new_instances():
    """Five instances of one class, five closures and five lambdas of one code object: one capture each."""
    for make in (
        lambda number: nn.Linear(2, 2),
        lambda number: make_adder(1),
        lambda number: lambda x: x * 2,
    ):
        minidynamo._dynamo.reset()
        count = CompileCounter()
        captured = minidynamo.compile(lambda x, f: f(x), backend=count)
        for number in range(5):
            captured(ones(1, 2), make(number))
        assert count.frame_count == 1


def test_a_closure_over_another_number():
    count = CompileCounter()
    captured = minidynamo.compile(lambda x, f: f(x), backend=count)
    for number in range(6):
        assert captured(ones(1), make_adder(number)).tolist() == [1.0 + number]
    assert count.frame_count <= 2


def test_named_tuples_and_order():
    pair = collections.namedtuple("pair", "a b")
    count = CompileCounter()
    captured = minidynamo.compile(lambda x, p: x + p.a * p.b, backend=count)
    assert captured(ones(1), pair(1, 2)).tolist() == [3.0]
    assert captured(ones(1), pair(2, 5)).tolist() == [11.0]
    assert captured(ones(1), pair(3, 7)).tolist() == [22.0]
    assert count.frame_count <= 3
