"""The order of sets, and how they grow, is that of their hash tables: after any history it is as in eager Python."""

import random

import pytest

import minidynamo
from minidynamo import ones

# Many of them collide in small tables.
POOL = [
    0,
    8,
    16,
    24,
    32,
    64,
    7,
    15,
    31,
    63,
    127,
    96,
    5,
    37,
    69,
    3,
    11,
    19,
    27,
    "a",
    "bb",
    "ccc",
    None,
    True,
    2.5,
    (1, 2),
]
LATER = [100, 40, "z", 1000, 17]

# What is made of a set and of another table; `s` is an argument or made inside.
STEPS = """
s.update({other})
s.update([{items}])
s.update({other}, [{items}], {keyed})
s.update({keyed})
s.update(s)
s.add({one})
s.discard({one})
s |= {other}
s |= s
s -= {other}
s -= s
s &= {other}
s ^= {other}
t = s | {other}
t = {other} | s
t = s & {other}
t = s - {other}
t = s ^ {other}
t = s.copy()
t = set(s)
t = set(frozenset(s) | {other})
t = set({keyed})
t = set(frozenset({keyed}))
t = {{*s, *{other}}}
t = {{*{keyed}, *s}}
t = {{e for e in s}}
t = {keyed}.keys() | s
t = set(s).difference({keyed})
t = s.union({other}, s)
t = set(list(s))
t.update(s)
t -= s
x = (t and t.pop(), x)
""".strip().splitlines()


def listed(drawn):
    return [drawn.choice(POOL) for _ in range(drawn.randint(1, 12))]


def program(drawn, is_argument):
    """The source of a function of x and a set."""
    lines = [] if is_argument else [f"    s = {{{', '.join(map(repr, listed(drawn)))}}}"]
    lines.append(f"    t = {{{', '.join(map(repr, listed(drawn)))}}}")
    for _ in range(drawn.randint(1, 4)):
        items = listed(drawn)
        texts = {"items": ", ".join(map(repr, items)), "one": repr(items[0]), "keyed": f"dict.fromkeys({items!r})"}
        lines.append("    " + drawn.choice(STEPS).format(other=f"{{{texts['items']}}}", **texts))
    return "\n".join(["def f(x, s):", *lines, "    return x, list(t), s, t"])


def argument(seed):
    """A set after some additions and removals."""
    drawn, items = random.Random(seed), set()
    for _ in range(drawn.randint(1, 14)):
        items.add(drawn.choice(POOL))
        if drawn.random() < 0.3:
            items.discard(drawn.choice(POOL))
    return items


def grown(items):
    table = set(range(1000, 1040)) | items
    table.difference_update(range(1000, 1040))
    return table


# Sets with equal elements, some in the same order, in other tables.
HISTORIES = {
    "as it is": lambda items: items,
    "copied": set.copy,
    "in order": lambda items: set(list(items)),
    "grown": grown,
}


def seen(result):
    """The orders of the sets now, and after they have grown."""
    x, order, s, t = result
    orders = [order, list(s), list(t)]
    for items in (s, t):
        items.update(LATER)
    return repr((x, orders, list(s), list(t)))


def check_drawn(seed):
    drawn = random.Random(seed)
    is_argument = drawn.random() < 0.5
    source = program(drawn, is_argument)
    scope = {}
    exec(source, scope)
    compiled = minidynamo.compile(scope["f"])
    for history, change in HISTORIES.items():
        expected = seen(scope["f"](1, change(argument(seed))))
        assert seen(compiled(1, change(argument(seed)))) == expected, f"{history}\n{source}"


@pytest.mark.parametrize("seed", range(150))
def test_orders(seed):
    check_drawn(seed)


# Two elements whose first place in the table is the same: the one that comes first has it.
ORDERS = {
    "the other order": (lambda: {8, 0}, lambda: {0, 8}),
    "after a removal": (lambda: {24, 8, 0} - {24}, lambda: {8, 0}),
    "a long table": (lambda: {1, 2, 40, 8, 72, 104}, lambda: {104, 72, 8, 40, 2, 1}),
}


@pytest.mark.parametrize("case", ORDERS)
def test_sets_that_stay_in_the_region(case):
    first, second = ORDERS[case]

    def both(x):
        return x + 1, first(), second(), list(first()), list(second())

    compiled = minidynamo.compile(both, fullgraph=True)
    for _ in range(2):
        assert repr(compiled(ones(2))[1:]) == repr(both(ones(2))[1:])
