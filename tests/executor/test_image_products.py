"""Convolutions whose windows are whole images: values, threads, and when our own product computes them."""

import pytest
from convolutions import check_values, fresh, kernel_of  # noqa: F401  fresh is a fixture

import minidynamo

FUNCTIONAL = minidynamo.nn.functional
# Images, channels, channels of the result, sizes.
SHAPES = [
    (1, 96, 24, (1, 1)),
    (1, 24, 96, (1, 1)),
    (8, 40, 10, (1, 1)),
    (1, 2, 1, (1,)),
    (3, 5, 7, (1, 1, 1)),
    (1, 960, 1280, (1, 1)),
    (1, 512, 130, (7, 7)),
    (4, 3, 9, (5,)),
    (2, 6, 33, (2, 3, 4)),
    (300, 16, 8, (1, 1)),
]


def convolution(dims):
    return (FUNCTIONAL.conv1d, FUNCTIONAL.conv2d, FUNCTIONAL.conv3d)[dims - 1]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape, with_bias, stride):
    images, channels, results, sizes = shape
    x, weight = minidynamo.randn(images, channels, *sizes), minidynamo.randn(results, channels, *sizes)
    bias = minidynamo.randn(results) if with_bias else None

    def convolve(x, weight, bias):
        return convolution(len(sizes))(x, weight, bias, stride)

    check_values(convolve, x, weight, bias, "own product of all images")


@pytest.mark.parametrize(
    ("sizes", "kernel", "options"),
    [
        ((1, 1), (1, 1), {"padding": 1}),
        ((1, 1), (1, 1), {"groups": 2}),
        ((3, 3), (2, 3), {}),
        ((3, 3), (2, 2), {"dilation": 2}),
        ((1, 1), (3, 3), {"padding": 1}),
    ],
    ids=str,
)
def test_others(sizes, kernel, options):
    x = minidynamo.randn(2, 8, *sizes)
    weight = minidynamo.randn(6, 8 // options.get("groups", 1), *kernel)

    def convolve(x, weight):
        return FUNCTIONAL.conv2d(x, weight, **options)

    assert "own product of all images" not in kernel_of(convolve, x, weight)


def test_weights_that_change_are_noticed():
    layer, x = minidynamo.nn.Conv2d(48, 12, 1), minidynamo.randn(1, 48, 1, 1)
    compiled = minidynamo.compile(layer)
    with minidynamo.no_grad():
        for _ in range(6):
            compiled(x)
        layer.weight.mul_(2)
        assert minidynamo.equal(compiled(x), layer(x))
