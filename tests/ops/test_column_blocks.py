"""Lines that are computed as columns of blocks: the same for every number of threads, and as lines of contiguous ones."""

import numpy as np
import pytest

import minidynamo as md

SHAPES = ((3000, 3), (90, 500), (7, 40, 60), (2000, 2, 5), (33, 8192))
DTYPES = ("float32", "float64", "bfloat16", "int64", "uint8", "bool")
CALLS = {
    "softmax": lambda x, dim: x.softmax(dim),
    "log_softmax": lambda x, dim: x.log_softmax(dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "cumsum": lambda x, dim: x.cumsum(dim),
    "cumprod": lambda x, dim: x.cumprod(dim),
    "cummax": lambda x, dim: md.stack([part.double() for part in x.cummax(dim)]),
    "cummin": lambda x, dim: md.stack([part.double() for part in x.cummin(dim)]),
}
TOLERANCES = {"float32": 1e-5, "bfloat16": 0.02}


def numbers(shape, dtype):
    drawn = np.random.default_rng(len(shape)).normal(size=shape).round(1)
    return md.from_numpy(drawn if dtype != "uint8" else np.abs(drawn)).to(getattr(md, dtype))


def crossed(x):
    """The same numbers, the dims in memory the other way round."""
    dims = tuple(reversed(range(x.dim())))
    return x.permute(dims).contiguous().permute(dims)


def with_threads(call):
    before = md.get_num_threads()
    try:
        for count in (1, 2, 3):
            md.set_num_threads(count)
            yield call()
    finally:
        md.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_layouts_and_threads(name, dtype):
    call = CALLS[name]
    if dtype not in ("float32", "float64", "bfloat16") and name.endswith(("softmax", "exp")):
        return
    tolerance = TOLERANCES.get(dtype, 1e-12)
    for shape in SHAPES:
        x = numbers(shape, dtype)
        for dim in range(len(shape)):
            expected, found = (call(each, dim) for each in (x, crossed(x)))
            assert found.dtype == expected.dtype and found.shape == expected.shape
            arrays = [each.double().numpy() for each in (found, expected)]
            assert np.allclose(*arrays, tolerance, tolerance, equal_nan=True), (shape, dim)
            for each in with_threads(lambda x=x, dim=dim: call(crossed(x), dim)):
                assert np.array_equal(each.double().numpy(), arrays[0], equal_nan=True), (shape, dim)


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_in_place(name):
    for shape in SHAPES[:3]:
        for dim in range(len(shape)):
            x = crossed(numbers(shape, "float64"))
            expected = getattr(x, name[:-1])(dim)
            strides = x.stride()
            getattr(x, name)(dim)
            assert x.stride() == strides
            assert np.array_equal(x.numpy(), expected.numpy())
