"""What a frame that has returned held is let go of, though the region that it was part of went on into its callers."""

import gc
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


def test_an_object_that_was_made_through_a_break_dies():
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
