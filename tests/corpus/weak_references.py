"""Weak references: created and followed, and functools.singledispatch, which caches its results under them."""

import functools
import weakref

from differential import snippet, whole, whole_on_311

from minidynamo import tensor


class Node:
    def __init__(self, value):
        self.value = value


class Child:
    def __init__(self, parent):
        self.parent = weakref.ref(parent)
        self.kept = parent


@whole(lambda: (tensor([1.0]), Child(Node(2.0))))
def followed(x, child):
    return x * child.parent().value


def _gone():
    child = Child(Node(2.0))
    child.kept = None
    return tensor([1.0]), child


@whole(_gone, lambda: (tensor([1.0]), Child(Node(2.0))))
def followed_to_nothing(x, child):
    parent = child.parent()
    return x if parent is None else x * parent.value


@snippet(lambda: (tensor([1.0]), Child(Node(2.0))))
def followed_after_the_last_reference(x, child):
    child.kept = None
    return x, child.parent() is None


@snippet(lambda: (tensor([1.0]), [Node(2.0)]))
def followed_after_a_pop(x, nodes):
    reference = weakref.ref(nodes[0])
    nodes.pop()
    return x, reference() is None


@snippet(lambda: (tensor([1.0]), Node(2.0)))
def followed_after_del(x, node):
    reference = weakref.ref(node)
    alive = reference() is node
    del node
    return x, alive


NODE = Node(2.0)


@whole(lambda: (tensor([1.0]), NODE))
def created_and_followed(x, node):
    reference = weakref.ref(node)
    return x * reference().value, reference() is node, reference is weakref.ref(node)


@snippet(lambda: (tensor([1.0]), Node(2.0)))
def created_and_kept(x, node):
    reference = weakref.ref(node)
    return x, reference() is node, [reference][0] is weakref.ref(node)


@snippet()
def of_a_created_object(x):
    node = Node(3.0)
    reference = weakref.ref(node)
    alive = reference() is node
    del node
    return x, alive, reference() is None


KEYS = Node(1.0), Node(2.0), Node(3.0)


def _weak_keys():
    keys = KEYS
    table = weakref.WeakKeyDictionary({keys[0]: 10.0, keys[1]: 20.0})
    return tensor([1.0]), table, keys


@whole_on_311(_weak_keys)
def table_of_weak_keys(x, table, keys):
    return x * table[keys[1]], keys[0] in table, keys[2] in table, table.get(keys[2], 5)


@snippet(_weak_keys)
def table_of_weak_keys_written(x, table, keys):
    table[keys[2]] = 30.0
    return x * table[keys[2]], len(table)


@whole_on_311(_weak_keys)
def table_of_weak_keys_without_it(x, table, keys):
    try:
        return x * table[keys[2]]
    except KeyError:
        return x


def _weak_values():
    kept = Node(1.0)
    return tensor([1.0]), weakref.WeakValueDictionary({"a": kept}), kept


@whole_on_311(_weak_values)
def table_of_weak_values(x, table, kept):
    return x * table["a"].value


@snippet(_weak_keys)
def proxy(x, table, keys):
    return x * weakref.proxy(keys[0]).value


def _dispatching():
    @functools.singledispatch
    def describe(value):
        return "object"

    @describe.register
    def _(value: int):
        return "int"

    @describe.register(list)
    def _(value):
        return "list"

    return tensor([1.0]), describe


def _dispatched():
    x, describe = _dispatching()
    describe(1), describe("a"), describe([])
    return x, describe


@whole_on_311(_dispatching, _dispatched)
def dispatched_by_class(x, describe):
    return x, describe(1), describe([]), describe(2)


@snippet(_dispatching, _dispatched)
def dispatched_to_a_base(x, describe):
    return x, describe(True), describe("text"), describe(True), describe(x)


@whole_on_311(_dispatched)
def dispatched_to_the_default(x, describe):
    return x, describe("text")


class Describing:
    @functools.singledispatchmethod
    def of(self, value):
        return "object"

    @of.register
    def _(self, value: int):
        return "int"


@whole_on_311(lambda: (tensor([1.0]), Describing()))
def dispatched_method(x, describing):
    return x, describing.of(1), describing.of("a")
