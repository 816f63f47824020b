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


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_values_alone_are_those_with_places(dtype):
    """In all bits: also the sign of a zero among zeros of both signs."""
    for number in range(120):
        rank, sizes, arguments, _ = drawn(number)
        x = elements((*sizes[:2], *(size * (1, 3, 9)[number % 3] for size in sizes[2:])), dtype, number)
        x[(x == 0) & (torch.arange(x.numel()).reshape(x.shape) % 3 == 0)] = -0.0
        ours = minidynamo.from_dlpack(x)
        pool = getattr(minidynamo.nn.functional, f"max_pool{rank}d")
        try:
            expected, _ = pool(ours, *arguments, return_indices=True)
        except RuntimeError:
            continue  # windows larger than the image
        found = pool(ours, *arguments)
        numbers = [torch.from_dlpack(each).double() for each in (found, expected)]
        torch.testing.assert_close(*numbers, rtol=0, atol=0, equal_nan=True)
        signs = [torch.where(each.isnan(), 0.0, torch.signbit(each).double()) for each in numbers]
        assert torch.equal(*signs), (number, sizes, arguments)


def test_of_rows_that_are_too_long_to_be_padded():
    x = torch.randn(2, 3, 20000, generator=torch.Generator().manual_seed(1))
    for name in ("max_pool1d", "avg_pool1d"):
        for arguments in ((3, 2, 1), (5, 5, 0), (2, 1, 1)):
            expected = getattr(torch.nn.functional, name)(x, *arguments)
            found = getattr(minidynamo.nn.functional, name)(minidynamo.from_dlpack(x), *arguments)
            assert torch.equal(torch.from_dlpack(found), expected)


def last_channels(x, rank):
    """The same elements, each pixel's channels side by side."""
    order = [0, *range(2, rank + 2), 1]
    back = [0, rank + 1, *range(1, rank + 1)]
    return x.permute(order).contiguous().permute(back)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_of_channels_side_by_side(rank, dtype, adaptive):
    for number in range(12):
        _, sizes, arguments, _ = drawn(number)
        channels = [1, 3, 4, 17, 33][number % 5]
        x = last_channels(elements((2, channels, *[5, 8, 9][:rank]), dtype, number), rank)
        ours = minidynamo.from_numpy(x.float().numpy()).to(getattr(minidynamo, dtype))
        assert channels < 2 or ours.stride()[1] == 1
        if adaptive:
            name, given = f"adaptive_max_pool{rank}d", ([1 + number % 4] * rank,)
        else:
            name, given = (
                f"max_pool{rank}d",
                tuple((part * 3)[:rank] if isinstance(part, list) else part for part in arguments),
            )
        calls = [getattr(library.nn.functional, name) for library in (minidynamo, torch)]
        if not adaptive:
            given = (given[0], given[1], [min(p, k // 2) for p, k in zip(given[2], given[0])], *given[3:])
        try:
            expected = calls[1](x.contiguous(), *given, return_indices=True)
        except RuntimeError:
            continue  # windows larger than the image
        for image in (ours, ours[:1], ours[0]):
            found = calls[0](image, *given, return_indices=True)
            wanted = [each if image.dim() == rank + 2 else each[0] for each in expected]
            wanted = [each[: image.shape[0]] if image.dim() == rank + 2 else each for each in wanted]
            values = torch.from_numpy(found[0].double().numpy())
            torch.testing.assert_close(values, wanted[0].double(), rtol=0, atol=0, equal_nan=True)
            assert torch.equal(torch.from_numpy(found[1].numpy()), wanted[1])
