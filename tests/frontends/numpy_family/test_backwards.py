"""Views that step backwards: slices with negative steps, flips and arguments whose strides are negative."""

import numpy as np
import pytest
from compared import copied, is_captured, mismatch

import minidynamo

X = np.linspace(0.5, 3, 24).reshape(2, 3, 4)
SQUARE = np.arange(25.0).reshape(5, 5)
VECTOR = np.arange(9.0)

ARRAYS = {
    "vector": VECTOR,
    "vector backwards": VECTOR[::-1],
    "vector in twos": VECTOR[7:0:-2],
    "square": SQUARE,
    "rows backwards": SQUARE[::-1],
    "columns backwards": SQUARE[:, ::-1],
    "all backwards": SQUARE[::-1, ::-1],
    "turned": SQUARE.T[::-1],
    "stepped": SQUARE[::-2, 4:0:-1],
    "cube": X[:, ::-1],
    "int32": np.arange(20, dtype="i4").reshape(4, 5)[:, ::-1],
    "bool": (np.arange(20) % 3 == 0).reshape(4, 5)[::-1],
    "float16": np.arange(20, dtype="f2").reshape(4, 5)[::-1, ::-1],
    "uint8": np.arange(20, dtype="u1").reshape(4, 5)[::-1],
    "one": SQUARE[:1, ::-1][:, :1],
    "empty": SQUARE[:0, ::-1],
    "repeated": np.broadcast_to(np.arange(3.0)[::-1], (4, 3)),
}

READS = {
    "whole": lambda x: x[::-1],
    "twos": lambda x: x[::-2],
    "bounds": lambda x: x[3:0:-1],
    "from the end": lambda x: x[-1:-4:-1],
    "beyond": lambda x: x[99:-99:-1],
    "nothing": lambda x: x[1:3:-1],
    "huge step": lambda x: x[:: -(2**63)],
    "twice": lambda x: x[::-1][::-1],
    "view of view": lambda x: x[::-1][1:][::-2],
    "last axis": lambda x: x[..., ::-1],
    "sum": lambda x: x[::-1].sum(axis=0),
    "mean": lambda x: (x[::-1].mean(), x[..., ::-1].max(axis=-1)),
    "plus": lambda x: x[::-1] + 1,
    "two": lambda x: x[::-1] * x,
    "fused": lambda x: (x[::-1] + x) * 2 - x[..., ::-1],
    "returned new": lambda x: (x + 1)[::-1],
    "new and part": lambda x: [(y := x * 2), y[::-1], y[1:]],
    "two views of new": lambda x: [(y := x * 2)[::-1], y[::-2]],
    "copy": lambda x: x[::-1].copy(),
    "np.copy": lambda x: np.copy(x[::-1]),
    "astype": lambda x: x[::-1].astype("f4"),
    "ravel": lambda x: x[::-1].ravel(),
    "flatten": lambda x: x[::-1].flatten(),
    "reshape": lambda x: x[::-1].reshape(-1),
    "reshape two": lambda x: x[::-1].reshape(x.size, 1),
    "T": lambda x: x[::-1].T,
    "T copy": lambda x: x[::-1].T.copy(),
    "none": lambda x: x[::-1, None],
    "element": lambda x: x[::-1][0],
    "by list": lambda x: x[::-1][[0, -1]],
    "by mask": lambda x: x[::-1][x[::-1] > 1],
    "by array": lambda x: x[np.array([1, 0])[::-1]],
    "zeros_like": lambda x: np.zeros_like(x[::-1]),
    "where": lambda x: np.where(x[::-1] > 1, x, 0),
    "cumsum": lambda x: np.cumsum(x[::-1], axis=0),
    "argmax": lambda x: (x[::-1].argmax(), x[::-1].argmin(axis=0)),
    "sort": lambda x: np.sort(x[::-1], axis=0),
    "concatenate": lambda x: np.concatenate([x[::-1], x]),
    "broadcast": lambda x: np.broadcast_to(x[::-1], (2, *x.shape)),
    "dot": lambda x: np.dot(x[::-1], x.T),
    "matmul": lambda x: x[..., ::-1] @ x.T,
    "strides": lambda x: x[::-1].strides,
    "iterated": lambda x: [row + 1 for row in x[::-1]],
    "flip": lambda x: np.flip(x),
    "flip axis": lambda x: np.flip(x, -1),
    "flip axes": lambda x: np.flip(x, (0, 1)),
    "flip no axes": lambda x: np.flip(x, ()),
    "flip twice the same": lambda x: np.flip(x, (0, 0)),
    "flip wrong axis": lambda x: np.flip(x, 7),
    "flipud": lambda x: np.flipud(x),
    "fliplr": lambda x: np.fliplr(x),
    "rot90": lambda x: np.rot90(x),
    "rot90 twice": lambda x: np.rot90(x, 2),
    "rot90 back": lambda x: np.rot90(x, -1, (1, 0)),
    "rot90 by nothing": lambda x: np.rot90(x, 4),
    "rot90 of one axis": lambda x: np.rot90(x, 1, (0, 0)),
    "flipped new": lambda x: np.flip(x + 1),
    "zero step": lambda x: x[::0],
    "itself": lambda x: x,
    "part": lambda x: (x[1:], x[1:] + 1),
    "diag": lambda x: np.fliplr(x)[1:].T[::-1] - 1,
    "inner": lambda x: np.inner(x[::-1], x),
    "outer": lambda x: np.outer(x[::-1], x[0]),
    "einsum": lambda x: np.einsum("ij,jk->ik", x[::-1], x[:, ::-1].T),
    "diff": lambda x: np.diff(x[::-1], axis=0),
    "clip": lambda x: np.clip(x[::-1], 1, 3),
    "tile": lambda x: np.tile(x[::-1], 2),
    "repeat": lambda x: np.repeat(x[::-1], 2, axis=0),
}


def set_whole(x):
    x[::-1] = x


def set_itself(x):
    x[:] = x[::-1]


def set_shifted(x):
    x[1:] = x[::-1][1:]


def set_halves(x):
    half = len(x) // 2
    x[:half] = x[::-1][:half]


def set_number(x):
    x[::-2] = 7


def set_last(x):
    x[..., ::-1] += 1


def set_first(x):
    x[::-1][0] = 5


def set_by_list(x):
    x[::-1][[0, 1]] = 3


def set_by_mask(x):
    y = x[::-1]
    y[y > 2] = 0


def set_view(x):
    y = x[::-1]
    y *= 2
    y[1:] -= x[1:]
    return y


def set_fill(x):
    x[1::-1].fill(4)


def set_out(x):
    return np.add(x, 1, out=x[::-1])


def set_out_itself(x):
    return np.add(x[::-1], x, out=x)


def set_copyto(x):
    np.copyto(x, x[::-1])


def set_swapped(x):
    x[0], x[-1] = x[-1].copy(), x[0].copy()
    return x[::-1]


def set_flat_view(x):
    y = x.reshape(-1)
    y[::-3] = 1
    return y


def set_new(x):
    y = x + 1
    y[::-1] = x
    y[::-1][:2] *= 2
    return y


def set_new_view(x):
    y = (x + 1)[::-1]
    y[1:] = y[:-1]
    return y


def set_and_read(x):
    before = x[::-1].sum()
    x[::-1] = x * 2
    return before, x.sum(), x[::-1]


def set_flipped(x):
    np.flip(x)[...] = x
    return np.flipud(x)


def set_in_loop(x):
    for k in range(1, len(x)):
        x[:k] += 0.5 * x[:k][::-1]
    return x


def set_many(x):
    x += 1
    x *= x[::-1]
    x -= x[..., ::-1]
    return x.sum()


WRITES = [value for name, value in list(globals().items()) if name.startswith("set_")]


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("program", READS)
def test_reads(program, array):
    assert mismatch(READS[program], [ARRAYS[array]]) == ""


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("program", WRITES, ids=lambda program: program.__name__)
def test_writes(program, array):
    assert mismatch(program, [ARRAYS[array]]) == ""


# What is left to NumPy for other reasons.
NOT_CAPTURED = {"by array", "einsum", "inner", "where", "zeros_like"}
NOT_CAPTURED |= {"flip twice the same", "flip wrong axis", "rot90 of one axis"}


@pytest.mark.parametrize("program", sorted(READS.keys() - NOT_CAPTURED))
@pytest.mark.parametrize("array", ["square", "all backwards", "columns backwards"])
def test_reads_are_captured(program, array):
    assert is_captured(READS[program], [ARRAYS[array]])


@pytest.mark.parametrize("program", WRITES, ids=lambda program: program.__name__)
@pytest.mark.parametrize("array", ["square", "all backwards", "columns backwards"])
def test_writes_are_captured(program, array):
    assert is_captured(program, [ARRAYS[array]])


@pytest.mark.parametrize("base", [VECTOR, VECTOR[::-1], SQUARE, SQUARE[:, ::-1]], ids=["1", "-1", "2", "-2"])
def test_views_of_an_argument_are_views_of_it(base):
    views = [lambda x: x[::-1], lambda x: np.flip(x), lambda x: x[::-1][1:], lambda x: x[3:0:-2], lambda x: x[:2]]
    for view in views:
        (x,) = copied([base])
        y = minidynamo.compile(view)(x)
        plain = view(x)
        assert y.base is plain.base
        assert (y.strides, y.ctypes.data, y.flags.writeable) == (plain.strides, plain.ctypes.data, True)
        y[0] = -1
        assert np.shares_memory(x, y)
        np.testing.assert_array_equal(plain, y)


def test_an_argument_is_the_same_object():
    x = SQUARE.copy()[::-1]
    assert minidynamo.compile(lambda x: (x, x + 1))(x)[0] is x


def test_views_of_new_arrays_are_views_of_those():
    y, z = minidynamo.compile(lambda x: ((y := x + 1), y[::-1]))(VECTOR)
    assert z.base is y and z.strides == (-8,)
    w = minidynamo.compile(lambda x: np.flip(x + 1))(VECTOR)
    assert w.strides == (-8,) and w.base is not None and w.base.shape == (9,)
    np.testing.assert_array_equal(w, np.flip(VECTOR + 1))


@pytest.mark.parametrize("backwards", [False, True])
def test_read_only_arrays(backwards):
    x = SQUARE.copy()[::-1] if backwards else SQUARE.copy()
    x.flags.writeable = False
    assert mismatch(set_whole, [x]) == ""
    assert not minidynamo.compile(lambda x: x[::-1])(x).flags.writeable


def test_arguments_that_overlap():
    def shifted(a, b):
        a[1:] = b[:-1]
        b += a.sum()

    for first in (slice(None), slice(None, None, -1), slice(4, 1, -1), slice(0, 3)):
        for second in (slice(None), slice(None, None, -1), slice(8, 5, -1), slice(6, 9)):
            plain, anew = VECTOR.copy(), VECTOR.copy()
            pairs = [(each[first], each[second]) for each in (plain, anew)]
            pairs = [(a[: min(len(a), len(b))], b[: min(len(a), len(b))]) for a, b in pairs]
            shifted(*pairs[0])
            minidynamo.compile(shifted)(*pairs[1])
            np.testing.assert_array_equal(plain, anew)


def test_guards_tell_directions():
    def f(x):
        return x * 2 + x[::-1]

    compiled = minidynamo.compile(f)
    for x in (SQUARE, SQUARE[::-1], SQUARE[:, ::-1], SQUARE[::-1, ::-1], SQUARE.T[::-1], SQUARE[::-1].copy()):
        for _ in range(3):
            found = compiled(x)
            np.testing.assert_array_equal(found, f(x))
            assert found.strides == f(x).strides


@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_that_vary(dynamic):
    def f(x, y):
        y[::-1] = x
        x[1:] += x[:-1][::-1]
        return x[::-1], x[::-2] * 2, (x + 1)[::-1], np.flip(x) + y, x[-2:0:-1].sum(axis=0)

    turns = [lambda x: x, lambda x: x[::-1], lambda x: x[..., ::-1], lambda x: x.T[::-1], lambda x: x[::-1, ::-1]]
    for turn in turns:
        compiled = minidynamo.compile(f, dynamic=dynamic)
        for n in (5, 7, 4, 3, 9, 2, 1, 0, 6):
            for m in (3, 5, 4):
                whole = np.arange(float(n * m)).reshape(n, m)
                plain, anew = ([turn(whole.copy()), np.zeros_like(turn(whole))] for _ in range(2))
                theirs, ours = f(*plain), compiled(*anew)
                for one, other in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(one, other)
                    assert one.strides == other.strides or other.size < 2 or 1 in other.shape
                for one, other in zip(anew, plain, strict=True):
                    np.testing.assert_array_equal(one, other)


def test_bounds_that_vary():
    def f(r):
        y = np.empty_like(r)
        alpha = -r[0]
        beta = 1.0
        y[0] = -r[0]
        for k in range(1, r.shape[0]):
            beta *= 1.0 - alpha * alpha
            alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
            y[:k] += alpha * np.flip(y[:k])
            y[k] = alpha
        return y

    def g(r):
        y = np.zeros_like(r)
        for k in range(1, r.shape[0]):
            y[:k] += np.sqrt(np.flip(r[:k]) * 0.5) - 0.5 * y[:k][::-1]
            y[k::-1] = np.tanh(y[: k + 1] - y[k::-2].mean())
            r[k:] = r[k:][::-1] + abs(y[-1 : -k - 1 : -1].mean()) * 1e-3
        return y

    for function in (f, g):
        compiled = minidynamo.compile(function)
        for n in (12, 80, 80, 50):
            r = np.linspace(0.1, 0.4, n)
            for turn in (lambda x: x, lambda x: x[::-1]):
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(compiled(turn(r.copy())), function(turn(r.copy())), rtol=1e-9)


def test_our_own_tensors_do_not_step_backwards():
    x = minidynamo.arange(4)
    for function in (lambda x: x[::-1], minidynamo.compile(lambda x: x[::-1])):
        with pytest.raises(ValueError, match="step must be greater than zero"):
            function(x)


def test_backends_see_them():
    def backend(graph, inputs):
        return graph.forward

    def f(x, y):
        y[::-1] = x
        return x[::-1] + 1, x[::-1], np.dot(x, y)

    compiled = minidynamo.compile(f, backend=backend)
    for x in (SQUARE, SQUARE[::-1], SQUARE[:, ::-1]):
        plain, anew = np.zeros((5, 5)), np.zeros((5, 5))
        for ours, theirs in zip(compiled(x, anew), f(x, plain), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.strides == theirs.strides
        np.testing.assert_array_equal(plain, anew)
