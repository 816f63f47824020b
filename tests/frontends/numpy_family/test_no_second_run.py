"""Ordinary numbers raise no floating-point exceptions, however many elements a vector lacks: NumPy need not run the region again."""

import numpy as np
import pytest

import minidynamo

ONE = "log log2 log10 log1p exp expm1 exp2 sin cos tan tanh sinh cosh arctan sqrt arcsinh reciprocal square".split()
CALLS = {
    **{name: lambda x, y, f=getattr(np, name): f(x) * 2 + y for name in ONE},
    "divide": lambda x, y: x / y + 1,
    "divide twice": lambda x, y: (x - 0.25) / y / (x + y),
    "by a number": lambda x, y: x / 31.6 + y,
    "of a number": lambda x, y: 1 / x + y,
    "root": lambda x, y: np.sqrt(x - 0.4) + y,
    "one over a root": lambda x, y: 1 / np.sqrt(x) + y,
    "floor_divide": lambda x, y: x // y + 1,
    "remainder": lambda x, y: x % y + 1,
    "fmod": lambda x, y: np.fmod(x, y) + 1,
    "power": lambda x, y: x**-y + 1,
    "square": lambda x, y: x**2 + y,
    "hypot": lambda x, y: np.hypot(x, y) + np.arctan2(x, y),
    "maximum": lambda x, y: np.maximum(x - 1, 0) + np.minimum(y, x),
    "where": lambda x, y: np.where(x > y, x / y, y / x),
    "mean": lambda x, y: x.mean() / np.sqrt(len(x)) + y,
    "spread": lambda x, y: (x - x.mean()) / (x.std() + 1e-9) + y.var(),
    "softmax": lambda x, y: np.exp(x - x.max()) / np.exp(x - x.max()).sum() + y,
    "norm": lambda x, y: x / np.linalg.norm(y),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CALLS)
def test_no_exception_is_raised(name, dtype):
    x, y = np.random.default_rng(7).uniform(0.5, 3, (2, 1000)).astype(dtype)
    compiled = minidynamo.compile(CALLS[name])
    failing = []
    for size in (1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 1000):
        before = minidynamo._C.engine_counters()["plan_failures"]
        for _ in range(2):
            compiled(x[:size], y[:size])
        if minidynamo._C.engine_counters()["plan_failures"] > before:
            failing.append(size)
    assert not failing


# x has zeros, and y has none.
OF_COMPLEX = {
    **{
        name: lambda x, y, f=getattr(np, name): f(x) + y
        for name in "abs exp sin cos tan sinh cosh tanh square sqrt".split()
    },
    **{name: lambda x, y, f=getattr(np, name): f(y) + x for name in "log log2 log10 reciprocal".split()},
    "divide": lambda x, y: x / y + 1,
    "compare": lambda x, y: (abs(x) < 2.0) & (x != y),
    "product": lambda x, y: np.outer(x, y) @ y,
    "at a mask": lambda x, y: np.where(x != 0, x, 1).__setitem__(x != 0, 1 / np.where(x != 0, x, 1)[x != 0]),
    "inverse at a mask": lambda x, y: x.__setitem__(x != 0, y[x != 0] / x[x != 0]),
}


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_no_exception_is_raised_by_complex_numbers(name, dtype):
    parts = np.random.default_rng(8).uniform(0.5, 3, (4, 300))
    x, y = (parts[0] - 1j * parts[1]).astype(dtype), (1j * parts[3] - parts[2]).astype(dtype)
    x[1::3] = 0
    compiled = minidynamo.compile(OF_COMPLEX[name])
    failing = []
    for size in (1, 2, 3, 4, 5, 8, 9, 17, 64, 65, 300):
        before = minidynamo._C.engine_counters()["plan_failures"]
        for _ in range(2):
            compiled(x[:size].copy(), y[:size])
        if minidynamo._C.engine_counters()["plan_failures"] > before:
            failing.append(size)
    assert not failing
