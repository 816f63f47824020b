"""Dicts with many keys, built and changed in a region: a look-up finds the same key as dict, whatever was done before."""

import collections
import types

import pytest

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere

COUNT = 60


class Plain:
    def __repr__(self):
        return "Plain()"


class Text(str):
    pass


ALONE = Plain()

KEYS = {
    "numbers": lambda n: n,
    "texts": lambda n: f"key{n}",
    "floats that equal numbers": lambda n: n * 1.0 if n % 2 else n,
    "bytes": lambda n: b"%d" % n,
    "one hash": lambda n: n * ((1 << 61) - 1),
    "tuples": lambda n: (n, "x"),
    "of all kinds": lambda n: [n, f"k{n}", n + 0.5, (n,), None, True, ALONE, -n][n % 8],
}


def found_again(d, keys):
    for _ in range(2):
        for key in keys:
            d[key] = d[key], 1
    return sum(1 for key in keys if key in d)


def missing(d, keys):
    return [d.get(f"no{n}", n) for n in range(50)]


def replaced_by_equal_keys(d, keys):
    for n in range(50):
        d[float(n)] = "float"
        d[bool(n)] = "bool"
    return [type(key) for key in d]


def erased_and_put_back(d, keys):
    found = []
    for key in keys[::3]:
        found.append(d.pop(key, "none"))
        found.append(key in d)
        if len(found) % 4 == 0:
            d[key] = "back"
    return found


def popped_from_the_end(d, keys):
    found = []
    while len(d) > 10:
        found.append((d.popitem(), keys[5] in d, keys[-1] in d))
    return found


def cleared_and_filled(d, keys):
    before = [key in d for key in keys]
    d.clear()
    for n in range(40):
        d[n + 7] = n
    return before, [key in d for key in keys], [d.get(n) for n in range(60)]


def updated(d, keys):
    d.update({n: "new" for n in range(-20, 90)})
    d |= {key: "newer" for key in keys[::2]}
    return [d[key] for key in keys]


def counted_down(d, keys):
    found = []
    for key in keys:
        found.append(list(d)[0])
        del d[list(d)[0]]
        found.append(key in d)
        if not d:
            break
    return found


DEEDS = [
    found_again,
    missing,
    replaced_by_equal_keys,
    erased_and_put_back,
    popped_from_the_end,
    cleared_and_filled,
    updated,
    counted_down,
]


def moved_to_the_ends(keys):
    d = collections.OrderedDict.fromkeys(keys, 0)
    found = []
    for n, key in enumerate(keys):
        d[key] = d[key], n
        d.move_to_end(keys[-n], last=n % 3 == 0)
        found.append((d[keys[n // 2]], keys[-1] in d))
    return found, list(d.items())


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("breaks", [False, True])
def test_dict_created_inside(kind, deed, breaks):
    make, count = KEYS[kind], COUNT

    def program(start):
        keys = [make(n + start) for n in range(count)]
        d = {}
        for key in keys:
            d[key] = "first"
        if breaks:
            graph_break()
        found = deed(d, keys)
        return found, list(d.items())

    compiled = minidynamo.compile(program)
    for start in (0, 0, 3):
        assert repr(compiled(start)) == repr(program(start))


@pytest.mark.parametrize("kind", KEYS)
def test_order_of_a_long_dict(kind):
    keys = list(dict.fromkeys(KEYS[kind](n) for n in range(COUNT)))
    compiled = minidynamo.compile(moved_to_the_ends)
    for _ in range(2):
        assert repr(compiled(keys)) == repr(moved_to_the_ends(keys))


def test_key_of_a_subclass_next_to_an_equal_key():
    def program(texts):
        d = {f"k{n}": n for n in range(COUNT)}
        return [d.get(text, "none") for text in texts for _ in range(40)], Text("k3") in d

    texts = ["k1", Text("k2"), "k60", Text("k61")]
    compiled = minidynamo.compile(program)
    assert compiled(texts) == program(texts)


# Each of its instructions puts 17 keys into the existing dict.
def test_display_of_many_keys():
    text = "{" + ",".join(f"{n}: '{n}'" for n in range(20000)) + "}"
    code = compile(text, "display", "eval")
    wanted = eval(code)
    with enable_everywhere():
        got = eval(code)
    assert list(got.items()) == list(wanted.items())


# ---- dicts with very many entries, where a pass over them at each store would take minutes: each is captured as a whole ----
MANY = 10_000


@pytest.fixture
def all_in_one_region():
    """Without a limit on the number of steps: this tests the cost of a step."""
    with minidynamo._dynamo.config.patch(walk_limit=10_000_000):
        yield


CONSTANTS = {
    "numbers": lambda n: n,
    "texts": lambda n: f"key{n}",
    "tuples": lambda n: (n, f"key{n}", 1.5),
}
# Each leaves a dict of MANY keys; `outside` is an empty dict passed in by the caller.
WAYS = {
    "dict() of pairs": "d = dict(zip(keys, keys))",
    "dict() of a dict": "d = dict(dict.fromkeys(keys, 1))",
    "fromkeys": "d = dict.fromkeys(keys, 1)",
    "update with pairs": "d = {}\n    d.update(zip(keys, keys))",
    "update with a list of pairs": "d = {}\n    d.update(list(zip(keys, keys)))",
    "update with a dict": "d = {1: 2}\n    d.update(dict.fromkeys(keys, 1))",
    "merged": "d = dict.fromkeys(keys[:1000], 1) | dict.fromkeys(keys, 2)",
    "merged in place": "d = dict.fromkeys(keys[::3], 1)\n    d |= dict.fromkeys(keys, 2)",
    "display of dicts": "d = {**dict.fromkeys(keys[1:], 1), **dict.fromkeys(keys, 2)}",
    "copied": "d = dict.fromkeys(keys, 1).copy()",
    "gone over": "d = dict(dict.fromkeys(keys, 1).items())",
    "keys gone over": "d = dict.fromkeys(dict.fromkeys(keys, 1))",
    "stored twice": "d = dict(zip(keys + keys, keys[::-1] + keys))",
    "into a pre-existing one": "d = outside\n    d.update(zip(keys, keys))",
    "into a pre-existing one, twice": "d = outside\n    d.update(zip(keys, keys))\n    d.update(dict.fromkeys(keys, 1))",
    "into a pre-existing one, in place": "d = outside\n    d |= dict.fromkeys(keys, 1)",
    "an OrderedDict": "d = collections.OrderedDict(zip(keys, keys))",
    "a loop": "d = {}\n    for key in keys[:9000]:\n        d[key] = 1\n    d.update(dict.fromkeys(keys, 2))",
    "a loop into a pre-existing one": "d = outside\n    for key in keys[:9000]:\n        d[key] = 1\n    d.update(zip(keys, keys))",
    "beside id()": "d = {id(outside): 1}\n    d = dict.fromkeys(keys, d[id(outside)])",
}


def with_constant(source, value):
    """Returns the function `program` of the source, with a value in place of the constant "VALUE"."""
    names = {"collections": collections}
    exec(source, names)
    code = names["program"].__code__
    constants = tuple(value if constant == "VALUE" else constant for constant in code.co_consts)
    return types.FunctionType(code.replace(co_consts=constants), names)


def long_program(way, kind):
    keys = tuple(CONSTANTS[kind](n) for n in range(MANY if kind == "numbers" else MANY // 8))
    return with_constant(f"def program(outside):\n    keys = 'VALUE'\n    {WAYS[way]}\n    return d", keys)


@pytest.mark.parametrize("kind", CONSTANTS)
@pytest.mark.parametrize("way", WAYS)
def test_dict_of_very_many_keys(way, kind, all_in_one_region):
    program = long_program(way, kind)
    compiled = minidynamo.compile(program, fullgraph=True)
    for _ in range(2):
        assert list(compiled({}).items()) == list(program({}).items())


def test_call_with_very_many_keywords(all_in_one_region):
    """**mapping twice: each key is looked up among the keywords that were passed already."""
    keys = tuple(f"k{n}" for n in range(MANY))
    program = with_constant(
        "def program():\n    keys = 'VALUE'\n"
        "    return dict(**dict.fromkeys(keys[::2], 1), **dict.fromkeys(keys[1::2], 2))",
        keys,
    )
    compiled = minidynamo.compile(program, fullgraph=True)
    assert list(compiled().items()) == list(program().items())


def test_set_of_very_many_elements(all_in_one_region):
    """Iterated over while it does not change, and changed one element at a time."""
    program = with_constant(
        "def program(outside):\n    elements = 'VALUE'\n    s = set(elements)\n"
        "    total = sum(list(s))\n    for n in elements[:9000]:\n        s.discard(n)\n        outside.discard(n)\n"
        "    return total, len(s), outside",
        tuple(range(MANY)),
    )
    compiled = minidynamo.compile(program, fullgraph=True)
    for _ in range(2):
        assert compiled(set(range(500))) == program(set(range(500)))
