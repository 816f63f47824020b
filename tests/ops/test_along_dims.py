"""Ops along a dim, on tensors whose dims are few or many, short or long, in and out of the order of memory: as torch."""

import numpy as np
import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

SHAPES = (
    (5,),
    (3, 7),
    (2, 3, 1),
    (3, 0, 4),
    (6, 3, 17),
    (70, 9),
    (130, 20),
    (3, 700),
    (2, 300, 3),
    (700, 3),
    (5, 34, 33),
)
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1),
    "every other": lambda x: x[..., ::2],
    "expanded": lambda x: x[:1].expand(x.shape),
    "part": lambda x: x[1:],
    "part of rows": lambda x: x[..., 1:],
    "backwards in memory": lambda x: x.flip(tuple(range(x.dim()))).transpose(0, -1),
}
FLOATS = ("float32", "float64", "float16", "bfloat16")
NUMBERS = (*FLOATS, "int32", "int64", "uint8", "bool")
# By name: what is called with the library, a tensor, a dim, indices along it and as many elements; and for which dtypes.
OPS = {
    "index_add": (lambda m, x, dim, at, part: x.index_add(dim, at, part), NUMBERS),
    "index_add, scaled": (lambda m, x, dim, at, part: x.index_add(dim, at, part, alpha=2), NUMBERS[:-1]),
    "index_copy": (lambda m, x, dim, at, part: x.index_copy(dim, at[:1], part.narrow(dim, 0, 1)), NUMBERS),
    "index_fill": (lambda m, x, dim, at, part: x.index_fill(dim, at, 1), NUMBERS),
    "flip": (lambda m, x, dim, at, part: m.flip(x, (dim,)), NUMBERS),
    "roll": (lambda m, x, dim, at, part: m.roll(x, 2, dim), NUMBERS),
    "roll of all": (lambda m, x, dim, at, part: m.roll(x, -3), NUMBERS),
    "roll of two": (lambda m, x, dim, at, part: m.roll(x, (1, -2), (dim, 0)), NUMBERS),
    "index_select": (lambda m, x, dim, at, part: x.index_select(dim, at), NUMBERS),
    "flip of all": (lambda m, x, dim, at, part: m.flip(x, tuple(range(x.dim()))), NUMBERS),
    "cumsum": (lambda m, x, dim, at, part: x.cumsum(dim), NUMBERS),
    "cumprod": (lambda m, x, dim, at, part: (x * 0 + 1.125).cumprod(dim), ("float32", "float64")),
    "cumprod of integers": (lambda m, x, dim, at, part: x.cumprod(dim), ("int32", "int64", "uint8", "bool")),
    "cummax": (lambda m, x, dim, at, part: x.cummax(dim).values, NUMBERS),
    "cummin's indices": (lambda m, x, dim, at, part: x.cummin(dim).indices, NUMBERS),
    "flip of a transposed view": (lambda m, x, dim, at, part: m.flip(x.transpose(0, -1), (0, dim)), NUMBERS),
    "stack": (lambda m, x, dim, at, part: m.stack([x, x + x], dim), NUMBERS),
    "cat": (lambda m, x, dim, at, part: m.cat([x, part], dim), NUMBERS),
    "tril": (lambda m, x, dim, at, part: m.tril(x, dim), NUMBERS),
    "triu": (lambda m, x, dim, at, part: m.triu(x, -2), NUMBERS),
    "nonzero": (lambda m, x, dim, at, part: m.nonzero(x > 0), NUMBERS),
    "where": (lambda m, x, dim, at, part: m.stack(m.where(x > 0)), NUMBERS),
    "masked_select": (lambda m, x, dim, at, part: m.masked_select(x, x > 0), NUMBERS),
    "masked_scatter": (lambda m, x, dim, at, part: x.masked_scatter(x > 0, m.cat([x.reshape(-1)[::2]] * 2)), NUMBERS),
    "scatter_add": (lambda m, x, dim, at, part: x.scatter_add(dim, places_of(m, x, dim, at), part), NUMBERS),
    "scatter": (
        lambda m, x, dim, at, part: x.scatter(dim, places_of(m, x, dim, at[:1]), part.narrow(dim, 0, min(1, len(at)))),
        NUMBERS,
    ),
    "scatter, multiplied": (
        lambda m, x, dim, at, part: x.scatter(dim, places_of(m, x, dim, at), part, reduce="multiply"),
        ("float64", "int32", "int64", "uint8", "bool"),
    ),
    "scatter_reduce, largest": (
        lambda m, x, dim, at, part: x.scatter_reduce(dim, places_of(m, x, dim, at), part, "amax"),
        NUMBERS,
    ),
    "scatter_reduce, smallest": (
        lambda m, x, dim, at, part: x.scatter_reduce(dim, places_of(m, x, dim, at), part, "amin"),
        NUMBERS,
    ),
    "scatter, reduced": (
        lambda m, x, dim, at, part: x.scatter(dim, places_of(m, x, dim, at), part, reduce="add"),
        NUMBERS,
    ),
    "softmax": (lambda m, x, dim, at, part: m.softmax(x, dim), FLOATS),
    "log_softmax": (lambda m, x, dim, at, part: m.log_softmax(x, dim), FLOATS),
    "logsumexp": (lambda m, x, dim, at, part: m.logsumexp(x, dim), FLOATS),
    "logsumexp, kept": (lambda m, x, dim, at, part: m.logsumexp(x, (dim,), True), FLOATS),
    "to integers": (lambda m, x, dim, at, part: x.to(m.int64) + x.int() + x.to(m.int8), FLOATS),
    "sum": (lambda m, x, dim, at, part: x.sum(dim), NUMBERS),
    "sum of all": (lambda m, x, dim, at, part: x.sum(), NUMBERS),
    "sum backwards": (lambda m, x, dim, at, part: m.flip(x, (dim,)).sum(dim), NUMBERS),
    "var": (lambda m, x, dim, at, part: x.var(dim), FLOATS),
    "std of all": (lambda m, x, dim, at, part: x.std(), FLOATS),
    "norm": (lambda m, x, dim, at, part: x.norm(dim=dim), FLOATS),
    "norm of all": (lambda m, x, dim, at, part: x.norm(), FLOATS),
    "mean": (lambda m, x, dim, at, part: x.mean(dim), FLOATS),
    "prod": (lambda m, x, dim, at, part: x.prod(dim), ("float64", "int32", "int64", "uint8", "bool")),
    "amax": (lambda m, x, dim, at, part: x.amax(dim), NUMBERS),
    "max": (lambda m, x, dim, at, part: x.max(dim).values, NUMBERS),
    "argmax": (lambda m, x, dim, at, part: x.argmax(dim), NUMBERS[:-1]),
    "min's indices": (lambda m, x, dim, at, part: x.gather(dim, x.min(dim, keepdim=True).indices), NUMBERS),
    "amin of all": (lambda m, x, dim, at, part: x.amin(), NUMBERS),
    "any": (lambda m, x, dim, at, part: x.any(dim), NUMBERS),
    "all": (lambda m, x, dim, at, part: (x != 0).all(dim), NUMBERS),
}
TOLERANCES = {"bfloat16": 0.05, "float16": 0.01, "float32": 1e-4}


def places_of(m, x, dim, at):
    """The indices for each line of x."""
    sizes = [1] * x.dim()
    sizes[dim] = at.shape[0]
    return at.reshape(sizes).expand([*x.shape[:dim], at.shape[0], *x.shape[dim + 1 :]])


def array_of(tensor):
    return np.array(tensor.double().tolist()).reshape(tuple(tensor.shape))


def outcome(m, call, array, dtype, layout, dim, at, part):
    try:
        x = LAYOUTS[layout](m.from_numpy(array.copy()).to(getattr(m, dtype)))
        dim %= x.dim()
        sizes = list(x.shape)
        sizes[dim] = len(at)
        at = m.from_numpy(at % max(x.shape[dim], 1)) if x.shape[dim] else m.from_numpy(at[:0])
        sizes[dim] = at.shape[0]
        part = m.from_numpy(np.resize(part, sizes)).to(x.dtype)
        return call(m, x, dim, at, part)
    except (RuntimeError, IndexError, ValueError) as error:
        return error


@pytest.mark.parametrize("name", OPS)
def test_along_dims(name):
    call, dtypes = OPS[name]
    drawn = np.random.default_rng(0)
    for shape in SHAPES:
        array, part, at = drawn.normal(size=shape) * 4, drawn.normal(size=2000) * 4, drawn.integers(0, 1 << 20, 6)
        for dtype in dtypes:
            given, parts = (
                each > 0 if dtype == "bool" else np.abs(each) if dtype == "uint8" else each for each in (array, part)
            )
            for layout in LAYOUTS:
                for dim in range(len(shape)):
                    expected, found = (outcome(m, call, given, dtype, layout, dim, at, parts) for m in (torch, md))
                    where = (shape, dtype, layout, dim, expected, found)
                    if isinstance(expected, Exception):
                        assert isinstance(found, Exception), where
                        continue
                    assert not isinstance(found, Exception), where
                    assert found.dtype == getattr(md, str(expected.dtype).split(".")[1]), where
                    tolerance = TOLERANCES.get(dtype, 1e-9)
                    assert np.allclose(array_of(found), array_of(expected), tolerance, 3 * tolerance, equal_nan=True), (
                        where
                    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_masked_columns(dtype):
    """Columns that are -inf as a whole, of which the largest is infinite, or that hold NaN."""
    x = torch.randn(5, 12, generator=torch.Generator().manual_seed(0))
    x[:, 3], x[2, 4], x[1, 5], x[1:, 6] = -torch.inf, torch.inf, torch.nan, -torch.inf
    for name in ("softmax", "log_softmax", "logsumexp"):
        for dim in (0, 1):
            expected = getattr(torch, name)(x.to(getattr(torch, dtype)), dim)
            found = getattr(md, name)(md.from_numpy(x.numpy()).to(getattr(md, dtype)), dim)
            tolerance = TOLERANCES.get(dtype, 1e-9)
            assert np.allclose(array_of(found), array_of(expected), tolerance, tolerance, equal_nan=True)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("count", [1, 3, 100, 5000])
def test_variances_far_from_zero(count, dim):
    drawn = np.random.default_rng(0).normal(size=(count, 40)) + 1e5
    x = drawn.astype(np.float32) if dim == 0 else drawn.T.astype(np.float32)
    expected = x.astype(np.float64).var(dim)
    found = np.array(md.from_numpy(np.ascontiguousarray(x)).var(dim, correction=0).tolist())
    assert np.allclose(found, expected, 1e-5, 1e-12)


@pytest.mark.parametrize("sizes", [(5, 12), (70, 300)])
def test_largest_of_columns_with_nan(sizes):
    x = np.random.default_rng(0).normal(size=sizes).astype(np.float32).round(1)
    x[3, ::3], x[4, ::3], x[2, 1], x[:, 2], x[1, 4] = np.nan, np.nan, np.inf, -np.inf, -0.0
    for name in ("max", "min"):
        expected, found = (getattr(m.from_numpy(x.copy()), name)(0) for m in (torch, md))
        assert np.array_equal(array_of(found.values), array_of(expected.values), equal_nan=True)
        first = getattr(np, f"arg{name}")(x, axis=0)
        assert found.indices.tolist() == first.tolist()


@pytest.mark.parametrize("scale", [1e-40, 1e-25, 1e-15, 1e18, 1e25])
def test_norms_whose_squares_are_no_floats(scale):
    x = (np.random.default_rng(0).normal(size=(4, 300)) * scale).astype(np.float32)
    expected = np.linalg.norm(x.astype(np.float64), axis=1)
    assert np.allclose(np.array(md.from_numpy(x).norm(dim=1).tolist()), expected, 1e-5, 1e-44)
