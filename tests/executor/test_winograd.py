"""Convolutions with 3 x 3 kernels by tiles of 2 x 2 results: values, special values, and when they are used."""

import logging
import math

import pytest

import minidynamo
from minidynamo._dynamo import config

F32, F64 = minidynamo.float32, minidynamo.float64


@pytest.fixture(autouse=True)
def fresh():
    minidynamo.manual_seed(5)
    yield
    config.winograd = True
    minidynamo._dynamo.reset()


def assert_close(found, expected, rtol, atol):
    assert minidynamo.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)


def convolve(x, weight, bias, padding):
    return minidynamo.nn.functional.conv2d(x, weight, bias, padding=padding)


def operands(images, channels, results, height, width, with_bias):
    x = minidynamo.randn(images, channels, height, width)
    weight = minidynamo.randn(results, channels, 3, 3)
    return x, weight, minidynamo.randn(results) if with_bias else None


def exact(x, weight, bias, padding):
    return convolve(x.to(F64), weight.to(F64), None if bias is None else bias.to(F64), padding)


def largest_error(found, x, weight, bias, padding):
    """Relative to the sum of the magnitudes of the products."""
    error = (found.to(F64) - exact(x, weight, bias, padding)).abs()
    sizes = exact(x.abs(), weight.abs(), None if bias is None else bias.abs(), padding)
    return (error / sizes.amax()).amax().item()


SHAPES = [
    (1, 32, 32, 28, 28, 1, True),
    (2, 64, 32, 29, 31, 0, False),
    (1, 40, 96, 30, 57, 2, True),
    (3, 33, 65, 28, 28, 1, False),
    (1, 64, 64, 56, 56, 1, False),
    (1, 32, 32, 200, 3, (1, 1), True),
    (1, 400, 33, 28, 30, (0, 1), True),
    (2, 32, 170, 40, 41, (3, 5), False),
]


@pytest.mark.parametrize("images, channels, results, height, width, padding, with_bias", SHAPES)
def test_values(images, channels, results, height, width, padding, with_bias):
    x, weight, bias = operands(images, channels, results, height, width, with_bias)
    found = convolve(x, weight, bias, padding)
    config.winograd = False
    direct = convolve(x, weight, bias, padding)
    assert found.shape == direct.shape
    error, of_direct = (largest_error(y, x, weight, bias, padding) for y in (found, direct))
    assert error < 4e-7 and error < 4 * of_direct + 1e-8, (error, of_direct)


def same_bits(a, b):
    return a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_same_bits_whichever_way(is_compiled):
    x, weight, bias = operands(2, 48, 64, 33, 30, True)
    expected = convolve(x, weight, bias, 1)
    function = minidynamo.compile(convolve, fullgraph=True) if is_compiled else convolve
    for _ in range(8):  # the weights are packed in the meantime
        assert same_bits(function(x, weight, bias, 1), expected)
    threads = minidynamo.get_num_threads()
    minidynamo.set_num_threads(1)
    try:
        assert same_bits(function(x, weight, bias, 1), expected)
    finally:
        minidynamo.set_num_threads(threads)
    weight.mul_(2)
    assert same_bits(function(x, weight, None, 1), convolve(x, weight, None, 1))
    assert largest_error(function(x, weight, bias, 1), x, weight, bias, 1) < 4e-7


def test_integers_are_exact():
    x = minidynamo.randint(-50, 50, (1, 32, 30, 30)).to(F32)
    weight = minidynamo.randint(-9, 9, (32, 32, 3, 3)).to(F32)
    assert (convolve(x, weight, None, 1).to(F64) == exact(x, weight, None, 1)).all().item()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 3e38, -1e25])
@pytest.mark.parametrize("is_weight", [False, True])
def test_infinite_and_huge_values_stay_local(value, is_weight):
    x, weight, bias = operands(2, 32, 64, 28, 28, True)
    weight.mul_(0.1)
    x[1, 3, 10, 11] = value
    x[1, 3, 11, 12] = value
    if is_weight:
        x, weight = minidynamo.randn(2, 32, 28, 28), weight.clone()
        weight[5, 7, 1, 2] = value
    config.winograd = False
    expected = convolve(x, weight, bias, 1)
    config.winograd = True
    compiled = minidynamo.compile(convolve)
    for function in (convolve, compiled, compiled, compiled, compiled, compiled):
        found = function(x, weight, bias, 1)
        assert_close(found, expected, rtol=1e-3, atol=1e-4)


def kernels(caplog, function, *arguments):
    minidynamo._logging.set_logs(kernels=True)
    try:
        with caplog.at_level(logging.DEBUG, logger="minidynamo"):
            minidynamo.compile(function)(*arguments)
    finally:
        minidynamo._logging.set_logs()
    return caplog.text


@pytest.mark.parametrize(
    "shape, is_tiled",
    [
        ((1, 64, 64, 56, 56), True),
        ((1, 16, 64, 56, 56), False),
        ((1, 64, 16, 56, 56), False),
        ((1, 64, 64, 8, 8), False),
    ],
)
def test_when_it_is_used(caplog, shape, is_tiled):
    x, weight, _ = operands(*shape, False)
    assert ("(Winograd)" in kernels(caplog, lambda: convolve(x, weight, None, 1))) == is_tiled


def test_the_flag(caplog):
    x, weight, _ = operands(1, 64, 64, 56, 56, False)
    config.winograd = False
    text = kernels(caplog, lambda: convolve(x, weight, None, 1))
    assert "oneDNN " in text and "Winograd" not in text


@pytest.mark.parametrize("options", [{"stride": 2}, {"dilation": 2}, {"groups": 2}])
def test_other_convolutions(options):
    x = minidynamo.randn(1, 64, 60, 60)
    weight = minidynamo.randn(64, 64 // options.get("groups", 1), 3, 3)
    found = minidynamo.nn.functional.conv2d(x, weight, None, padding=1, **options)
    expected = minidynamo.nn.functional.conv2d(x.to(F64), weight.to(F64), None, padding=1, **options)
    assert_close(found.to(F64), expected, rtol=1e-5, atol=1e-3)
