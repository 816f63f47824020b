"""Ufuncs and reductions with where, dtype, casting, out and initial; at() and reduceat(); op= of every operator."""

import numpy as np
import pytest
from compared import is_captured, mismatch
from test_functions import ARRAYS


def mask_of(x):
    return np.arange(x.size).reshape(x.shape) % 3 == 0


def divided(x):
    return np.divide(1, x, out=np.zeros(x.shape), where=x != 0)


def in_place(sign):
    scope = {}
    exec(f"def change(x, y):\n    z = x\n    x {sign} y\n    return x is z, x", scope)
    return scope["change"]


CALLS = {
    "where": [
        lambda x, m: np.add(x, x, out=x, where=m),
        lambda x, m: np.multiply(x, 2, where=m, out=x),
        lambda x, m: np.sqrt(x, out=x, where=m),
        lambda x, m: divided(x),
        lambda x, m: np.log(x, out=np.sqrt(abs(x)), where=x > 0),
        lambda x, m: np.negative(x, out=x.copy(), where=m),
        lambda x, m: np.greater(x, 1, out=m, where=m),
        lambda x, m: np.add(x, 1, out=x, where=True),
        lambda x, m: np.add(x, 1, out=x, where=m.astype(int)),
        lambda x, m: np.add(x, 1, out=x, where=m[:1]),
        lambda x, m: np.arctanh(x, out=np.zeros(x.shape), where=m),
        lambda x, m: np.add(x, x[:1], out=x[:1], where=m[:1]),
        lambda x, m: np.add(x, 1, out=np.zeros((2, *x.shape)), where=m),
        lambda x, m: np.add(x, 1.5, out=x, where=m, casting="unsafe"),
    ],
    "dtype": [
        lambda x, m: np.add(x, x, dtype=np.float64),
        lambda x, m: np.add(x, 1, dtype=np.float32),
        lambda x, m: np.add(x, 1, dtype="f4", casting="unsafe"),
        lambda x, m: np.multiply(x, x, dtype=int),
        lambda x, m: np.sqrt(x, dtype=float),
        lambda x, m: np.divide(x, 3, dtype="f8"),
        lambda x, m: np.equal(x, 1, dtype=bool),
        lambda x, m: np.add(x, x, dtype=np.int8, casting="unsafe"),
        lambda x, m: np.add(x, x, casting="safe"),
        lambda x, m: np.add(x, 1, casting="no"),
        lambda x, m: np.add(x, 1, dtype="no such dtype"),
        lambda x, m: np.exp(x, dtype=np.int32),
    ],
    "out": [
        lambda x, m: np.add(x, x, (x,)),
        lambda x, m: np.add(x, x, out=(x,)) is x,
        lambda x, m: np.add(x, x, x),
        lambda x, m: np.subtract(x, 1, x),
        lambda x, m: np.sqrt(abs(x), x),
        lambda x, m: np.add(x, x, out=(x, x)),
        lambda x, m: np.add(x, x, x, out=x),
        lambda x, m: np.remainder(x, 2, out=x),
        lambda x, m: np.add(x, 1, out=np.zeros((2, *x.shape))),
        lambda x, m: np.add(x, 1, out=np.zeros(x.shape, "f4"), casting="unsafe"),
        lambda x, m: np.add(x, 0.5, out=np.zeros(x.shape, int), casting="unsafe"),
        lambda x, m: np.add(x, 0.5, out=np.zeros(x.shape, int)),
        lambda x, m: np.add(x[None], x, out=x),
        lambda x, m: np.add(x, 1, order="F"),
        lambda x, m: np.add(x, 1, subok=False),
        lambda x, m: np.add(x, 1, signature="dd->d"),
        lambda x, m: np.add(x, 1, nothing=3),
        lambda x, m: np.add(x),
        lambda x, m: np.divmod(x, 2),
        lambda x, m: np.float_power(x, 2),
    ],
    "reductions": [
        lambda x, m: np.sum(x, where=m),
        lambda x, m: x.sum(axis=0, where=m, initial=2),
        lambda x, m: np.sum(x, axis=-1, where=m, keepdims=True),
        lambda x, m: np.sum(x, initial=2.5),
        lambda x, m: np.sum(x, initial=x.dtype.type(1)),
        lambda x, m: np.prod(x, where=m, axis=0, initial=2),
        lambda x, m: np.sum(x, axis=0, where=m[:1]),
        lambda x, m: np.sum(x, where=m[None]),
        lambda x, m: np.sum(x, where=x),
        lambda x, m: np.sum(x, where=False),
        lambda x, m: x.mean(where=m),
        lambda x, m: x.mean(where=m, axis=-1),
        lambda x, m: np.mean(x, axis=0, where=m & ~m),
        lambda x, m: x.var(where=m),
        lambda x, m: np.std(x, where=m, axis=0, ddof=1),
        lambda x, m: np.var(x, where=m, axis=-1, keepdims=True),
        lambda x, m: x.max(initial=0, where=m),
        lambda x, m: np.max(x, initial=1.5, axis=0),
        lambda x, m: np.min(x, where=m, initial=3, axis=-1),
        lambda x, m: np.max(x, where=m),
        lambda x, m: np.any(x > 1, where=m),
        lambda x, m: np.all(x > 1, where=m, axis=0),
        lambda x, m: np.mean(x, dtype=np.float32),
        lambda x, m: np.std(x, dtype=np.float64, axis=0),
    ],
    "reductions into arrays": [
        lambda x, m: np.sum(x, axis=0, out=np.zeros(x.shape[1:])),
        lambda x, m: x.mean(axis=0, out=np.zeros(x.shape[1:])),
        lambda x, m: x.max(axis=0, out=x[0]),
        lambda x, m: np.sum(x, axis=0, out=np.zeros(x.shape[1:], "f4")),
        lambda x, m: np.sum(x, axis=0, out=np.zeros((7, 7))),
        lambda x, m: np.cumsum(x, axis=0, out=x),
        lambda x, m: np.argmax(x, axis=0, out=np.zeros(x.shape[1:], int)),
        lambda x, m: np.any(x, axis=0, out=np.zeros(x.shape[1:], bool)),
        lambda x, m: np.add.reduce(x, 0, None, np.zeros(x.shape[1:])),
        lambda x, m: np.add.reduce(x, out=(x[0],)),
        lambda x, m: np.clip(x, 0, 1, out=x),
        lambda x, m: np.dot(x, x.T, out=np.zeros((x.shape[0], x.shape[0]))),
    ],
    "methods": [
        lambda x, m: np.add.reduce(x, axis=(0, 1)),
        lambda x, m: np.add.reduce(x, where=m),
        lambda x, m: np.multiply.reduce(x, initial=2),
        lambda x, m: np.maximum.reduce(x, initial=1, axis=None),
        lambda x, m: np.add.reduce(x, dtype=np.float64),
        lambda x, m: np.maximum.accumulate(x),
        lambda x, m: np.minimum.accumulate(x, axis=-1),
        lambda x, m: np.add.accumulate(x, out=x),
        lambda x, m: np.add.reduceat(x, [0, 1, 1, 0]),
        lambda x, m: np.add.reduceat(x, [0, 2], axis=-1),
        lambda x, m: np.add.reduceat(x, [0, 99]),
        lambda x, m: np.add.reduceat(x, np.array([0, 1])),
        lambda x, m: np.add.reduceat((x * 0).astype(np.float32) * -1, [0, 2, 1]),
    ],
    "at": [
        lambda x, m: (np.add.at(x, np.array([0, 1, 0, -1]), 2), x),
        lambda x, m: (np.subtract.at(x, np.array([1, 1]), 1.5), x),
        lambda x, m: (np.add.at(x, (np.array([0, 1, 1]), np.array([0, 0, 0])), 1), x),
        lambda x, m: (np.add.at(x, np.array([[0, 1], [1, 1]]), 3), x),
        lambda x, m: (np.add.at(x, np.array([0, 0]), x[:2]), x),
        lambda x, m: np.add.at(x, np.array([0, 99]), 1),
        lambda x, m: np.add.at(x, np.array([0, 1]), x[:1, :1, None]),
        lambda x, m: np.add.at(x, [0, 1], 1),
        lambda x, m: np.add.at(x, m, 1),
        lambda x, m: np.multiply.at(x, np.array([0, 0]), 2),
        lambda x, m: np.negative.at(x, np.array([0, 0])),
    ],
}
CASES = [(f"{name}-{i}", call) for name, calls in CALLS.items() for i, call in enumerate(calls)]


@pytest.mark.parametrize(("name", "call"), CASES, ids=[name for name, _ in CASES])
def test_arguments(name, call):
    found = {kind: mismatch(call, (array, mask_of(array))) for kind, array in ARRAYS.items()}
    assert {kind: text for kind, text in found.items() if text} == {}


def test_what_is_one_graph():
    arrays = [np.array(ARRAYS[kind]) for kind in ("vector", "matrix", "cube")]
    left = {
        name: [i for i, call in enumerate(calls) if not any(is_captured(call, (x.copy(), mask_of(x))) for x in arrays)]
        for name, calls in CALLS.items()
    }
    assert left == {
        "where": [8, 10],
        "dtype": [],
        "out": [0, 5, 6, 8, 12, 13, 14, 15, 17],
        "reductions": [4, 7, 8, 9, 19],
        "reductions into arrays": [3, 4],
        "methods": [10, 11],
        "at": [7, 8, 9, 10],
    }


SIGNS = ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>=", "@="]


@pytest.mark.parametrize("sign", SIGNS)
def test_in_place_operators(sign):
    change, found = in_place(sign), []
    square = np.arange(1, 10).reshape(3, 3)
    for code in ("?", "i1", "i4", "i8", "u1", "f2", "f4", "f8"):
        x = square.astype(code)
        others = [x.copy(), x[0], x[:2], x[:, :1], 2, 2.5, True, x[1, 1], x.astype("f8"), x.astype("f4"), x.T, None]
        for other in others:
            for each in (x, x[0].copy(), x.copy("F"), np.repeat(x, 2, 1)[:, ::2], x[1, 1, ...]):
                found.append((code, np.shape(each), other, mismatch(change, (each, other), calls=1)))
    assert [each for each in found if each[3]] == []


def test_in_place_operators_are_one_graph():
    x = np.arange(1.0, 10).reshape(3, 3)
    assert is_captured(in_place("%="), (x, 2.5)) and is_captured(in_place("@="), (x, x.copy()))


def test_division_where_the_divisor_is_zero_does_not_warn():
    x = np.array([1.0, 0.0, -2.0, 0.0])
    assert mismatch(divided, (x,)) == ""
    assert is_captured(divided, (x,))
