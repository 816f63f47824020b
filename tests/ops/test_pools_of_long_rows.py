"""Pools of rows that are longer than vectors, with any step between windows, beside torch's."""

import math
import random

import pytest

import minidynamo

torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "bfloat16", "float16"]


def elements(sizes, dtype, number):
    generator = torch.Generator().manual_seed(number)
    x = (torch.randn(sizes, generator=generator) * 4).round() / 2
    chance = torch.rand(sizes, generator=generator)
    x[chance < 0.02] = -0.0
    if number % 2 == 0:
        x[(chance > 0.02) & (chance < 0.03)] = math.nan
        x[(chance > 0.03) & (chance < 0.06)] = -math.inf
    return x.to(getattr(torch, dtype))


def drawn(number):
    """(rank, x of torch, arguments of a pool: kernel, stride, padding)."""
    draw = random.Random(number)
    rank = draw.choice([1, 1, 2, 3])
    lengths = [9, 17, 33, 70, 131]
    sizes = [draw.choice([1, 2]), draw.choice([1, 5]), *(draw.choice([1, 4, 6]) for _ in range(rank - 1))]
    x = elements([*sizes, draw.choice(lengths)], draw.choice(DTYPES), number)
    if rank > 1 and draw.random() < 0.3:
        x = x.transpose(-1, -2)
    kernel = [draw.choice([1, 2, 3, 5]) for _ in range(rank)]
    stride = [draw.choice([1, 2, 3, 4, 5]) for _ in range(rank)]
    padding = [draw.randrange(size // 2 + 1) for size in kernel]
    return draw, rank, x, (kernel, stride, padding)


def ours_of(x):
    return minidynamo.from_dlpack(x)


def result(run):
    try:
        return run()
    except RuntimeError:
        return None


def check(expected, found, exact):
    if expected is None:
        return  # there are layouts, and 16-bit floats, of which torch has none
    assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    theirs = torch.from_dlpack(found.contiguous()).double()
    torch.testing.assert_close(
        theirs, expected.double(), rtol=0 if exact else 1e-2, atol=0 if exact else 1e-2, equal_nan=True
    )
    # Zeros have torch's sign.
    zeros = expected == 0
    assert torch.equal(torch.signbit(theirs[zeros]), torch.signbit(expected[zeros]))


@pytest.mark.parametrize("start", range(0, 300, 30))
def test_largest(start):
    for number in range(start, start + 30):
        draw, rank, x, arguments = drawn(number)
        # Of a dilated window that skips a short input torch names a place outside.
        more = ([draw.choice([1, 1, 2]) if size > 8 else 1 for size in x.shape[2:]], draw.random() < 0.3)
        name = f"max_pool{rank}d"
        pool, own = getattr(torch.nn.functional, name), getattr(minidynamo.nn.functional, name)
        expected = result(lambda: pool(x, *arguments, *more, return_indices=True))
        found = result(lambda: own(ours_of(x), *arguments, *more, return_indices=True))
        for both in zip(expected or (None,), found or (None,), strict=True):
            check(*both, True)


@pytest.mark.parametrize("start", range(0, 300, 30))
def test_means(start):
    for number in range(start, start + 30):
        draw, rank, x, arguments = drawn(number)
        more = (draw.random() < 0.3, draw.random() < 0.5)
        if rank == 3 and x.dtype in (torch.bfloat16, torch.float16):
            continue  # torch has none
        name = f"avg_pool{rank}d"
        pool, own = getattr(torch.nn.functional, name), getattr(minidynamo.nn.functional, name)
        expected = result(lambda: pool(x, *arguments, *more))
        # Sums run through the window in order, as torch's.
        check(expected, result(lambda: own(ours_of(x), *arguments, *more)), x.dtype in (torch.float32, torch.float64))


@pytest.mark.parametrize("number", range(40))
def test_even_windows(number):
    draw = random.Random(number)
    rank = draw.choice([1, 2, 3])
    x = elements([2, 3, *(draw.choice([4, 6, 48]) for _ in range(rank))], draw.choice(["float32", "float64"]), number)
    output = [draw.choice([1, 2, 3, size, size // 2]) for size in x.shape[2:]]
    for name, exact in ((f"adaptive_max_pool{rank}d", True), (f"adaptive_avg_pool{rank}d", False)):
        pool, own = getattr(torch.nn.functional, name), getattr(minidynamo.nn.functional, name)
        check(pool(x, output), own(ours_of(x), output), exact)


def test_threads_do_not_change_means():
    x = minidynamo.randn(3, 5, 40, 70)
    threads = minidynamo.get_num_threads()
    try:
        found = []
        for count in (1, 2, 4):
            minidynamo.set_num_threads(count)
            found.append(minidynamo.nn.functional.avg_pool2d(x, 3, 2, 1))
    finally:
        minidynamo.set_num_threads(threads)
    assert all(minidynamo.equal(found[0], each) for each in found)
