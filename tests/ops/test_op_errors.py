"""Wrong sizes, ranks, dtypes and dims for every row of the op table: the message names the op and the shapes.

The class is torch's, and torch rejects the same calls, where torch is installed.
"""

import math

import pytest
from op_samples import ROWS, SAMPLES, UNDETERMINED, WITHOUT_VARIANTS, Data, python_name, realize, variants

import minidynamo as md

torch = None
try:
    import torch
except ImportError:
    pass

ERRORS = (TypeError, ValueError, RuntimeError, IndexError, OverflowError, MemoryError)
# torch's class comes from a function that it calls internally.
OTHER_CLASSES = {
    "index_copy-sizes-(0,)-()",
    "index_fill-sizes-(0,)-(0,)",
    "mv-sizes-(0,)-()",
    "scatter-sizes-(3,)-(7,)",
    "scatter_add-sizes-(3,)-(7,)",
}
SHAPES = [(7,), (2, 3, 5), (0,), ()]
KINDS = "fib"


def replaced(parts, place, new):
    """A copy of a nested list with the item at the place replaced."""
    copy = list(parts)
    copy[place[0]] = new if len(place) == 1 else replaced(copy[place[0]], place[1:], new)
    return copy


def places(parts, wanted, head=()):
    for number, part in enumerate(parts):
        if isinstance(part, list):
            yield from places(part, wanted, (*head, number))
        elif wanted(part):
            yield (*head, number), part


def is_int(part):
    return isinstance(part, int) and not isinstance(part, bool)


def wrong_calls(row):
    """(description, args, keywords): the first samples with one argument replaced."""
    seen = set()
    for args, keywords in SAMPLES[row["name"]][:2]:
        args = list(args)
        for place, data in places(args, lambda part: isinstance(part, Data)):
            for shape in SHAPES:
                zeros = [0] * math.prod(shape) if shape else 0  # indices that are in range
                new = Data(data.kind, *shape, values=None if data.values is None else zeros)
                yield from once(seen, f"sizes-{place}-{shape}", replaced(args, place, new), keywords)
            for kind in KINDS.replace(data.kind, ""):
                new = Data(kind, *data.shape)
                yield from once(seen, f"dtype-{place}-{kind}", replaced(args, place, new), keywords)
        for place, _ in places(args, is_int):
            for number in (9, -9):
                yield from once(seen, f"number-{place}-{number}", replaced(args, place, number), keywords)
        for name, value in keywords.items():
            if name == "dim" and is_int(value):
                yield from once(seen, "keyword-dim", args, {**keywords, name: 9})


def once(seen, what, args, keywords):
    if what not in seen:
        seen.add(what)
        yield what, args, keywords


CASES = [(row, *wrong) for row in ROWS if row["name"] not in WITHOUT_VARIANTS for wrong in wrong_calls(row)]
IDS = [f"{case[0]['name']}-{case[1]}" for case in CASES]


def shapes_of(args):
    """The shapes of all tensors, as messages write them."""
    found = [tuple(data.shape) for _, data in places(list(args), lambda part: isinstance(part, Data))]
    return [text for shape in found for text in (str(shape), str(list(shape)))]


def outcome(call, args, keywords, library=md):
    args = [realize(value, library) for value in args]
    keywords = {name: realize(value, library) for name, value in keywords.items()}
    try:
        return call(*args, **keywords), None
    except ERRORS as error:
        return None, error


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_wrong_calls(case):
    row, what, args, keywords = case
    by_variant = variants(row)
    name = next(iter(by_variant if torch is None else variants(row, torch)), next(iter(by_variant)))
    call = by_variant[name]
    result, error = outcome(call, args, keywords)
    if error is not None:
        text = str(error)
        assert python_name(row) in text, text
        if what.startswith("sizes") and isinstance(error, RuntimeError):
            assert any(shape in text for shape in shapes_of(args)), text
    compiled, compiled_error = outcome(md.compile(lambda *a, **k: call(*a, **k)), args, keywords)
    assert type(error) is type(compiled_error) and str(error) == str(compiled_error)
    if torch is None:
        return
    theirs = variants(row, torch).get(name)
    if theirs is None:
        return
    their_result, their_error = outcome(theirs, args, keywords, torch)
    assert (error is None) == (their_error is None), (error, their_error, their_result)
    if f"{row['name']}-{what}" in OTHER_CLASSES:
        return
    if error is not None:
        classes = {type(error), type(their_error)}
        assert len(classes) == 1 or classes == {RuntimeError, NotImplementedError}, (error, their_error)
    elif row["kind"] != "Random" and row["name"] not in UNDETERMINED and isinstance(result, md.Tensor):
        assert tuple(result.shape) == tuple(their_result.shape)
        assert str(result.dtype).split(".")[1] == str(their_result.dtype).split(".")[1]


# Values that hardly any parameter accepts. torch accepts a few if it does not use them.
WRONG_VALUES = {"class": object, "dict": {"a": 1}, "bytes": b"x", "huge": 10**30}


def wrong_values(row):
    args, keywords = SAMPLES[row["name"]][0]
    for what, value in WRONG_VALUES.items():
        for place in range(len(args)):
            yield f"{what}-{place}", [*args[:place], value, *args[place + 1 :]], keywords
        for name in keywords:
            if what != "bytes":  # torch accepts them as text
                yield f"{what}-{name}", args, {**keywords, name: value}
    yield "too many", [*args, *[None] * 7], keywords
    yield "unknown keyword", args, {**keywords, "nonsense": 1}


# torch accepts a number as the tensor in copy_, and no number on the left of a comparison function.
OTHER_VALUE_CASES = {"copy-huge-1", *(f"{name}-huge-0" for name in ("eq", "ne", "lt", "le", "gt", "ge"))}
VALUE_CASES = [(row, *wrong) for row in ROWS if row["name"] not in WITHOUT_VARIANTS for wrong in wrong_values(row)]


@pytest.mark.parametrize("case", VALUE_CASES, ids=[f"{case[0]['name']}-{case[1]}" for case in VALUE_CASES])
def test_wrong_values(case):
    row, what, args, keywords = case
    for name, call in variants(row).items():
        if name in ("method", "in_place") and not (args and isinstance(args[0], Data)):
            continue
        _, error = outcome(call, args, keywords)
        assert error is None or python_name(row) in str(error), error
        theirs = variants(row, torch).get(name) if torch is not None else None
        if theirs is None or f"{row['name']}-{what}" in OTHER_VALUE_CASES:
            continue
        try:
            _, their_error = outcome(theirs, args, keywords, torch)
        except AttributeError:  # torch's Python code reads attributes first
            assert isinstance(error, TypeError)
            continue
        assert (error is None) == (their_error is None), (error, their_error)
        if error is not None:
            classes = {type(error), type(their_error)}
            assert len(classes) == 1 or classes == {RuntimeError, NotImplementedError}, (error, their_error)


BEYOND_MEMORY = {
    "neg": lambda x: -x,
    "add": lambda x: x + 1,
    "contiguous": lambda x: x.contiguous(),
    "double": lambda x: x.double(),
    "softmax": lambda x: x.softmax(0),
    "cat": lambda x: md.cat([x, x]),
    "repeat": lambda x: x[0].repeat(x.shape[0]),
}


@pytest.mark.parametrize("power", [60, 61, 62])
@pytest.mark.parametrize("name", BEYOND_MEMORY)
def test_sizes_beyond_memory_and_64_bits(name, power):
    md._dynamo.reset()
    call, raised = BEYOND_MEMORY[name], []
    for run in (call, md.compile(call), md.compile(call, dynamic=True)):
        with pytest.raises(
            (MemoryError, RuntimeError), match="not enough memory|size calculation overflowed"
        ) as caught:
            run(md.tensor(0.25).expand(2**power))
        raised.append(caught.type)
    assert len(set(raised)) == 1, raised
