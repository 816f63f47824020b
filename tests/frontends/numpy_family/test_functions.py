"""Functions, methods and attributes of NumPy, over arrays of each layout and dtype."""

import numpy as np
import pytest
from compared import is_captured, mismatch

import minidynamo

X = np.linspace(0.5, 3, 24).reshape(2, 3, 4)
ARRAYS = {
    "vector": np.linspace(-1, 2, 7),
    "matrix": X[0],
    "cube": X,
    "transposed": X.transpose(2, 0, 1),
    "stepped": X[:, ::2, 1:3],
    "column": X[:, 1],
    "backwards": X[::-1, :, ::-1],
    "vector backwards": np.linspace(-1, 2, 7)[::-1],
    "turned": X[0].T[::-1],
    "row": X[:1, 0],
    "element": np.array(2.5),
    "scalar": np.float64(2.5),
    "empty": np.zeros((0, 3)),
    "float32": X.astype("f4"),
    "float16": X.astype("f2"),
    "int64": np.arange(12).reshape(3, 4) - 5,
    "int32": np.arange(12, dtype="i4").reshape(3, 4).T,
    "int8": np.arange(12, dtype="i1").reshape(3, 4),
    "uint8": np.arange(12, dtype="u1").reshape(3, 4),
    "uint16": np.arange(12, dtype="u2").reshape(3, 4).T,
    "uint32": np.arange(12, dtype="u4").reshape(3, 4) * np.uint32(400_000_000),
    "uint64": np.arange(12, dtype="u8").reshape(3, 4) * np.uint64(1_600_000_000_000_000_000),
    "bool": np.arange(12).reshape(3, 4) % 3 == 0,
    "nan": np.array([[1.0, np.nan, 2.0], [0.0, np.inf, -np.inf]]),
}

REDUCTIONS = {
    name: [
        lambda x, f=name: getattr(np, f)(x),
        lambda x, f=name: getattr(x, f)(),
        lambda x, f=name: getattr(np, f)(x, axis=0),
        lambda x, f=name: getattr(x, f)(axis=-1),
        lambda x, f=name: getattr(np, f)(x, 1, keepdims=True),
        lambda x, f=name: getattr(np, f)(x, axis=(0, 1)),
        lambda x, f=name: getattr(np, f)(x, keepdims=True),
        lambda x, f=name: getattr(np, f)(x, axis=9),
    ]
    for name in ("sum", "prod", "mean", "max", "min", "any", "all", "std", "var")
}
OTHERS = {
    "argmax": [lambda x: np.argmax(x), lambda x: x.argmax(axis=0), lambda x: np.argmax(x, axis=-1, keepdims=True)],
    "argmin": [lambda x: np.argmin(x), lambda x: x.argmin(axis=0)],
    "cumsum": [lambda x: np.cumsum(x), lambda x: x.cumsum(axis=0), lambda x: np.cumsum(x, -1)],
    "cumprod": [lambda x: np.cumprod(x), lambda x: x.cumprod(axis=0)],
    "spread": [lambda x: np.std(x, ddof=1), lambda x: x.var(axis=0, ddof=1), lambda x: np.var(x, axis=-1, ddof=4)],
    "dtype": [lambda x: np.sum(x, dtype=np.float32), lambda x: x.sum(dtype="f8"), lambda x: np.cumsum(x, dtype=float)],
    "whole": [
        lambda x: np.sum(x, dtype=np.uint8),
        lambda x: x.prod(dtype="u4"),
        lambda x: np.cumsum(x, dtype=np.int16),
        lambda x: x.sum(axis=0, dtype=bool),
        lambda x: np.trace(x, dtype=np.uint64),
    ],
    "amax": [lambda x: np.amax(x), lambda x: np.amin(x, 0)],
    "reshape": [
        lambda x: x.reshape(-1),
        lambda x: np.reshape(x, (x.size, 1)),
        lambda x: x.reshape(1, -1),
        lambda x: x.reshape((x.size,)),
        lambda x: x.T.reshape(-1),
        lambda x: x.reshape(7, 11),
    ],
    "ravel": [lambda x: x.ravel(), lambda x: np.ravel(x.T), lambda x: x.flatten(), lambda x: x.T.flatten()],
    "transpose": [lambda x: x.T, lambda x: x.transpose(), lambda x: np.transpose(x), lambda x: x.T.T],
    "swapaxes": [lambda x: x.swapaxes(0, -1), lambda x: np.swapaxes(x, 0, 1), lambda x: np.moveaxis(x, 0, -1)],
    "squeeze": [
        lambda x: x[:1].squeeze(0),
        lambda x: np.squeeze(x[:1]),
        lambda x: np.expand_dims(x, 0),
        lambda x: x.squeeze(0),
    ],
    "broadcast": [lambda x: np.broadcast_to(x, (2, *x.shape)), lambda x: np.broadcast_to(x, (2, *x.shape)) + 1],
    "concatenate": [
        lambda x: np.concatenate([x, x]),
        lambda x: np.concatenate((x, x), axis=-1),
        lambda x: np.concatenate([x, x], axis=None),
        lambda x: np.stack([x, x]),
        lambda x: np.stack([x, x], axis=-1),
        lambda x: np.vstack([x, x]),
        lambda x: np.hstack([x, x]),
        lambda x: np.concatenate([x, x.astype("f4")]),
    ],
    "roll": [
        lambda x: np.roll(x, 1),
        lambda x: np.roll(x, -2, axis=0),
        lambda x: np.repeat(x, 2),
        lambda x: np.tile(x, 2),
    ],
    "repeat": [lambda x: x.repeat(3, axis=0), lambda x: np.tile(x, (2, 1)), lambda x: np.repeat(x, 0)],
    "like": [
        lambda x: np.zeros_like(x),
        lambda x: np.ones_like(x),
        lambda x: np.zeros_like(x, dtype=np.float32),
        lambda x: np.empty_like(x).shape,
        lambda x: np.zeros(x.shape, x.dtype),
        lambda x: np.ones(x.shape, dtype=x.dtype),
    ],
    "copies": [
        lambda x: x.copy(),
        lambda x: np.copy(x),
        lambda x: x.astype(np.float32),
        lambda x: x.astype(int),
        lambda x: x.astype("i1"),
        lambda x: x.astype(bool),
        lambda x: x.astype(x.dtype),
        lambda x: x.astype(np.float16),
    ],
    "where": [
        lambda x: np.where(x > 1, x, 0),
        lambda x: np.where(x > 1, x, 0.5),
        lambda x: np.where(x > 1, -1, x),
        lambda x: np.where(x > 1, 2.0, 3),
        lambda x: np.where(x, x, x.astype("f4")),
        lambda x: np.clip(x, 0, 2),
        lambda x: np.clip(x, 0.5, None),
        lambda x: x.clip(0, 1),
    ],
    "facts": [
        lambda x: (x.shape, x.ndim, x.size, x.dtype, x.itemsize, x.nbytes, x.strides),
        lambda x: (len(x), isinstance(x, np.ndarray), type(x), x.real is x),
        lambda x: x.dtype == np.float64,
        lambda x: x.dtype.kind + x.dtype.name,
    ],
    "elements": [
        lambda x: x[0],
        lambda x: x[-1],
        lambda x: x[..., 0],
        lambda x: x[()],
        lambda x: x[1:, ...],
        lambda x: x[None],
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x[[0, 1]],
        lambda x: x[x > 0],
        lambda x: x[np.array([1, 0])],
        lambda x: [row * 2 for row in x],
        lambda x: x.item(0),
        lambda x: x.tolist(),
        lambda x: x[99],
        lambda x: x[0, 0],
        lambda x: x[0, 0, ...],
        lambda x: x[:, 1],
    ],
    "products": [
        lambda x: x @ x.T,
        lambda x: np.dot(x, x.T),
        lambda x: np.dot(x, 2),
        lambda x: np.outer(x, x),
        lambda x: np.inner(x, x),
        lambda x: np.vdot(x, x),
        lambda x: x.dot(x),
        lambda x: x @ x,
        lambda x: np.matmul(x, x[..., 0]),
    ],
}
PROGRAMS = [
    (f"{name}-{i}", program) for name, all_of in {**REDUCTIONS, **OTHERS}.items() for i, program in enumerate(all_of)
]


@pytest.mark.parametrize(("name", "program"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_functions(name, program):
    found = {kind: mismatch(program, (array,)) for kind, array in ARRAYS.items()}
    assert {kind: text for kind, text in found.items() if text} == {}


CREATION = [
    lambda: np.zeros(3),
    lambda: np.zeros((2, 3), dtype=np.int32),
    lambda: np.zeros((2, 3), "f4"),
    lambda: np.ones((2, 2), bool),
    lambda: np.ones(()),
    lambda: np.full((2, 3), 7),
    lambda: np.full(3, 2.5),
    lambda: np.full((2,), True),
    lambda: np.arange(5),
    lambda: np.arange(2, 9, 3),
    lambda: np.arange(9, 2, -2),
    lambda: np.arange(3, dtype=np.float32),
    lambda: np.arange(0),
    lambda: np.arange(0.5, 3),
    lambda: np.eye(3),
    lambda: np.eye(2, 3, dtype="f4"),
    lambda: np.identity(2),
    lambda: np.zeros((2, -1)),
    lambda: np.zeros(3) + np.arange(3),
    lambda: np.empty((2, 3)).shape,
]


@pytest.mark.parametrize("number", range(len(CREATION)))
def test_creation(number):
    assert mismatch(CREATION[number], ()) == ""


WRITES = [
    lambda x: x.__setitem__(0, 5),
    lambda x: x.__setitem__(slice(None), 0.5),
    lambda x: x.__setitem__((slice(1, None), 0), x[:-1, 1]),
    lambda x: x.fill(3),
]


def store(key, value):
    def program(x):
        x[key] = value
        return x

    return program


def store_of(key, function):
    def program(x):
        x[key] = function(x)
        return x

    return program


def update(function):
    def program(x):
        y = x
        x = function(x)
        return x is y, x

    return program


def add_one(x):
    x += 1
    return x


def scale(x):
    x *= 0.5
    return x


def divide(x):
    x /= 2
    return x


def power(x):
    x **= 2
    return x


def mask(x):
    x[x > 1] = 0
    return x


def overlap(x):
    x[1:] = x[:-1]
    return x


def overlap_back(x):
    x[:-1] += x[1:]
    return x


def through_view(x):
    y = x[1:]
    y[0] = 7
    y += 1
    return x, y


def through_reshape(x):
    y = x.reshape(-1)
    y[::2] = 0
    return x, y


def row_by_row(x):
    for i in range(x.shape[0]):
        x[i] = x[i] * 2 + i
    return x


PROGRAMS_THAT_WRITE = [
    *[
        store(key, value)
        for key in (0, slice(None), ..., (slice(1, None), 0), [0, 1])
        for value in (5, 0.5, True, np.float32(2))
    ],
    *[
        store_of(key, function)
        for key in (0, slice(1, None))
        for function in (lambda x: x[-1], lambda x: x.sum(), lambda x: x[:1])
    ],
    *[update(function) for function in (add_one, scale, divide, power)],
    *(mask, overlap, overlap_back, through_view, through_reshape, row_by_row),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS_THAT_WRITE)))
def test_writes(number):
    found = {kind: mismatch(PROGRAMS_THAT_WRITE[number], (array,)) for kind, array in ARRAYS.items()}
    assert {kind: text for kind, text in found.items() if text} == {}


def test_read_only():
    x = np.arange(4.0)
    x.flags.writeable = False
    for program in (add_one, mask, overlap, store(0, 1)):
        assert mismatch(program, (x[:],)) == ""


def test_views_of_arguments():
    x = np.arange(12.0).reshape(3, 4).copy()
    compiled = minidynamo.compile(lambda x: (x[1:], x.T, x[0, ...], x), fullgraph=True)
    part, turned, row, whole = compiled(x)
    assert whole is x
    assert part.base is x and turned.base is x and row.base is x
    part[0] = 9
    assert (x[1] == 9).all()


def test_results_own_their_memory():
    result = minidynamo.compile(lambda x: x + 1, fullgraph=True)(np.zeros((2, 3)))
    assert result.base is None and result.flags.owndata
    result.resize((3, 4), refcheck=False)
    assert result.shape == (3, 4)


def test_what_is_one_graph():
    captured = [lambda x: np.sum(x * x, axis=0), lambda x: x.mean(), lambda x: x[1:].T, lambda x: np.where(x > 1, x, 0)]
    assert [is_captured(program, (X,)) for program in captured] == [True] * len(captured)
