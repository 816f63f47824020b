"""Invalid calls of every op: a clear exception with the op's name, never a crash or an internal error."""

import random
import re

import pytest

import minidynamo as md
from minidynamo import _C

ROWS = _C._op_rows()
# Acceptable exceptions for a user's mistake; an InternalError, a SystemError or a crash is a bug.
USER_ERRORS = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError, OverflowError, MemoryError)


def python_name(row):
    return row["name"].partition(".")[0]


def parameters(row):
    """(type, name, has default) of each parameter."""
    inner = row["schema"][row["schema"].index("(") + 1 : row["schema"].rindex(") ->")]
    found = []
    for part in re.split(r", (?![^\[]*\])", inner):
        if part and part != "*":
            kind, _, rest = part.rpartition(" ")
            name, _, default = rest.partition("=")
            found.append((kind, name, bool(default)))
    return found


def callables(row):
    name = python_name(row)
    if row["function"]:
        yield getattr(md, name)
    if row["functional"]:
        yield getattr(md.nn.functional, name)
    if row["method"]:
        yield getattr(md.Tensor, name)
    if row["in_place"]:
        yield getattr(md.Tensor, name + "_")


BY_NAME = {}
for _row in ROWS:
    for _callable in callables(_row):
        BY_NAME.setdefault((python_name(_row), type(_callable).__name__, id(_callable)), (_callable, []))[1].append(
            _row
        )
CALLABLES = [(name, function, rows) for (name, _, _), (function, rows) in sorted(BY_NAME.items())]
IDS = [f"{name}-{type(function).__name__[:6]}" for name, function, _ in CALLABLES]


def mentions(name, error):
    return name in str(error)


def takes_complex_number(row, name):
    kinds = {each: kind for kind, each, _ in parameters(row)}
    return row["takes_complex"] and kinds.get(name, "").rstrip("?") == "Number"


def is_descriptor(function):
    return type(function).__name__ == "method_descriptor"


@pytest.mark.parametrize(("name", "function", "rows"), CALLABLES, ids=IDS)
def test_wrong_types(name, function, rows):
    for row in rows:
        params = parameters(row)
        for wrong in (object(), {}, 1j, lambda: 0):
            for position in range(len(params)):
                if position == 0 and is_descriptor(function):
                    continue  # the descriptor itself rejects a self that is not a Tensor
                if wrong == 1j and any(takes_complex_number(each, params[position][1]) for each in rows):
                    continue
                args = [good_value(kind) for kind, _, _ in params[:position]]
                with pytest.raises(TypeError) as caught:
                    function(*args, **{params[position][1]: wrong})
                assert mentions(name, caught.value)


def good_value(kind):
    kind = kind.rstrip("?")
    return {
        "Tensor": md.ones(2, 2),
        "Tensor[]": [md.ones(2, 2)],
        "Scalar": 1,
        "Number": md.ones(2, 2),
        "int": 0,
        "int[]": [0],
        "int[*]": [2, 2],
        "float": 0.5,
        "bool": False,
        "dtype": md.float32,
        "str": "none",
        "device": "cpu",
        "any": 1,
    }.get(kind)


@pytest.mark.parametrize(("name", "function", "rows"), CALLABLES, ids=IDS)
def test_wrong_argument_names_and_counts(name, function, rows):
    with pytest.raises(TypeError) as caught:
        function(*[md.ones(2, 2)] * 12)
    assert mentions(name, caught.value)
    first = [md.ones(2, 2)] if is_descriptor(function) else []
    with pytest.raises(TypeError) as caught:
        function(*first, no_such_argument=1)
    assert mentions(name, caught.value)


@pytest.mark.parametrize(("name", "function", "rows"), CALLABLES, ids=IDS)
def test_missing_arguments(name, function, rows):
    if is_descriptor(function) or any(all(default for _, _, default in parameters(row)) for row in rows):
        return
    with pytest.raises(TypeError) as caught:
        function()
    assert mentions(name, caught.value)


POOL = [
    lambda: md.ones(2, 3),
    lambda: md.ones(3),
    lambda: md.ones(0, 2),
    lambda: md.tensor(2),
    lambda: md.tensor([True, False]),
    lambda: md.ones(2, 3, 4, dtype=md.float64).permute(2, 0, 1),
    lambda: md.ones(1, 3).expand(4, 3),
    lambda: md.arange(3),
    lambda: md.ones(2, 2, dtype=md.bfloat16),
    lambda: [md.ones(2), md.ones(3)],
    lambda: [],
    lambda: (),
    lambda: 0,
    lambda: 1,
    lambda: -1,
    lambda: 3,
    lambda: 2**62,
    lambda: -(2**63),
    lambda: 2**64,
    lambda: 0.5,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: True,
    lambda: None,
    lambda: (2, 3),
    lambda: (-1, 2),
    lambda: [2**40, 2**40],
    lambda: "none",
    lambda: md.float16,
    lambda: md.int64,
    lambda: "cpu",
]


def call_wrongly(function, rows, choose):
    args = [choose.choice(POOL)() for _ in range(choose.randrange(5))]
    if is_descriptor(function):
        args.insert(0, choose.choice(POOL[:9])())
    keywords = {}
    names = [n for row in rows for _, n, _ in parameters(row)]
    if names and choose.random() < 0.3:
        keywords[choose.choice(names)] = choose.choice(POOL)()
    try:
        result = function(*args, **keywords)
    except USER_ERRORS as error:
        assert type(error) in USER_ERRORS and str(error)
    else:
        assert result is not None


@pytest.mark.parametrize(("name", "function", "rows"), CALLABLES, ids=IDS)
def test_random_arguments(name, function, rows):
    choose = random.Random(name)
    for _ in range(60):
        call_wrongly(function, rows, choose)


def check_drawn(seed):
    choose = random.Random(seed)
    _, function, rows = choose.choice(CALLABLES)
    call_wrongly(function, rows, choose)


SHAPE_ERRORS = [
    (lambda: md.ones(2, 3) + md.ones(4), RuntimeError, "add", r"\(2, 3\)", r"\(4,\)"),
    (lambda: md.ones(2, 3) == md.ones(2), RuntimeError, "eq", r"\(2, 3\)", r"\(2,\)"),
    (lambda: md.matmul(md.ones(2, 3), md.ones(2, 3)), RuntimeError, "matmul", r"\(2, 3\)", r"\(2, 3\)"),
    (lambda: md.nn.functional.linear(md.ones(2, 3), md.ones(4, 5)), RuntimeError, "linear", r"\(2, 3\)", r"\(4, 5\)"),
    (lambda: md.cat([md.ones(2, 3), md.ones(2, 4)]), RuntimeError, "cat", r"\(2, 3\)", r"\(2, 4\)"),
    (lambda: md.stack([md.ones(2), md.ones(3)]), RuntimeError, "stack", r"\(2,\)", r"\(3,\)"),
    (lambda: md.ones(3).view(2, 2), RuntimeError, "view", "2, 2", r"3"),
    (lambda: md.ones(3).reshape(2, 2), RuntimeError, "reshape", "2, 2", r"3"),
    (lambda: md.ones(3).expand(2), RuntimeError, "expand", r"\(2,\)", r"\(3,\)"),
    (lambda: md.ones(2, 3).t().view(6), RuntimeError, "view", "6", r"\(3, 2\)"),
    (lambda: md.ones(2, 3).sum(5), IndexError, "sum", "5", r"-2, 1"),
    (lambda: md.ones(2, 3).permute(0, 0), RuntimeError, "permute", "0, 0", ""),
    (lambda: md.ones(2).unsqueeze(4), IndexError, "unsqueeze", "4", r"-2, 1"),
    (lambda: md.zeros(-1), RuntimeError, "zeros", "-1", ""),
]


@pytest.mark.parametrize(("call", "error", "name", "first", "second"), SHAPE_ERRORS)
def test_wrong_shapes(call, error, name, first, second):
    with pytest.raises(error) as caught:
        call()
    for part in (name, first, second):
        assert re.search(part, str(caught.value)), str(caught.value)


def test_a_descriptor_refuses_another_self():
    with pytest.raises(TypeError):
        md.Tensor.add(1, 2)
