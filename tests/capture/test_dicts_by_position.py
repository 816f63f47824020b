"""Dicts of every class that a program may use, with keys that are found by position: read, iterated over, changed
over a break."""

import collections

import pytest

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere


class Key:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class Subclass(dict):
    pass


class SubclassOfDefault(collections.defaultdict):
    pass


KEYS = [Key("first"), Key("second"), Key("third")]

CLASSES = {
    "dict": dict,
    "subclass": Subclass,
    "defaultdict": lambda: collections.defaultdict(list),
    "subclass of defaultdict": lambda: SubclassOfDefault(list),
    "OrderedDict": collections.OrderedDict,
    "Counter": collections.Counter,
}

MIXES = {
    "objects": KEYS,
    "classes": [int, Key, float],
    "objects and texts": [KEYS[0], "text", KEYS[1], 3],
    "tuples of objects": [(KEYS[0], 1), (KEYS[1], 2)],
    "texts": ["a", "b", "c"],
}


def read_by_key(d, keys):
    found = [d[key] for key in keys]
    graph_break()
    for values in found:
        values.append(1)
    return found


def values_iterated(d, keys):
    for values in d.values():
        graph_break()
        values.append(2)
    return any(d.values())


def items_iterated(d, keys):
    found = []
    for key, values in d.items():
        graph_break()
        found.append((key, len(values)))
    return found


def keys_iterated(d, keys):
    return [(key, d[key][0]) for key in d]


def changed(d, keys):
    d[keys[0]].append("more")
    d[keys[-1]] = d[keys[1]]
    graph_break()
    del d[keys[0]]
    return list(d.values())


def copied(d, keys):
    both = dict(d)
    graph_break()
    return list(both.items())


WAYS = [read_by_key, values_iterated, items_iterated, keys_iterated, changed, copied]


def made(make, keys):
    d = make()
    for place, key in enumerate(keys):
        d[key] = [place]
    return d


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("everywhere", [False, True])
def test_dicts(cls, mix, way, everywhere):
    keys = MIXES[mix]

    def program(d):
        return way(d, keys)

    compiled = program if everywhere else minidynamo.compile(program)
    # A dict with the same keys, one in another order, and one whose keys have been moved.
    for order in (keys, keys, keys[::-1], keys[1:] + keys[:1], keys):
        plain, ours = made(CLASSES[cls], order), made(CLASSES[cls], order)
        for d in (plain, ours):
            d.pop(keys[1])
            d[keys[1]] = ["again"]
        wanted = repr((program(plain), plain))
        if everywhere:
            with enable_everywhere():
                got = compiled(ours)
        else:
            got = compiled(ours)
        assert repr((got, ours)) == wanted
