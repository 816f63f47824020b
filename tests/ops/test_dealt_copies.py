"""Copies in which a few rows become columns, as of images whose channels come to lie last: beside NumPy's."""

import numpy as np
import pytest

import minidynamo

DTYPES = ["uint8", "bool", "int16", "bfloat16", "float32", "int32", "float64", "int64", "complex64", "complex128"]


def elements(sizes, dtype):
    rng = np.random.default_rng(len(sizes))
    if dtype == "bfloat16":
        return minidynamo.from_numpy(rng.integers(-99, 99, sizes).astype(np.float32)).bfloat16()
    kind = np.dtype(dtype)
    numbers = rng.integers(0, 99, sizes)
    return minidynamo.from_numpy((numbers + 1j * numbers[::-1] if kind.kind == "c" else numbers % 50).astype(kind))


def as_array(x):
    return (x.float() if x.dtype == minidynamo.bfloat16 else x).numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [*range(1, 10), 16, 17])
def test_rows_become_columns(dtype, rows):
    for length in (1, 7, 8, 31, 64, 133):
        x = elements((3, rows, length), dtype)
        assert np.array_equal(as_array(x.mT.contiguous()), np.ascontiguousarray(as_array(x).swapaxes(1, 2)))
        part = elements((3, rows + 1, 2, length + 3), dtype)[:, 1:, 1, 2:-1]
        assert np.array_equal(as_array(part.mT.contiguous()), np.ascontiguousarray(as_array(part).swapaxes(1, 2)))
        into = minidynamo.zeros(3, length, rows + 2, dtype=x.dtype)
        into[:, :, 1 : rows + 1] = x.mT
        assert np.array_equal(as_array(into[:, :, 1 : rows + 1]), as_array(x).swapaxes(1, 2))
        assert not as_array(into[:, :, 0]).any() and not as_array(into[:, :, -1]).any()


@pytest.mark.parametrize("r", [1, 2, 3, 4, 5])
def test_pixels(r):
    for width in (1, 5, 16, 37):
        x = minidynamo.randn(2, 3 * r * r, 4, width)
        parts = x.numpy().reshape(2, 3, r, r, 4, width).transpose(0, 1, 4, 2, 5, 3)
        shuffled = minidynamo.nn.functional.pixel_shuffle(x, r)
        assert np.array_equal(shuffled.numpy(), parts.reshape(2, 3, 4 * r, width * r))
        assert np.array_equal(minidynamo.nn.functional.pixel_unshuffle(shuffled, r).numpy(), x.numpy())
