"""Writes by index tensors of every item size, beside NumPy: the last of equal indices wins, and nothing is written if an
index is outside."""

import numpy as np
import pytest

import minidynamo as md

DTYPES = ("uint8", "int16", "float32", "float64", "int64")
SHAPES = ((2000,), (50, 40), (7, 1500), (3, 20, 30))


def store(target, index, value):
    target[index] = value
    return target


def indices(shape, count, is_wrapped):
    rng = np.random.default_rng(count)
    least = -shape[0] if is_wrapped else 0
    return rng.integers(least, shape[0], count)


def base(shape, dtype):
    return (np.arange(np.prod(shape)) % 100).reshape(shape).astype(dtype)


@pytest.mark.parametrize("is_wrapped", (False, True))
@pytest.mark.parametrize("count", (0, 1, 5, 512, 513, 1800))
@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype, count, is_wrapped):
    for shape in SHAPES:
        where = indices(shape, count, is_wrapped)
        values = (np.arange(count * int(np.prod(shape[1:]))) % 90).reshape(count, *shape[1:]).astype(dtype)
        for value in (3, values):
            expected = store(base(shape, dtype), where, value)
            given = value if isinstance(value, int) else md.tensor(value)
            for call in (store, md.compile(store)):
                found = call(md.tensor(base(shape, dtype)), md.tensor(where), given)
                assert np.array_equal(found.numpy(), expected), (shape, value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("step", "columns", "two"))
def test_of_views(name, dtype):
    """A step between the elements, columns, and two index tensors."""
    shape = (40, 60)
    first, second = indices(shape, 600, True), indices(shape, 600, False)
    views = {
        "step": (lambda target: target.T[::3], first % 20),
        "columns": (lambda target: target.T, second),
        "two": (lambda target: target, (first, second)),
    }
    view, key = views[name]
    expected, ours = base(shape, dtype), md.tensor(base(shape, dtype))
    store(view(expected), key, 9)
    store(view(ours), tuple(map(md.tensor, key)) if name == "two" else md.tensor(key), 9)
    assert np.array_equal(ours.numpy(), expected)


@pytest.mark.parametrize("place", (0, 511, 512, 1299))
@pytest.mark.parametrize("outside", (2000, -2001))
def test_nothing_is_written_if_an_index_is_outside(place, outside):
    where = indices((2000,), 1300, True)
    where[place] = outside
    for call in (store, md.compile(store)):
        target = md.tensor(base((2000,), "float32"))
        with pytest.raises(IndexError, match=str(outside)):
            call(target, md.tensor(where), 1)
        assert np.array_equal(target.numpy(), base((2000,), "float32"))


def test_indices_in_the_memory_that_is_written():
    """Writing changes no index that comes later."""
    array = np.random.default_rng(1).permutation(1500).astype("int64")
    for call in (store, md.compile(store)):
        ours = md.tensor(array)
        call(ours, ours, 4)
        assert np.array_equal(ours.numpy(), np.full(1500, 4))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype):
    where = indices((300,), 900, True)
    values = (np.arange(900) % 7).astype(dtype)
    expected = base((300,), dtype)
    np.add.at(expected, where, values)
    ours = md.tensor(base((300,), dtype))
    ours.index_put_((md.tensor(where),), md.tensor(values), True)
    assert np.array_equal(ours.numpy(), expected)
