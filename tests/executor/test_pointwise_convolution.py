"""Convolutions with kernels of one element, as products with each image: values, strides, threads, when they are used."""

import math

import pytest
from convolutions import F64, check_values, fresh, kernel_of  # noqa: F401  fresh is a fixture

import minidynamo

FUNCTIONAL = minidynamo.nn.functional
CONVOLUTIONS = {1: FUNCTIONAL.conv1d, 2: FUNCTIONAL.conv2d, 3: FUNCTIONAL.conv3d}


# Images, channels, results, sizes, stride; the kernel is one element, or `kernel`.
PATCHES = [
    (1, 3, 96, (56, 60), (4, 4), 4),
    (2, 3, 33, (49, 45), (4, 4), 4),
    (1, 3, 192, (105, 104), (4, 4), 5),
    (1, 20, 40, (40, 41), (2, 2), 2),
    (1, 20, 40, (40, 41), (2, 2), 3),
    (1, 20, 40, (40, 41), (1, 2), (1, 3)),
    (1, 20, 40, (40, 20), (3, 1), (3, 1)),
    (2, 5, 16, (2000,), (4,), 10),
    (1, 2, 16, (17, 18, 30), (2, 2, 3), (2, 3, 3)),
]
SHAPES = [
    (1, 64, 64, (14, 14), 1),
    (2, 96, 130, (7, 7), 1),
    (1, 50, 33, (5, 10), 1),
    (1, 50, 33, (3, 17), 1),
    (1, 20, 40, (13, 15), 2),
    (1, 16, 130, (13, 11), 1),
    (3, 33, 17, (20, 9), 1),
    (1, 300, 48, (12, 12), 1),
    (2, 24, 96, (31, 33), 2),
    (1, 24, 96, (31, 62), (1, 3)),
    (1, 24, 96, (32, 32), (2, 1)),
    (2, 40, 16, (300,), 1),
    (1, 40, 16, (300,), 2),
    (1, 17, 18, (5, 6, 7), 1),
    (2, 17, 18, (9, 10, 11), 2),
    (1, 17, 18, (9, 10, 14), (1, 2, 1)),
    (1, 512, 256, (28, 28), 1),
]


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("shape", [(*shape[:4], None, shape[4]) for shape in SHAPES] + PATCHES, ids=str)
def test_values(shape, with_bias):
    images, channels, results, sizes, kernel, stride = shape
    kernel = kernel or [1] * len(sizes)
    x, weight = minidynamo.randn(images, channels, *sizes), minidynamo.randn(results, channels, *kernel)
    bias = minidynamo.randn(results) if with_bias else None

    def convolve(x, weight, bias):
        return CONVOLUTIONS[len(sizes)](x, weight, bias, stride)

    check_values(convolve, x, weight, bias, "own products with each image")


OTHERS = {
    "few channels": ((1, 3, 20, 20), (32, 3, 1, 1), {}),
    "few elements": ((1, 64, 6, 7), (64, 64, 1, 1), {}),
    "elements that fill no vectors": ((1, 64, 1, 53), (64, 64, 1, 1), {}),
    "padding": ((1, 64, 20, 20), (64, 64, 1, 1), {"padding": 1}),
    "groups": ((1, 64, 20, 20), (64, 32, 1, 1), {"groups": 2}),
    "windows that overlap": ((1, 64, 20, 20), (64, 64, 1, 2), {}),
    "windows that overlap in one dim": ((1, 64, 20, 20), (64, 64, 2, 2), {"stride": (2, 1)}),
    "larger patches": ((1, 3, 160, 160), (64, 3, 8, 8), {"stride": 8}),
    "dilation": ((1, 64, 30, 30), (64, 64, 2, 2), {"stride": 2, "dilation": 2}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    size, kernel, options = OTHERS[name]
    x, weight = minidynamo.randn(*size), minidynamo.randn(*kernel)

    def convolve(x, weight):
        return FUNCTIONAL.conv2d(x, weight, **options)

    assert "own products" not in kernel_of(convolve, x, weight)
    assert (convolve(x, weight).to(F64) - convolve(x.to(F64), weight.to(F64))).abs().amax().item() <= 1e-4


def test_special_values_stay_in_their_place():
    x, weight = minidynamo.zeros(1, 16, 16, 16), minidynamo.ones(32, 16, 1, 1)
    x[0, 3, 4, 5], x[0, 3, 15, 15] = math.nan, math.inf
    found = FUNCTIONAL.conv2d(x, weight)
    assert minidynamo.isnan(found).sum().item() == minidynamo.isinf(found).sum().item() == 32
    assert minidynamo.isnan(found[0, :, 4, 5]).all() and minidynamo.isinf(found[0, :, 15, 15]).all()


def test_weights_that_change_are_noticed():
    x, layer = minidynamo.randn(1, 32, 20, 20), minidynamo.nn.Conv2d(32, 48, 1)
    compiled = minidynamo.compile(layer)
    with minidynamo.no_grad():
        for _ in range(6):
            compiled(x)
        layer.weight.mul_(-2)
        assert minidynamo.equal(compiled(x), layer(x))
