"""Operators and methods of a Size, with sizes that vary: compiled as in eager Python, with results of the type that torch's Size gives."""

import pytest

import minidynamo
from minidynamo._dynamo import config

# Over `s`, a Size of three elements. True: one capture serves all sizes, after that for the first ones.
EXPRESSIONS = {
    "s": True,
    "s[0]": True,
    "s[-1]": True,
    "s[1:]": True,
    "s[:-1]": True,
    "s[::-1]": True,
    "s[::2]": True,
    "s[2:0:-1]": True,
    "s[5:]": True,
    "s[0:0]": True,
    "s + (2, 3)": True,
    "(2,) + s": True,
    "s + s": True,
    "s[1:] + s[:1]": True,
    "s[:1] + (4,) + s[1:]": True,
    "s + ()": True,
    "s * 2": True,
    "2 * s": True,
    "s * 0": True,
    "s * -1": True,
    "len(s)": True,
    "tuple(s)": True,
    "list(s)": True,
    "[*s]": True,
    "(*s, 1)": True,
    "[n + 1 for n in s]": True,
    "tuple(n * 2 for n in s)": True,
    "dict(enumerate(s))": True,
    "list(zip(s, s[1:]))": True,
    "list(reversed(s))": True,
    "sum(s)": True,
    "max(s)": True,
    "min(s)": True,
    "s.numel()": True,
    "s[1:].numel()": True,
    "(s + s).numel()": True,
    "(lambda a, b, c: a * b + c)(*s)": True,
    "(lambda a, *rest: rest)(*s)": True,
    "isinstance(s, tuple)": True,
    "type(s).__name__": True,
    "type(s[1:]).__name__": True,
    "type(s + (1,)).__name__": True,
    "type((1,) + s).__name__": True,
    "type(s * 2).__name__": True,
    "type(tuple(s)).__name__": True,
    "bool(s)": True,
    "s == s": True,
    "s is s": True,
    "s != (1, 2)": True,
    "s == [2, 3, 4]": True,
    "Size(s)": True,
    "Size(list(s))": True,
    "Size([s[0], 2])": True,
    "s.index(s[1])": False,
    "s.count(3)": False,
    "s.count(s[0])": False,
    "s.index(3)": False,
    "s.index(3, 1)": False,
    "3 in s": False,
    "s[0] in s": False,
    "7 not in s": False,
    "s == (2, 3, 4)": False,
    "s != (2, 3, 4)": False,
    "s < (2, 3, 5)": False,
    "s <= (4, 3, 2)": False,
    "s > s[1:]": False,
    "s >= (3,)": False,
    "sorted(s)": False,
    "hash(s) == hash(tuple(s))": False,
    "{s: 1}[s]": False,
    "{tuple(s): 1}[s]": False,
    "s in {(2, 3, 4)}": False,
    "repr(s)": False,
    "str(s)": False,
    "f'{s}'": False,
    "s[s[0]]": False,
    "s.index(100)": False,
    "s[5]": False,
    "s + [1]": False,
    "s + 1": False,
    "s * 1.5": False,
    "s.missing": False,
    "(lambda a, b: a)(*s)": False,
}
SHAPES = ((2, 3, 4), (3, 4, 5), (5, 6, 7), (2, 2, 3), (1, 3, 9), (4, 0, 3), (3, 3, 3), (2, 3, 4), (1, 1, 1))

PROGRAM = """
def of_tensor(x, y):
    s = y.shape
    return x + 1, {text}

def given(x, s):
    return x + 1, {text}

def sized(x, y):
    s = y.size()
    x = x + s[0]
    value = {text}
    return x, value
"""


def described(value):
    """The value with its type; a Size of either library is a Size."""
    if isinstance(value, minidynamo.Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [described(item) for item in value]
    if isinstance(value, dict):
        return [(described(key), described(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


def outcome(function, *arguments):
    try:
        return described(function(*arguments))
    except Exception as error:
        return type(error).__name__, str(error), error.__traceback__.tb_next.tb_lineno


def functions(text):
    names = {"Size": minidynamo.Size}
    exec(compile(PROGRAM.format(text=text), "<program>", "exec"), names)
    return [names["of_tensor"], names["given"], names["sized"]]


@pytest.mark.counts_regions
@pytest.mark.parametrize("way", range(3), ids=["of_tensor", "given", "sized"])
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text, way):
    function = functions(text)[way]
    compiled_count = 0

    def backend(gm, example_inputs):
        nonlocal compiled_count
        compiled_count += 1
        return gm.forward

    x = minidynamo.ones(2)
    compiled = minidynamo.compile(function, backend=backend)
    with config.patch(recompile_limit=64, suppress_internal_errors=False):
        for shape in SHAPES:
            sized = minidynamo.zeros(shape)
            argument = sized.shape if way == 1 else sized
            assert outcome(compiled, x, argument) == outcome(function, x, argument), shape
    assert compiled_count <= (2 if EXPRESSIONS[text] else len(set(SHAPES)))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_torch_gives_the_same(text):
    torch = pytest.importorskip("torch")
    of_torch = eval(f"lambda s: {text}", {"Size": torch.Size})
    ours = eval(f"lambda s: {text}", {"Size": minidynamo.Size})
    for shape in SHAPES:
        try:
            expected = described(of_torch(torch.Size(shape)))
        except Exception as error:
            with pytest.raises(type(error)):
                ours(minidynamo.Size(shape))
            continue
        found = described(ours(minidynamo.Size(shape)))
        assert repr(found).replace("minidynamo.", "") == repr(expected).replace("torch.", "")
