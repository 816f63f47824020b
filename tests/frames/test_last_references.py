"""Finalizers and weakref callbacks run where eager Python runs them, also for objects that were created before a
break."""

import functools
import types
import weakref

import pytest

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere

LOG = []


class Dying:
    def __init__(self):
        self.count = 0

    def __del__(self):
        LOG.append("died")

    def method(self, value):
        return value

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__

    def __add__(self, other):
        return other

    def __getitem__(self, key):
        return key

    def __call__(self, value):
        return value

    def __enter__(self):
        return 1

    def __exit__(self, *error):
        return True

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > 2:
            raise StopIteration
        return self.count


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def paused(value):
    graph_break()
    return value


def second(first, value):
    return value


def closing(stop):
    try:
        yield from range(stop)
    finally:
        LOG.append("closed")


def argument(x):
    y = second(Dying(), paused(x))
    LOG.append("after")
    return y + 1


def element_of_tuple(x):
    y = (Dying(), paused(x))[1]
    LOG.append("after")
    return y + 1


def method(x):
    y = Dying().method(paused(x))
    LOG.append("after")
    return y + 1


def comparison(x):
    y = Dying() == paused(x)
    LOG.append("after")
    return x + y


def addition(x):
    y = Dying() + paused(x)
    LOG.append("after")
    return y + 1


def subscript(x):
    y = Dying()[paused(1)]
    LOG.append("after")
    return x + y


def call(x):
    y = Dying()(paused(x))
    LOG.append("after")
    return x + y


def manager(x):
    with Dying():
        x = paused(x) + 1
    LOG.append("after")
    return x + 1


def manager_that_swallows(x):
    with Dying():
        x = paused(x) + 1
        raise ValueError
    LOG.append("after")
    return x + 1


def iterator(x):
    for number in Dying():
        x = paused(x) + number
    LOG.append("after")
    return x + 1


def unpacked(x):
    a, b = Dying() if paused(True) else (1, 2)
    LOG.append("after")
    return x + a


def overwritten_list(x):
    y = [Dying(), paused(x)]
    y = y[1]
    LOG.append("after")
    return x + y


def unset_container(x):
    y = {"a": [(Dying(), 2)]}
    paused(x)
    y = None
    LOG.append("after")
    return x + 1 if y is None else x


def popped(x):
    y = [Dying()]
    paused(x)
    y.pop()
    LOG.append("after")
    return x + 1


def cleared(x):
    y = {"a": Dying()}
    paused(x)
    y.clear()
    LOG.append("after")
    return x + 1


def left_by_exception(x):
    with Swallowing():
        for number in closing(3):
            x = paused(x) * number
            raise ValueError
    LOG.append("after")
    return x + 1


def left_by_exception_of_a_call(x):
    try:
        for number in closing(3):
            paused(x)
            second(int("no"), number)
    except ValueError:
        pass
    LOG.append("after")
    return x + 1


def left_by_break(x):
    for number in closing(3):
        x = paused(x) + number
        break
    LOG.append("after")
    return x + 1


def returned_from(x):
    for number in closing(3):
        return paused(x) + number


FUNCTIONS = [
    argument,
    element_of_tuple,
    method,
    comparison,
    addition,
    subscript,
    call,
    manager,
    manager_that_swallows,
    iterator,
    unpacked,
    overwritten_list,
    unset_container,
    # A check keeps the values that the frame held at the region's start.
    pytest.param(popped, marks=pytest.mark.counts_python_runs),
    pytest.param(cleared, marks=pytest.mark.counts_python_runs),
    left_by_exception,
    left_by_exception_of_a_call,
    left_by_break,
    returned_from,
]


def outcome(function):
    LOG.clear()
    return function(minidynamo.ones(3)).tolist(), LOG[:]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_objects_die_in_their_place(function):
    expected = outcome(function)
    assert expected[1]
    compiled = minidynamo.compile(function)
    for _ in range(3):
        assert outcome(compiled) == expected


class Holder:
    pass


def closure_of(dying):
    return lambda: dying


def with_default(dying):
    def function(value=dying):
        return value

    return function


def with_attribute(owner, dying):
    owner.held = dying
    return owner


def watched_by(watched):
    """The callback of a weak reference to it writes to the log."""
    WATCHING.append(weakref.ref(watched, lambda reference: LOG.append("gone")))


def watched_function():
    function = eval("lambda: 42")
    watched_by(function)
    return function


def function_of_watched_code():
    function = eval("lambda: 42")
    watched_by(function.__code__)
    return function


WATCHING = []
# Objects with a single other owner die with it.
HOLDERS = {
    "itself": Dying,
    "closure": lambda: closure_of(Dying()),
    "default": lambda: with_default(Dying()),
    "attribute of a function": lambda: with_attribute(lambda: 1, Dying()),
    "attribute of an object": lambda: with_attribute(Holder(), Dying()),
    "list": lambda: [Dying()],
    "dict": lambda: {1: Dying()},
    "tuple": lambda: (1, (Dying(),)),
    "partial": lambda: functools.partial(len, Dying()),
    "bound method": lambda: Dying().method,
    "iterator": lambda: iter([Dying()]),
    "map": lambda: map(len, [Dying()]),
    "cell": lambda: types.CellType(Dying()),
    "shared": lambda: KEPT,
}
# Weak references to these are considered in everywhere mode only.
WATCHED = {"function": watched_function, "code": function_of_watched_code}
KEPT = Dying()


def delete_attribute(holder):
    del holder.kept
    return len(LOG)


def store_attribute(holder):
    holder.kept = None
    return len(LOG)


def delete_item(holder):
    del holder.table["kept"]
    return len(LOG)


def store_item(holder):
    holder.table["kept"] = None
    return len(LOG)


def delete_global(holder):
    global GIVEN
    del GIVEN
    return len(LOG)


def store_global(holder):
    global GIVEN
    GIVEN = None
    return len(LOG)


def ends_of_life(drop, make, way):
    global GIVEN
    holder = Holder()
    holder.table = {"kept": make()}
    holder.kept = make()
    GIVEN = make()
    LOG.clear()
    if way == "everywhere":
        with enable_everywhere():
            return drop(holder)
    minidynamo._dynamo.reset()
    return (minidynamo.compile(drop, backend="eager") if way == "compiled" else drop)(holder)


@pytest.mark.parametrize(
    "drop", [delete_attribute, store_attribute, delete_item, store_item, delete_global, store_global]
)
def test_objects_with_a_single_owner_die_with_it(drop):
    for name, make in HOLDERS.items():
        wanted = ends_of_life(drop, make, "plain")
        assert wanted == (name != "shared")
        for way in ("compiled", "everywhere"):
            assert ends_of_life(drop, make, way) == wanted, (name, way)
    for name, make in WATCHED.items():
        assert ends_of_life(drop, make, "plain") == ends_of_life(drop, make, "everywhere") == 1, name
