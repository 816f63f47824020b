"""The means of windows are those of a contiguous input, where the channels of a pixel are adjacent or far apart."""

import random

import pytest

import minidynamo

F = minidynamo.nn.functional
AVERAGES = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
DTYPES = [minidynamo.float32, minidynamo.float64, minidynamo.bfloat16, minidynamo.int64]


def drawn(number):
    """(sizes with the channels last, where the channels belong, the function of an image)."""
    draw = random.Random(number)
    rank = draw.choice([1, 2, 3])

    def each(*numbers):
        return [draw.choice(numbers) for _ in range(rank)]

    sizes = ([] if draw.random() < 0.2 else [draw.choice([1, 3])]) + each(4, 5, 9, 12) + [draw.choice([2, 4, 7, 33])]
    if draw.random() < 0.3:
        output = each(1, 2, 3, 5)
        return sizes, len(sizes) - rank - 1, lambda x: ADAPTIVE[rank](x, output)
    kernel, stride = each(1, 2, 3, 4), each(1, 2, 3)
    padding = [draw.randrange(size // 2 + 1) for size in kernel]
    options = {"ceil_mode": draw.random() < 0.5, "count_include_pad": draw.random() < 0.5}
    if rank > 1 and draw.random() < 0.3:
        options["divisor_override"] = draw.choice([1, 3])
    return sizes, len(sizes) - rank - 1, lambda x: AVERAGES[rank](x, kernel, stride, padding, **options)


def value_or_error(function, x):
    try:
        return function(x)
    except (RuntimeError, NotImplementedError) as error:
        return str(error)


def check_drawn(number):
    sizes, place, function = drawn(number)
    minidynamo.manual_seed(number)
    x = (minidynamo.randn(*sizes) * 8).to(DTYPES[number % len(DTYPES)]).movedim(-1, place)
    expected, found = value_or_error(function, x.contiguous()), value_or_error(function, x)
    if isinstance(expected, str):
        assert found == expected
        return
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert minidynamo.allclose(found.to(minidynamo.float64), expected.to(minidynamo.float64), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("number", range(120))
def test_layouts(number):
    check_drawn(number)
