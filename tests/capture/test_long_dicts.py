"""Dicts of many keys, made and changed inside a region: a look-up finds the key that dict finds, whatever was done before."""

import collections

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
def test_dict_made_inside(kind, deed, breaks):
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


def test_key_of_a_subclass_beside_its_equal():
    def program(texts):
        d = {f"k{n}": n for n in range(COUNT)}
        return [d.get(text, "none") for text in texts for _ in range(40)], Text("k3") in d

    texts = ["k1", Text("k2"), "k60", Text("k61")]
    compiled = minidynamo.compile(program)
    assert compiled(texts) == program(texts)


# Each of its instructions puts 17 keys into the dict that is there.
def test_display_of_many_keys():
    text = "{" + ",".join(f"{n}: '{n}'" for n in range(20000)) + "}"
    code = compile(text, "display", "eval")
    wanted = eval(code)
    with enable_everywhere():
        got = eval(code)
    assert list(got.items()) == list(wanted.items())
