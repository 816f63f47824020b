"""A wrapper created inside copies the metadata of its function as it is at that moment, whatever is assigned before or after.

A table of wrappers, of names and of ways to change them, with functions created inside and pre-existing ones, alone and over a
graph break.
"""

import builtins
import functools

import pytest

import minidynamo
from minidynamo._dynamo import disable, error_on_graph_break

WRAPPERS = {
    "classmethod": classmethod,
    "staticmethod": staticmethod,
    "property": property,
    "setter": lambda function: property(function).setter(function),
    "partial": functools.partial,
    "wraps": lambda function: functools.wraps(function)(lambda: None),
    "disable": disable,
    "disabled twice": lambda function: disable(error_on_graph_break(False)(function)),
}
NAMES = {
    "__doc__": "another text",
    "__name__": "another_name",
    "__qualname__": "another.name",
    "__module__": "another_module",
    "__annotations__": {"y": "int"},
    "plain": 4,
}
SHOWN = (*NAMES, "kept")


def shown(wrapper, inside):
    """The names of the wrapper and of the function that it wraps."""
    owner = getattr(wrapper, "fget", None) or wrapper
    names = {name: getattr(owner, name, "none") for name in SHOWN}
    own = {name: getattr(wrapper, "__dict__", {}).get(name, "none") for name in SHOWN}
    same = wrapper.__annotations__ is inside.__annotations__ if hasattr(wrapper, "__annotations__") else None
    return names, own, wrapper.__doc__, {name: getattr(inside, name, "none") for name in SHOWN}, same


def created_here(documented):
    if documented:

        def function(y: float, z=4):
            """A text."""
            return y, z

    else:

        def function(y, z=4):
            return y, z

    return function


def change(function, names):
    for name in names:
        setattr(function, name, NAMES[name])


def wrap_inside(x, wrapper, outside, documented, before, after, breaks):
    function = outside or created_here(documented)
    function.kept = 1
    change(function, before)
    made = WRAPPERS[wrapper](function)
    if breaks == "between":
        minidynamo._dynamo.graph_break()
    change(function, after)
    if breaks == "after":
        minidynamo._dynamo.graph_break()
    return x + 1, made, function


CHANGES = [((), (name,)) for name in NAMES] + [((name,), (name,)) for name in NAMES]
CHANGES += [((name,), ()) for name in NAMES] + [((), tuple(NAMES)), (tuple(NAMES), ()), ((), ())]


@pytest.mark.parametrize("breaks", ["never", "between", "after"])
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", ["outside", "plain", "documented"])
def test_a_wrapper_copies_the_metadata_of_its_function(kind, wrapper, breaks):
    x = minidynamo.ones(2)
    for before, after in CHANGES:
        minidynamo._dynamo.reset()
        compiled = minidynamo.compile(wrap_inside)
        expected, got = [], []
        for run, into in ((wrap_inside, expected), (compiled, got), (compiled, got)):
            outside = created_here(False) if kind == "outside" else None
            _, made, function = run(x, wrapper, outside, kind == "documented", before, after, breaks)
            into.append(shown(made, function))
        assert got == expected * 2, (before, after)


def named_by_their_maker(x):
    """As collections.namedtuple does it, without a graph break."""

    @classmethod
    def make(cls, items):
        return cls(*items)

    make.__func__.__doc__ = "Makes one."
    make.__func__.__qualname__ = "Pair.make"
    Pair = type("Pair", (), {"make": make, "__init__": lambda self, *items: setattr(self, "items", items)})
    return x + 1, Pair.make((1, 2)).items, Pair


def test_class_with_a_named_class_method_is_one_graph():
    run = minidynamo.compile(named_by_their_maker, fullgraph=True)
    for _ in range(2):
        expected, got = named_by_their_maker(minidynamo.ones(1)), run(minidynamo.ones(1))
        assert expected[1] == got[1]
        for pair in (expected[2], got[2]):
            own = vars(pair)["make"]
            assert own.__doc__ is None and own.__func__.__doc__ == "Makes one."
            assert own.__qualname__.endswith("named_by_their_maker.<locals>.make")
            assert own.__func__.__qualname__ == "Pair.make"


WRITTEN = """
def plain(x, before, after):
    global __name__, __builtins__
    if "name" in before:
        __name__ = "before"
    if "del name" in before:
        del __name__
    if "builtins" in before:
        __builtins__ = {"len": lambda items: "another length"}
    if "item" in before:
        globals()["__name__"] = "an item"
    def made(items=()):
        return len(items)
    if "name" in after:
        __name__ = "after"
    if "builtins" in after:
        __builtins__ = {"len": lambda items: "a later length"}
    return x + 1, made
"""
CHANGED = [(), ("name",), ("del name",), ("builtins",), ("item",), ("name", "builtins")]


def created_in_another_module(compiles, before, after):
    """In a separate module: what the function that is created in it takes from the globals of the module."""
    module = {"__name__": "module", "__builtins__": builtins.__dict__}
    exec(WRITTEN, module)  # noqa: S102
    run = minidynamo.compile(module["plain"]) if compiles else module["plain"]
    found = []
    for _ in range(3):
        module.update(__name__="module", __builtins__=builtins.__dict__)
        made = run(minidynamo.ones(2), before, after)[1]
        found.append((made.__module__, made(), made.__builtins__ is module["__builtins__"], module.get("__name__")))
    return found


@pytest.mark.parametrize("after", [(), ("name",), ("builtins",)], ids=str)
@pytest.mark.parametrize("before", CHANGED, ids=str)
def test_a_function_reads_its_globals_when_it_is_created(before, after):
    assert created_in_another_module(True, before, after) == created_in_another_module(False, before, after)
