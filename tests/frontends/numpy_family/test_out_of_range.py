"""Python's numbers that a dtype of floats rounds to infinity: NumPy warns where it casts them."""

import numpy as np
import pytest
from compared import mismatch

import minidynamo


def stored(x):
    x[0] = 1e300
    return x


def filled(x):
    x.fill(1e300)
    return x


def added_to(x):
    x += 1e300
    return x


def stored_in_part(x):
    x[1:] = 1e300
    return x


def stored_at_mask(x):
    x[x > 0] = 1e300
    return x


def copied_to(x):
    np.copyto(x, 1e300)
    return x


CALLS = {
    "add": lambda x: x + 3e100,
    "add an int": lambda x: x + 70000,
    "add a long int": lambda x: x + 2**70,
    "multiply": lambda x: x * 1e39,
    "maximum": lambda x: np.maximum(x, 1e100),
    "where": lambda x: np.where(x > 0, x, 1e300),
    "full": lambda x: np.full(3, 1e300, x.dtype),
    "full_like": lambda x: np.full_like(x, 1e300),
    "array": lambda x: np.array([1e300, 1], dtype=x.dtype),
    "nested": lambda x: np.array([[1e300, 1], [1, 2]], dtype=x.dtype),
    "asarray": lambda x: np.asarray(1e300, dtype=x.dtype),
    "compare": lambda x: x < 1e300,
    "clip": lambda x: np.clip(x, 0, 1e300),
    "power": lambda x: x**1e300,
    "divide": lambda x: 1e300 / x,
    "floor_divide": lambda x: x // 1e300,
    "remainder": lambda x: x % 1e300,
    "infinity": lambda x: x + float("inf"),
    "append": lambda x: np.append(x, 1e300),
    "nan_to_num": lambda x: np.nan_to_num(x, posinf=1e300),
    "scalar": lambda x: x.dtype.type(1e300),
    "linspace": lambda x: np.linspace(0, 1e300, 3, dtype=x.dtype),
    "diff": lambda x: np.diff(x, prepend=1e300),
    "sum": lambda x: np.sum(x, initial=1e300),
    "astype": lambda x: (x * np.float64(1e300)).astype(x.dtype),
    "largest": lambda x: x * 3.4028235e38 + x * 65504,
    "rounded to the largest": lambda x: x * 3.40282356e38 + x * 65519,
    **{f.__name__: f for f in (stored, filled, added_to, stored_in_part, stored_at_mask, copied_to)},
}


def then_broken(function):
    """What follows keeps a region of one operation from being left to NumPy."""

    def call(x):
        result = function(x) * 1
        minidynamo._dynamo.graph_break()
        return result

    return call


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", CALLS)
def test_a_number_out_of_range(name, dtype):
    few, many = np.ones(3, dtype), np.linspace(0.1, 1, 2000).astype(dtype)
    for argument in (few, many, few[0], few[:1].reshape(())):
        for function in (CALLS[name], then_broken(CALLS[name])):
            assert not mismatch(function, [argument])


# The second call meets a number that is an input of the graph.
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("number", [1e300, 1e39, 70000.0, 1e4, 70000, 2**40])
def test_a_number_that_varies(number, dtype):
    def function(x, k):
        result = x * k + x
        y = x + 1
        y[0] = k
        minidynamo._dynamo.graph_break()
        return result, y

    compiled = minidynamo.compile(function, dynamic=True)
    x = np.linspace(0.1, 1, 100).astype(dtype)
    compiled(x, type(number)(3))
    compiled(x, type(number)(4))
    with np.errstate(all="raise"):
        for call in (function, compiled):
            try:
                outcome = [part.tolist() for part in call(x, number)]
            except FloatingPointError as error:
                outcome = str(error)
            if call is function:
                expected = outcome
    assert outcome == expected


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_a_number_out_of_an_array(dtype):
    def function(x, limits):
        large = int(limits[0]) * 2
        return x[0] + large, x + large, x * float(limits[0])

    limits = np.array([np.finfo(dtype).max])
    assert not mismatch(function, [np.ones(3, dtype), limits])
    assert not mismatch(function, [np.ones(3, dtype), limits / 4])
