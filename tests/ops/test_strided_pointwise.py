"""Pointwise operations on operands of different layouts, with rows shorter and longer than a tile, bit for bit as torch."""

import itertools

import numpy as np
import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

DTYPES = ("uint8", "bool", "int16", "float16", "float32", "int64")  # each item size, and one computed in another dtype
# Around the lengths from which on rows are tiles of their own, by item size, and tails of panels.
LENGTHS = (1, 5, 127, 130, 511, 512, 513, 1023, 1025, 2049, 4097)
COMPILED_LENGTHS = (5, 130, 512, 4097)
ROWS = 37
FUNCTIONS = {
    "maximum": lambda library, a, b: library.maximum(a, b),
    "lt": lambda library, a, b: library.lt(a, b),
    "where": lambda library, a, b: library.where(library.eq(a, b), a, b),
    "sum": lambda library, a, b: library.add(a, b, alpha=1 if a.dtype == library.bool else 2),
    "product": lambda library, a, b: (
        library.where(a, b, a) if a.dtype == library.bool else library.addcmul(b.expand(a.shape), a, b)
    ),
    "copy": lambda library, a, b: library.stack([a, b.expand(a.shape)]).permute(2, 0, 1).contiguous(),
}


def as_is(tensor):
    return tensor


def transposed(tensor):
    return tensor.t().contiguous().t()


def stepped(tensor):
    return tensor.repeat_interleave(2, 1)[:, ::2]


def stepped_by_three(tensor):
    return tensor.repeat_interleave(3, 1)[:, ::3]


def window(tensor):
    return tensor.repeat(1, 2)[:, : tensor.shape[1]]


def row(tensor):
    return tensor[0]


def column(tensor):
    return tensor[:, :1]


def expanded(tensor):
    return tensor[:1, :1].expand(tensor.shape)


FIRST = (as_is, transposed, stepped, stepped_by_three, window)
SECOND = (*FIRST, row, column, expanded)


@pytest.fixture(autouse=True)
def threads():
    before = md.get_num_threads()
    yield
    md.set_num_threads(before)


def arrays(dtype, length):
    rng = np.random.default_rng(length)
    high = {"bool": 2, "float16": 10, "uint8": 15}.get(dtype, 100)
    return [rng.integers(0, high, (ROWS, length)).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize("first,second", list(itertools.product(FIRST, SECOND)), ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype, first, second):
    compiled = {name: md.compile(lambda a, b, f=function: f(md, a, b)) for name, function in FUNCTIONS.items()}
    for length in LENGTHS:
        md.set_num_threads(1 + length % 2)
        ours, theirs = ([library.tensor(array) for array in arrays(dtype, length)] for library in (md, torch))
        a, b = first(ours[0]), second(ours[1])
        x, y = first(theirs[0]), second(theirs[1])
        for name, function in FUNCTIONS.items():
            expected = function(torch, x, y).numpy()
            assert np.array_equal(function(md, a, b).numpy(), expected), (name, length)
            if length in COMPILED_LENGTHS:
                assert np.array_equal(compiled[name](a, b).numpy(), expected), (name, length)


@pytest.mark.parametrize("dtype", DTYPES)
def test_three_dims(dtype):
    """Repeated along the first, the middle or the last dim, and along two."""
    rng = np.random.default_rng(0)
    shape = (6, 11, 130)
    whole = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    for kept in itertools.product((False, True), repeat=3):
        part = whole[tuple(slice(None) if keeps else slice(1) for keeps in kept)]
        for order in itertools.permutations(range(3)):
            pairs = [[library.tensor(array).permute(order) for array in (whole, part)] for library in (md, torch)]
            expected = torch.maximum(pairs[1][0].contiguous(), pairs[1][1]).numpy()
            assert np.array_equal(md.maximum(pairs[0][0].contiguous(), pairs[0][1]).numpy(), expected)
            assert np.array_equal(md.maximum(*pairs[0]).numpy(), expected)


@pytest.mark.parametrize("name", ("isnan", "isinf", "isfinite"))
@pytest.mark.parametrize("dtype", ("uint8", "bool", "int64"))
def test_known_results(name, dtype):
    array = arrays(dtype, 130)[0]
    for layout in (*FIRST, row, column, expanded):
        expected = getattr(torch, name)(layout(torch.tensor(array))).numpy()
        ours = layout(md.tensor(array))
        function = getattr(md, name)
        for found in (function(ours), md.compile(lambda t, f=function: f(t))(ours)):
            assert found.dtype == md.bool and np.array_equal(found.numpy(), expected)
