"""The largest elements of sliding windows and their places, beside torch's: NaN, infinities, padding, dilation, ceil mode."""

import math
import random

import pytest

import minidynamo

torch = pytest.importorskip("torch")

DTYPES = "float32 float64 bfloat16 float16 int32 int64 uint8".split()


def drawn(number):
    """(rank, sizes, arguments of max_pool, dtype)."""
    draw = random.Random(number)
    rank = draw.choice([1, 2, 3])

    def each(*numbers):
        return [draw.choice(numbers) for _ in range(rank)]

    kernel, stride, dilation = each(1, 2, 3, 4), each(1, 2, 3), each(1, 1, 2)
    padding = [draw.randrange(size // 2 + 1) for size in kernel]
    return (
        rank,
        (2, 3, *each(3, 5, 8, 9)),
        (kernel, stride, padding, dilation, draw.random() < 0.5),
        draw.choice(DTYPES),
    )


def elements(sizes, dtype, number):
    generator = torch.Generator().manual_seed(number)
    x = (torch.randn(sizes, generator=generator) * 4).round()
    if getattr(torch, dtype).is_floating_point:
        chance = torch.rand(sizes, generator=generator)
        x[chance < 0.05] = math.nan
        x[(chance > 0.05) & (chance < 0.15)] = -math.inf
    return x.abs().to(getattr(torch, dtype)) if dtype == "uint8" else x.to(getattr(torch, dtype))


def run(library, x, rank, arguments):
    try:
        return getattr(library.nn.functional, f"max_pool{rank}d")(x, *arguments, return_indices=True)
    except RuntimeError as error:
        return error


def check_drawn(number):
    rank, sizes, arguments, dtype = drawn(number)
    x = elements(sizes, dtype, number)
    expected = run(torch, x, rank, arguments)
    ours = minidynamo.tensor(x.float().numpy() if x.is_floating_point() else x.numpy()).to(getattr(minidynamo, dtype))
    found = run(minidynamo, ours, rank, arguments)
    if isinstance(expected, NotImplementedError):
        return  # of some integers torch has none
    assert isinstance(found, RuntimeError) == isinstance(expected, RuntimeError), (found, expected)
    if isinstance(expected, RuntimeError):
        return
    values = torch.from_numpy(found[0].double().numpy())
    torch.testing.assert_close(values, expected[0].double(), rtol=0, atol=0, equal_nan=True)
    assert torch.equal(torch.from_numpy(found[1].numpy()), expected[1])


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_values_and_places(start):
    for number in range(start, start + 20):
        check_drawn(number)
