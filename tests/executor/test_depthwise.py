"""Convolutions of each channel by itself: values, special values, threads, and when our own loops compute them."""

import math
import random

import pytest
from convolutions import F64, check_values, fresh, kernel_of  # noqa: F401  fresh is a fixture

import minidynamo

FUNCTIONAL = minidynamo.nn.functional


def convolution(dims):
    return FUNCTIONAL.conv2d if dims == 2 else FUNCTIONAL.conv1d


# Images, channels, results of each channel, sizes, kernel, stride, padding, dilation.
SHAPES = [
    (1, 32, 1, (56, 56), (3, 3), 1, 1, 1),
    (1, 32, 1, (57, 55), (3, 3), 2, 1, 1),
    (2, 5, 1, (14, 14), (7, 7), 1, 3, 1),
    (2, 5, 1, (14, 14), (5, 5), 2, 2, 1),
    (1, 3, 4, (20, 17), (3, 5), (1, 2), (0, 2), 1),
    (3, 1, 8, (28, 28), (3, 3), 1, 0, 1),
    (1, 6, 1, (33, 40), (3, 3), 1, 4, 4),
    (1, 6, 1, (33, 40), (3, 3), 2, (2, 1), (2, 3)),
    (1, 6, 1, (33, 40), (4, 3), (3, 1), (2, 1), (2, 1)),
    (1, 7, 2, (5, 9), (5, 9), 1, 0, 1),
    (1, 7, 1, (7, 7), (3, 3), 1, 1, 1),
    (1, 4, 1, (1, 1), (3, 3), 1, 1, 1),
    (1, 4, 1, (3, 70), (1, 1), (2, 2), 0, 1),
    (1, 130, 1, (40, 33), (3, 3), 1, 1, 1),
    (1, 2, 1, (300, 700), (3, 3), 1, 1, 1),
    (1, 2, 1, (300, 700), (5, 3), 2, 2, 1),
    (1, 2, 1, (3, 9000), (3, 31), 1, (1, 15), 1),
    (1, 16, 1, (50, 300), (40, 290), 1, 0, 1),
    (2, 24, 1, (200,), (31,), 1, 15, 1),
    (1, 16, 3, (1000,), (4,), 2, 3, 2),
    (1, 9, 1, (17,), (5,), 1, 0, 4),
]
# Likewise, of small images.
SMALL = [
    (1, 32, 1, (7, 7), (3, 3), 1, 1, 1),
    (2, 33, 1, (7, 7), (5, 5), 1, 2, 1),
    (1, 40, 1, (14, 14), (3, 3), 2, 1, 1),
    (3, 17, 1, (14, 11), (5, 3), (3, 2), (1, 2), (2, 1)),
    (1, 16, 1, (1, 1), (3, 3), 1, 1, 1),
    (1, 31, 1, (9, 4), (9, 4), 1, 0, 1),
    (2, 18, 1, (5, 19), (2, 2), 1, 1, 1),
    (1, 50, 1, (28, 28), (5, 5), 2, 2, 1),
    (1, 48, 1, (40, 3), (3, 3), 1, (4, 2), (4, 2)),
    (2, 33, 1, (400, 7), (3, 3), 1, 1, 1),
    (1, 20, 1, (333, 19), (5, 3), 2, (2, 1), (3, 1)),
    (1, 17, 1, (900, 1), (3, 1), 1, (7, 0), 1),
    (1, 16, 1, (200, 30), (3, 21), 1, (1, 4), 1),
]


def operands(images, channels, results, sizes, kernel):
    x = minidynamo.randn(images, channels, *sizes)
    return x, minidynamo.randn(channels * results, 1, *kernel), minidynamo.randn(channels * results)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(
    ("shape", "kernel_name"),
    [(shape, "own rows by channels") for shape in SHAPES] + [(shape, "own vectors of channels") for shape in SMALL],
    ids=str,
)
def test_values(shape, kernel_name, with_bias):
    images, channels, results, sizes, kernel, stride, padding, dilation = shape
    x, weight, bias = operands(images, channels, results, sizes, kernel)
    bias = bias if with_bias else None

    def convolve(x, weight, bias):
        return convolution(len(sizes))(x, weight, bias, stride, padding, dilation, channels)

    check_values(convolve, x, weight, bias, kernel_name)


def test_nothing_beside_the_operands_is_read():
    """Numbers around an operand that would spoil every sum."""
    for channels, width in ((channels, width) for channels in (3, 37) for width in range(1, 40)):
        around = minidynamo.full((4, channels, 5, width), math.nan)
        around[1] = minidynamo.randn(channels, 5, width)
        x, weight = around[1:2], minidynamo.randn(channels, 1, 3, 3)
        for stride in (1, 2):
            found = FUNCTIONAL.conv2d(x, weight, None, stride, 1, 1, channels)
            assert minidynamo.isfinite(found).all()
            assert minidynamo.equal(found, FUNCTIONAL.conv2d(x.clone(), weight, None, stride, 1, 1, channels))


def test_special_values_stay_where_they_are_read():
    x = minidynamo.zeros(1, 2, 9, 40)
    x[0, 0, 4, 20] = math.inf
    x[0, 1, 0, 0] = math.nan
    weight = minidynamo.ones(2, 1, 3, 3)
    found = FUNCTIONAL.conv2d(x, weight, None, 1, 1, 1, 2)
    places = [(0, y, x) for y in (3, 4, 5) for x in (19, 20, 21)]
    assert [tuple(place) for place in minidynamo.isinf(found[0]).nonzero().tolist()] == places
    assert minidynamo.isnan(found[0]).nonzero().tolist() == [[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]


@pytest.mark.parametrize("shape", [(1, 32, 7, 7), (1, 32, 30, 30)], ids=["oneDNN", "our own"])
def test_threads_of_groups(shape):
    """Groups are divided between threads, whoever computes them; two channels of results for each of two."""
    x, weight = minidynamo.randn(*shape), minidynamo.randn(64, 2, 3, 3)
    exact = FUNCTIONAL.conv2d(x.to(F64), weight.to(F64), None, 1, 1, 1, 16)
    for threads in (1, 2):
        minidynamo.set_num_threads(threads)
        found = FUNCTIONAL.conv2d(x, weight, None, 1, 1, 1, 16)
        assert (found.to(F64) - exact).abs().amax().item() <= 1e-4


@pytest.mark.parametrize(
    ("channels", "results", "kernel_name"),
    [
        (64, 64, "own vectors of channels"),
        (60, 60, "own vectors of channels"),
        (7, 7, "own rows"),
        (64, 128, "own rows"),
    ],
)
def test_what_vectors_hold_of_small_images(channels, results, kernel_name):
    def convolve(x, weight):
        return FUNCTIONAL.conv2d(x, weight, None, 1, 1, 1, x.shape[1])

    found = kernel_of(convolve, minidynamo.randn(1, channels, 7, 7), minidynamo.randn(results, 1, 3, 3))
    assert found.startswith(kernel_name)


def test_weights_that_change_are_noticed():
    x, weight = minidynamo.randn(1, 40, 20, 20), minidynamo.randn(40, 1, 3, 3)
    layer = minidynamo.nn.Conv2d(40, 40, 3, groups=40)
    compiled = minidynamo.compile(layer)
    with minidynamo.no_grad():
        for _ in range(6):
            compiled(x)
        layer.weight.copy_(weight)
        assert minidynamo.equal(compiled(x), layer(x))


def check_drawn(seed):
    draw = random.Random(seed)
    dims = draw.choice((1, 2))
    kernel = [draw.randint(1, 5) for _ in range(dims)]
    dilation = [draw.randint(1, 3) for _ in range(dims)]
    padding = [draw.randint(0, 4) for _ in range(dims)]
    stride = [draw.randint(1, 3) for _ in range(dims)]
    needed = [(k - 1) * d + 1 - 2 * p for k, d, p in zip(kernel, dilation, padding)]
    sizes = [max(least, 1) + draw.randint(0, 40) for least in needed]
    channels, results = draw.choice((1, 2, 3, 4, 5, 19, 34)), draw.randint(1, 3)
    minidynamo.manual_seed(seed)
    x, weight, bias = operands(draw.randint(1, 3), channels, results, sizes, kernel)
    run = convolution(dims)
    exact = run(x.to(F64), weight.to(F64), bias.to(F64), stride, padding, dilation, channels)
    found = run(x, weight, bias, stride, padding, dilation, channels)
    assert (found.to(F64) - exact).abs().amax().item() <= 1e-4, (x.shape, kernel, stride, padding, dilation)


@pytest.mark.parametrize("seed", range(0, 300, 30))
def test_drawn_shapes(seed):
    for each in range(seed, seed + 30):
        check_drawn(each)
