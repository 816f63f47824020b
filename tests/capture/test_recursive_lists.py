"""Lists that contain themselves, or one list in many places, compared with other lists: the result or RecursionError of eager Python,
and no crash.
"""

import copy

import pytest

import minidynamo as md


def made():
    items = [1]
    items.append(items)
    return items


def nested():
    items = [1, (2, [])]
    items[1][1].append(items)
    return items


def sliced():
    items = [1]
    items.append(slice(items))
    return items


def shared():
    """Contains 2 ** 60 numbers if every place is visited."""
    items = [1]
    for _ in range(60):
        items = [items, items]
    return items


COMPARISONS = {
    "!= number": lambda items: items != 2,
    "== number": lambda items: items == 2,
    "number ==": lambda items: 2 == items,
    "== text": lambda items: items == "a",
    "== shorter": lambda items: items == [1],
    "== itself": lambda items: items[0] == 1 and items == items,  # noqa: PLR0124
    "in": lambda items: 3 in items,
    "count": lambda items: items.count(2),
    "filtered": lambda items: len(list(filter(lambda item: item != 2, items))),
    "comprehension": lambda items: len([item for item in items if item != 2]),
}


def outcome(function, items):
    try:
        return function(items)
    except RecursionError:
        return RecursionError


@pytest.mark.parametrize("broken", [False, True], ids=["one graph", "after a break"])
@pytest.mark.parametrize("make", [made, nested, sliced, shared], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name, make, broken):
    compare = COMPARISONS[name]

    def function(x):
        items = make()
        if broken:
            md._dynamo.graph_break()
        return outcome(compare, items), x + 1

    got, y = md.compile(function)(md.zeros(1))
    assert got == outcome(compare, make())
    assert y.tolist() == [1.0]


WALKS = {
    "deepcopy": lambda items: copy.deepcopy(items)[0] == 1,
    "loop": lambda items: [isinstance(item, list) for item in items],
    "loop with ranges": lambda items: sum(n for item in items if item == 1 for n in range(item)),
    "loop over itself": lambda items: sum(n for item in items if isinstance(item, list) for n in range(len(item))),
    "unpacked": lambda items: [part for first, *_ in [items] for part in range(3) if first is not part],
    "texts": lambda items: len(str(items[:1])),
    "sorted by length": lambda items: len(sorted([items, [1]], key=len)),
    "joined": lambda items: len(items + items),
    "set of ids": lambda items: len({id(item) for item in items}),
}


@pytest.mark.parametrize("make", [made, nested, sliced], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", WALKS)
def test_walks(name, make):
    walk = WALKS[name]

    def function(x):
        return outcome(walk, make()), x + 1

    got, y = md.compile(function)(md.zeros(1))
    assert got == outcome(walk, make())
    assert y.tolist() == [1.0]
