"""The repr of tensors: as in torch, whatever they contain."""

import math
import re

import pytest

import minidynamo as md

torch = None
try:
    import torch
except ImportError:
    pass
hypothesis = pytest.importorskip("hypothesis")

from drawn_tests import DTYPES, FLOATS, INTEGERS, drawn  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

RANGES = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1)}
WIDEST = (-(2**63), 2**63 - 1)

EXAMPLES = [
    (lambda: md.tensor(1.5), "tensor(1.5000)"),
    (lambda: md.tensor([]), "tensor([])"),
    (lambda: md.tensor([1, -20, 300]), "tensor([  1, -20, 300])"),
    (lambda: md.tensor([True, False]), "tensor([ True, False])"),
    (lambda: md.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: md.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
    (lambda: md.tensor([1e-7, 1.0]), "tensor([1.0000e-07, 1.0000e+00])"),
    (lambda: md.tensor([math.nan, math.inf, -1.0]), "tensor([nan, inf, -1.])"),
    (lambda: md.tensor([[1.0], [2.0]], dtype=md.float64), "tensor([[1.],\n        [2.]], dtype=minidynamo.float64)"),
    (lambda: md.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: md.zeros(0, 3, dtype=md.int32), "tensor([], size=(0, 3), dtype=minidynamo.int32)"),
    (lambda: md.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
    (
        lambda: md.arange(2000),
        "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])",
    ),
    (
        lambda: md.arange(6.0).reshape(2, 3).max(0),
        "minidynamo.return_types.max(\nvalues=tensor([3., 4., 5.]),\nindices=tensor([1, 1, 1]))",
    ),
]


@pytest.mark.parametrize(("make", "text"), EXAMPLES)
def test_examples(make, text):
    assert repr(make()) == text


SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple) | st.sampled_from(
    [(1001,), (40, 40), (3, 400), (20, 3, 30)]
)


def numbers(dtype):
    if dtype == "bool":
        return st.booleans()
    if dtype in INTEGERS:
        low, high = RANGES.get(dtype, WIDEST)
        return st.integers(low, high) | st.integers(max(low, -100), 100)
    wide = st.floats(width=64) | st.floats(-1e6, 1e6) | st.integers(-1000, 1000).map(float)
    return wide | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e8, 1e-5, 99999.5])


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(SHAPES)
    pool = draw(st.lists(numbers(dtype), min_size=1, max_size=8))
    return dtype, shape, [pool[i % len(pool)] for i in range(math.prod(shape))], draw(st.booleans())


def made(library, dtype, shape, values, grad):
    # Through float64, so that both round in the same way.
    if dtype in FLOATS:
        tensor = library.tensor(values, dtype=library.float64).to(getattr(library, dtype)).reshape(shape)
        return tensor.detach().requires_grad_(grad)
    return library.tensor(values, dtype=getattr(library, dtype)).reshape(shape)


def check(count, seed):
    @drawn(count, seed)
    @given(tensors())
    def same_text(case):
        ours, theirs = made(md, *case), made(torch, *case)
        # The longer name of the package may break a line before the dtype.
        text = repr(ours).replace("minidynamo.", "torch.")
        assert re.sub(r",\s+(?=dtype|requires)", ", ", text) == re.sub(r",\s+(?=dtype|requires)", ", ", repr(theirs))

    same_text()


@pytest.mark.skipif(torch is None, reason="torch is not installed")
def test_drawn_tensors_print_as_in_torch():
    check(300, 0)


def run_drawn(count, seed):
    assert torch is not None, "torch is not installed"
    check(count, seed)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"threshold": 5},
        {"edgeitems": 1, "threshold": 5},
        {"linewidth": 40},
        {"sci_mode": True},
        {"sci_mode": False},
    ],
    ids=str,
)
def test_print_options(options):
    torch.set_printoptions(profile="default")
    try:
        md.set_printoptions(**options)
        torch.set_printoptions(**options)
        for values in ([1.5, 2.25, 1e9], list(range(40)), [0.1] * 30):
            theirs = repr(torch.tensor(values))
            assert repr(md.tensor(values)) == theirs
    finally:
        md.set_printoptions(profile="default")
        torch.set_printoptions(profile="default")
