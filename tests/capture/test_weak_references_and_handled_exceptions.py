"""The state of weak references, weak tables and handled exceptions that a region has read is checked again at each
call."""

import functools
import gc
import sys
import weakref

import pytest

import minidynamo
from minidynamo import tensor

MANY = 12  # the calls after which guards are checked through their memo


class Node:
    def __init__(self, value):
        self.value = value


def _warm(compiled, *args):
    for _ in range(MANY):
        result = compiled(*args)
    return result


def test_the_handled_exception_is_read_each_time():
    compiled = minidynamo.compile(lambda x: (x + 1, sys.exc_info()[0], sys.exception()))
    assert _warm(compiled, tensor([1.0]))[1:] == (None, None)
    try:
        raise ValueError("v")
    except ValueError as error:
        assert compiled(tensor([1.0]))[1:] == (ValueError, error)
    assert compiled(tensor([1.0]))[1:] == (None, None)


def test_a_reference_that_dies_is_noticed():
    node = Node(2.0)
    reference = weakref.ref(node)

    def function(x):
        found = reference()
        return x if found is None else x * found.value

    compiled = minidynamo.compile(function, fullgraph=True)
    assert _warm(compiled, tensor([1.0])).tolist() == [2.0]
    del node
    gc.collect()
    assert compiled(tensor([1.0])).tolist() == [1.0]


def test_the_region_keeps_nothing_alive():
    node = Node(2.0)
    holder = [weakref.ref(node)]
    compiled = minidynamo.compile(lambda x, node: (x * weakref.ref(node)().value, holder[0]().value), fullgraph=True)
    _warm(compiled, tensor([1.0]), node)
    del node
    gc.collect()
    assert holder[0]() is None


def test_changes_of_a_weak_table_are_noticed():
    first, second = Node(1.0), Node(2.0)
    table = weakref.WeakKeyDictionary({first: 10.0})
    compiled = minidynamo.compile(lambda x, key: x * table[key] if key in table else x, fullgraph=True)
    x = tensor([1.0])
    assert _warm(compiled, x, first).tolist() == [10.0]
    assert _warm(compiled, x, second).tolist() == [1.0]
    table[second] = 20.0
    table[first] = 30.0
    assert [compiled(x, key).tolist() for key in (first, second)] == [[30.0], [20.0]]
    del table[first]
    assert compiled(x, first).tolist() == [1.0]


def test_a_later_registration_is_dispatched_to():
    @functools.singledispatch
    def scale(value):
        return 1.0

    @scale.register
    def _(value: int):
        return 2.0

    compiled = minidynamo.compile(lambda x, value: x * scale(value))
    x = tensor([1.0])
    assert _warm(compiled, x, 3).tolist() == [2.0]
    assert _warm(compiled, x, "text").tolist() == [1.0]
    scale.register(str, lambda value: 5.0)
    assert compiled(x, "text").tolist() == [5.0]
    assert compiled(x, 3).tolist() == [2.0]
    assert scale.dispatch(str)("a") == 5.0


def test_dispatch_updates_its_table_as_uncompiled_calls_do():
    @functools.singledispatch
    def scale(value):
        return 1.0

    (cells,) = [
        cell for cell in scale.dispatch.__closure__ if isinstance(cell.cell_contents, weakref.WeakKeyDictionary)
    ]
    table = cells.cell_contents
    compiled = minidynamo.compile(lambda x, value: x * scale(value))

    class Local:
        pass

    compiled(tensor([1.0]), 3), compiled(tensor([1.0]), Local())
    assert set(table) == {int, Local}
    del Local
    minidynamo._dynamo.reset()
    gc.collect()
    assert set(table) == {int}


@pytest.mark.parametrize("maxsize", [None, 8])
def test_a_cache_is_read_each_time(maxsize):
    calls = []

    @functools.lru_cache(maxsize)
    def cached(n):
        calls.append(n)
        return float(n)

    compiled = minidynamo.compile(lambda x: x * cached(3), fullgraph=True)
    x = tensor([1.0])
    assert _warm(compiled, x).tolist() == [3.0]
    assert cached.cache_info()[:2] == (MANY - 1, 1)
    cached.cache_clear()
    assert _warm(compiled, x).tolist() == [3.0]
    assert (cached.cache_info()[:2], calls) == ((MANY - 1, 1), [3, 3])


class Holder:
    def __init__(self, node):
        self.node, self.count = node, 0


def test_what_is_held_is_followed_after_a_write():
    node = Node(2.0)
    holder, reference, counts = Holder(node), weakref.ref(node), []

    def function(x):
        value = holder.node.value
        counts.append(1)
        found = reference()
        found.value = value + 1
        return x * value

    compiled = minidynamo.compile(function, fullgraph=True)
    for number in range(MANY):
        assert compiled(tensor([1.0])).tolist() == [2.0 + number]
    assert node.value == 2.0 + MANY and len(counts) == MANY
    other = Node(5.0)
    holder.node = other
    assert minidynamo.compile(function)(tensor([1.0])).tolist() == [5.0]
    assert node.value == 6.0 and other.value == 5.0


def test_what_the_region_lets_go_is_not_followed():
    holder = Holder(Node(2.0))

    def function(x, reference):
        value = holder.node.value
        holder.node = None
        return x * value, reference() is None

    compiled = minidynamo.compile(function)
    for number in range(3):
        holder.node = Node(2.0)
        result, is_dead = compiled(tensor([1.0]), weakref.ref(holder.node))
        assert (result.tolist(), is_dead) == ([2.0], True)
