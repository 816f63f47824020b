"""The references of a frame that has returned are released, although the region that it was part of continued into
its callers."""

import gc
import sys
import weakref

import minidynamo
from minidynamo import tensor


class Breaking:
    def __init__(self):
        minidynamo._dynamo.graph_break()
        self.me = self


def collect():
    gc.collect()
    return 1


def test_an_object_that_was_created_across_a_break_dies():
    seen = []

    def inner(x):
        made = Breaking()
        kept = weakref.ref(made)
        del made
        collect()
        seen.append(kept() is None)
        return x + 1

    def outer(x):
        return inner(x) * 2

    compiled = minidynamo.compile(outer)
    for _ in range(3):
        compiled(tensor([1.0]))
    assert seen == [True] * 3


class Plain:
    pass


def test_an_object_dies_after_an_output_that_was_replayed(monkeypatch):
    def program(x):
        made = Plain()
        kept = weakref.ref(made)
        print("before")
        del made
        gone = kept() is None
        return x + 1, gone

    compiled = minidynamo.compile(program)
    monkeypatch.setattr("sys.stdout", sys.__stdout__)
    assert [compiled(tensor([1.0]))[1] for _ in range(3)] == [True] * 3


class Registered:
    objects = {}

    def __init__(self, x):
        self.objects[self] = x
        minidynamo._dynamo.graph_break()


def test_an_object_dies_whose_init_broke_within_inlined_calls():
    def inner(x):
        made = Registered(x)
        kept = weakref.ref(made)
        del made
        Registered.objects.clear()
        collect()
        return kept() is None

    def outer(x):
        return inner(x), x + 1

    compiled = minidynamo.compile(outer)
    assert [compiled(tensor([1.0]))[0] for _ in range(3)] == [True] * 3


class Link:
    def __init__(self, parent):
        if parent is None:
            return
        myself = weakref.ref(self)
        self.parent = weakref.ref(parent, lambda _: myself())


def test_a_weak_reference_does_not_return_an_object_pending_deallocation():
    chain = weakref.WeakKeyDictionary()
    last = first = Link(None)
    for _ in range(200):
        chain[last] = last = Link(last)
    with minidynamo._dynamo.eval_frame.enable_everywhere():
        del first
        last = None
        gc.collect()
    assert len(chain) == 0
