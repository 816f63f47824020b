"""x[key] = part of x, for parts of all sizes: torch's values and exceptions, uncompiled and compiled."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

PARTS = {
    "x[0]": lambda x: x[0],
    "x[:1]": lambda x: x[:1],
    "x[:, :1]": lambda x: x[:, :1],
    "x[1:2, 0]": lambda x: x[1:2, 0],
    "x[1, 1]": lambda x: x[1, 1],
    "x[None]": lambda x: x[None],
    "x[None, 1]": lambda x: x[None, 1],
    "x.t()": lambda x: x.t(),
    "x": lambda x: x,
    "x[::2]": lambda x: x[::2],
    "expanded": lambda x: x[:1].expand(3, 3),
    "apart": lambda x: x[:1] + 1,
}
KEYS = {
    "...": ...,
    ":": slice(None),
    "1:": slice(1, None),
    ":2": slice(0, 2),
    "::2": slice(None, None, 2),
    "0": 0,
    ":, 0": (slice(None), 0),
    "0, 0": (0, 0),
}


def outcome(library, key, part, compiles):
    def store(x):
        x[key] = part(x)

    x = library.arange(9.0).reshape(3, 3).clone()
    try:
        (minidynamo.compile(store) if compiles else store)(x)
    except (RuntimeError, IndexError) as error:
        return type(error), "single memory location" in str(error), x.tolist()
    return x.tolist()


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("key", KEYS)
def test_stores_of_parts(key, part):
    minidynamo._dynamo.reset()
    expected = outcome(torch, KEYS[key], PARTS[part], False)
    for library, compiles in ((minidynamo, False), (minidynamo, True), (torch, True)):
        assert outcome(library, KEYS[key], PARTS[part], compiles) == expected, (library.__name__, compiles)
