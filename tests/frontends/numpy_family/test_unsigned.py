"""Integers without sign, up to 2^64 - 1: NumPy's results, promotion and refusals."""

import numpy as np
import pytest
from compared import is_captured, mismatch

WIDE = np.array([2**63 + 5, 2**64 - 1, 3, 9], "u8")
OTHER = np.array([1, 2, 3, 2**63], "u8")
HALF = np.array([1, 2, 3, 2**32 - 1], "u4")
NARROW = np.array([1, 2, 3, 2**16 - 1], "u2")
SIGNED = np.array([-1, 2, 3, 2**62])
PAIRS = [
    *(
        (WIDE, OTHER),
        (HALF, HALF[::-1].copy()),
        (NARROW, NARROW[::-1].copy()),
        (WIDE, SIGNED),
        (SIGNED, WIDE),
        (HALF, WIDE),
    ),
    *((NARROW, SIGNED), (WIDE, HALF), (NARROW, HALF.astype("f4")), (WIDE.astype("f8"), OTHER)),
]


def add_in_place(x, y):
    x += y
    return x


PROGRAMS = {
    "arithmetic": [lambda x, y: (x + y, x - y, x * y, -x, abs(x)), lambda x, y: x / y, lambda x, y: x**2],
    "division": [lambda x, y: (x // y, x % y), lambda x, y: (x // 7, x % 7), lambda x, y: np.fmod(x, y)],
    "bits": [lambda x, y: (x & y, x | y, x ^ y, ~x), lambda x, y: (x >> y, x << y), lambda x, y: (x >> 33, x << 40)],
    "comparisons": [
        lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y),
        lambda x, y: (np.maximum(x, y), np.minimum(x, y)),
        lambda x, y: x < 1.5,
        lambda x, y: x > -1,
        lambda x, y: x > 2**63,
        lambda x, y: x == 2**64,
    ],
    "numbers": [
        lambda x, y: x * 0x9E3779B97F4A7C15,
        lambda x, y: x + 2**64,
        lambda x, y: x + (-1),
        lambda x, y: x + 1.5,
        lambda x, y: x[0] * y,
        lambda x, y: x[0] + y[0],
        lambda x, y: int(x[0]) + 1,
        lambda x, y: x.item(0),
        lambda x, y: bool(x[0] > y[0]),
    ],
    "writes": [
        lambda x, y: x.__setitem__(0, 5),
        lambda x, y: x.__setitem__(0, -5),
        lambda x, y: x.__setitem__(0, 2**63),
        lambda x, y: x.__setitem__(0, 2**64),
        lambda x, y: x.__setitem__(slice(None), y),
        lambda x, y: x.__setitem__(x > 5, 70000),
        lambda x, y: x.fill(2**63),
        lambda x, y: x.fill(300),
        add_in_place,
        lambda x, y: np.bitwise_or(x, y, out=x),
    ],
    "indices": [lambda x, y: np.ones(5)[y % 4], lambda x, y: np.ones(5)[y], lambda x, y: x[: int(y[1])]],
    "new": [
        lambda x, y: np.array([1, 2, 3], dtype=np.uint64),
        lambda x, y: np.array([1, -2, 3], dtype=np.uint32),
        lambda x, y: np.array([1, 2, 3], dtype=x.dtype),
        lambda x, y: np.arange(5, dtype=np.uint32),
        lambda x, y: np.arange(3, -2, -1, dtype=np.uint32),
        lambda x, y: np.full(3, 7, dtype=np.uint64),
        lambda x, y: np.full(3, -7, dtype=np.uint16),
        lambda x, y: np.full(3, 2**63, dtype=np.uint64),
        lambda x, y: (np.zeros(2, np.uint16), np.ones_like(x), np.eye(2, dtype=np.uint32)),
    ],
    "choices": [
        lambda x, y: np.where(x > y, x, y),
        lambda x, y: np.where(x > 5, x, 0),
        lambda x, y: np.where(x > 5, -1, x),
        lambda x, y: np.clip(x, 2, 5),
        lambda x, y: np.clip(x, -2, 5),
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.stack([x, y]),
    ],
    "reductions": [
        lambda x, y: (x.sum(), y.prod(), x.mean(), x.cumsum(), np.cumprod(y)),
        lambda x, y: (x.max(), y.min(), x.argmax(), y.argmin(), np.ptp(x)),
        lambda x, y: (x.any(), y.all(), np.add.reduce(x), np.sum(x, dtype=np.uint16)),
        lambda x, y: (np.sort(x), np.argsort(y, kind="stable")),
        lambda x, y: (x.std(), y.var()),
    ],
    "conversions": [
        lambda x, y: [x.astype(code) for code in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "?")],
        lambda x, y: [y.astype(code) for code in ("u1", "u2", "u4", "u8")],
        lambda x, y: (x / 3).astype("u8"),
        lambda x, y: (y - 2.5).astype("u4"),
    ],
    "products": [lambda x, y: x @ y, lambda x, y: np.dot(x, y), lambda x, y: np.outer(x, y)],
}


@pytest.mark.parametrize(
    "program",
    [pytest.param(each, id=f"{name}-{i}") for name, all_of in PROGRAMS.items() for i, each in enumerate(all_of)],
)
def test_unsigned(program):
    found = {(a.dtype.str, b.dtype.str): mismatch(program, (a, b)) for a, b in PAIRS}
    assert {pair: text for pair, text in found.items() if text} == {}


def test_what_is_one_graph():
    whole = [
        *(lambda x, y: x * y + (x >> 3), lambda x, y: x // y, lambda x, y: x < y, lambda x, y: x.sum()),
        *(lambda x, y: np.sort(x), lambda x, y: np.where(x > 5, x, 0), lambda x, y: np.full(3, 7, x.dtype)),
    ]
    for pair in PAIRS[:3]:
        assert [is_captured(program, pair) for program in whole] == [True] * len(whole)
    assert is_captured(lambda x: x * 0x9E3779B97F4A7C15 ^ x >> 29, (WIDE,))
