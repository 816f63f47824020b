"""Decisions on whether two objects are one: ways to reach the one, kept from call to call, times ways to reach the other, which changes."""

import itertools

import pytest

import minidynamo
from minidynamo import ones

CALLS = 12  # a memo of a guard check is made by then


class Node:
    pass


class Slotted:
    __slots__ = ("slot",)


KEPT = {
    "attribute": "self.held",
    "item": "self.items['k']",
    "item of a held dict": "self.node.items['k']",
    "element": "self.elements[0]",
    "element of a tuple": "self.pair[1]",
    "slot": "self.slotted.slot",
    "attribute of a class": "type(self).shared",
    "global": "HELD",
    "cell": "cell",
    "attribute two steps away": "self.node.held",
}
OTHER = {"argument": "other", "attribute": "box.held", "item": "box.items['k']", "element": "box.elements[0]"}
DECISIONS = ["{0} is {1}", "{1} is not {0}", "{0} in [{1}]", "bool({0} is {1}) + 0"]
SOURCE = """
def make(cell):
    def f(x, self, other, box):
        if {decision}:
            return x + 1
        return x * 10 + (1 if cell is None else 0)
    return f
"""


class Held(Node):
    shared = None


def make_objects(held):
    self = Held()
    Held.shared = self.held = held
    self.items, self.elements, self.pair = {"k": held}, [held], (0, held)
    self.node, self.slotted = Node(), Slotted()
    self.node.held, self.node.items, self.slotted.slot = held, {"k": held}, held
    return self


def put(box, value):
    box.held, box.items["k"], box.elements[0] = value, value, value


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("dynamic_first", [False, True])
def test_a_memo_sees_that_the_other_object_changes(kept, dynamic_first):
    for other, decision in itertools.product(OTHER, DECISIONS):
        held = Node()
        names = {"HELD": held}
        text = SOURCE.format(decision=decision.format(KEPT[kept], OTHER[other]))
        exec(text, names)
        function = names["make"](held)
        compiled = minidynamo.compile(function)
        self, box, x = make_objects(held), Node(), ones(1)
        box.items, box.elements = {}, [None]
        order = [True, False] if dynamic_first else [False, True]
        for same in [*order * 2, *[order[0]] * CALLS, *[order[1]] * CALLS, *order * 3]:
            value = held if same else Node()
            put(box, value)
            assert compiled(x, self, value, box).tolist() == function(x, self, value, box).tolist(), text
        minidynamo._dynamo.reset()
