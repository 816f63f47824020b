"""Sizes that a program computes through floats: two regions serve all sizes where the float is exact, with Python's values."""

import math

import pytest

import minidynamo
from minidynamo import ones
from minidynamo.nn import functional

EXACT = [2, 2.0, 0.5, 1.5, 0.75, 3.25, 1.0, -0.5, 0.0]
OTHERS = [0.1, 1 / 3, 2**60, 1e-30, 1e300, math.pi]
SIZES = [7, 9, 12, 4, 31, 100]

WAYS = {
    "floor": lambda n, c: math.floor(n * c),
    "ceil": lambda n, c: math.ceil(n * c),
    "trunc": lambda n, c: math.trunc(n * c),
    "int": lambda n, c: int(n * c),
    "int of the product from the left": lambda n, c: int(c * n),
    "floor of a float": lambda n, c: math.floor(float(n) * c),
    "a quarter": lambda n, c: math.ceil(n / 4 * c),
    "twice": lambda n, c: int(int(n * c) * 0.5),
    "a sum": lambda n, c: int((n + 3) * c) - math.floor(n * 0.25),
}


def _program(way, c):
    def function(x):
        size = way(x.shape[0], c)
        return x.new_zeros(abs(size) % 1000), size, size > 5

    return function


@pytest.mark.parametrize("c", EXACT + OTHERS)
@pytest.mark.parametrize("way", WAYS)
def test_values(way, c):
    function = _program(WAYS[way], c)
    counter = minidynamo._dynamo.testing.CompileCounter()
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, backend=counter)
    for n in SIZES:
        assert repr(compiled(ones(n))) == repr(function(ones(n)))


@pytest.mark.parametrize("c", [2, 2.0, 0.5, 1.5, 3.25])
def test_one_region_for_all_sizes(c):
    counter = minidynamo._dynamo.testing.CompileCounter()
    compiled = minidynamo.compile(lambda x: x.new_zeros(int(x.shape[0] * c)) + 1, backend=counter)
    for n in SIZES:
        assert compiled(ones(n)).shape == (int(n * c),)
    assert counter.frame_count == 2


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("scale", [2, 2.0, 0.5, 1.5])
def test_interpolate(scale, mode):
    def function(x):
        return functional.interpolate(x, scale_factor=scale, mode=mode)

    counter = minidynamo._dynamo.testing.CompileCounter()
    compiled = minidynamo.compile(function, backend=counter)
    for n in (8, 10, 12, 20):
        x = minidynamo.arange(2 * n * n, dtype=minidynamo.float32).reshape(1, 2, n, n)
        # Without the graph, one dim is resampled after the other.
        assert minidynamo.allclose(compiled(x), function(x), rtol=1e-6)
    assert counter.frame_count == 2
