"""A frame that returns drops its locals in the order of CPython, whatever region it ended in: programs drawn at random move
observed objects between locals, the stack and containers, with breaks between."""

import random
import weakref

import pytest

import minidynamo
from minidynamo._dynamo import graph_break

LOG = []
CALLBACKS = []


class Named:
    def __init__(self, name):
        self.name = name


class Deleted(Named):
    def __del__(self):
        LOG.append(self.name)


def deleted(name):
    return Deleted(name)


def called_back(name):
    made = Named(name)
    CALLBACKS.append(weakref.ref(made, lambda _: LOG.append(name)))
    return made


def finalized(name):
    made = Named(name)
    weakref.finalize(made, LOG.append, name)
    return made


MAKERS = {"__del__": deleted, "weakref": called_back, "finalize": finalized}
LOCALS = "abcde"
STATEMENTS = [
    *["{0} = make({n})"] * 4,
    *["{0} = [make({n})]"] * 2,
    "{0} = [make({n}), make({n}.5)]",
    "{0} = (make({n}), x)",
    "{0} = {{'k': make({n})}}",
    *["{0}, {1} = {1}, {0}"] * 3,
    "{0} = {1}",
    "{0} = {1}; {1} = None",
    "{0} = [{1}]",
    "{0}, {1}, {2} = {1}, {2}, {0}",
    *["x = x + 1"] * 3,
    "graph_break()",
    "graph_break(); {0}, {1} = {1}, {0}",
    "{0} = kept(make({n}))",
    "LOG.append('here')",
]
PROGRAMS = 150


def body(draw, first):
    count = draw.randrange(2, 6)
    names = draw.sample(LOCALS, count)
    lines = [f"{name} = None" for name in names]
    for n in range(draw.randrange(2, 8)):
        chosen = [draw.choice(names) for _ in range(3)]
        lines.append(draw.choice(STATEMENTS).format(*chosen, n=first + n))
    lines.append(draw.choice(["return x", "x = x * 2; return x"]))
    return lines


def function(name, lines):
    return f"def {name}(x):\n" + "".join(f"    {line}\n" for line in lines)


def source(seed):
    draw = random.Random(seed)
    inner = function("inner", body(draw, 100))
    outer = body(draw, 0)
    if draw.random() < 0.5:
        outer.insert(draw.randrange(3, len(outer)), "x = inner(x)")
    return inner + "\n" + function("f", outer)


def outcome(source, maker, compiles):
    def kept(made):
        graph_break()
        return made

    names = {"make": maker, "LOG": LOG, "graph_break": graph_break if compiles else lambda: None, "kept": kept}
    exec(source, names)
    called = minidynamo.compile(names["f"]) if compiles else names["f"]
    seen = []
    for _ in range(3):
        LOG.clear()
        seen.append((called(minidynamo.ones(2)).tolist(), list(LOG)))
    CALLBACKS.clear()
    return seen


def check_drawn(seed, makers=MAKERS):
    text = source(seed)
    for maker in makers:
        wanted = outcome(text, MAKERS[maker], False)
        assert outcome(text, MAKERS[maker], True) == wanted, (seed, maker, text)
        minidynamo._dynamo.reset()


@pytest.mark.parametrize("maker", MAKERS)
def test_locals_die_in_their_order(maker):
    for seed in range(PROGRAMS):
        check_drawn(seed, [maker])
