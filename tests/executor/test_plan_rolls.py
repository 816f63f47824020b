"""Rolls that a loop alone reads are read in place, in another order: as the operations one by one."""

import random

import pytest

import minidynamo as md
from minidynamo._dynamo._explain import _captures_of


def five_points(x, y):
    return x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1) - 4 * x


def diagonal(x, y):
    return x.roll((2, -3), (0, 1)) * y


def same_dim_twice(x, y):
    return x.roll((2, 3, -1), (0, 0, 0)) + y.roll(100, -1)


def of_a_roll(x, y):
    return x.roll(1, 0).roll(1, 1) + x


def of_a_view(x, y):
    return x.t().roll(1, 0) + y


def of_a_part(x, y):
    return x[1:, 2:].roll(1, 1) - y[1:, 2:]


def of_what_a_loop_computes(x, y):
    z = x * 2
    return z + z.roll(1, 1)


def of_bools(x, y):
    above = x > 0
    return above & ~above.roll(1, 0), md.where(above.roll(1, 1), x, y)


def kept_too(x, y):
    z = x.roll(1, 0)
    return z, z + y


def read_elsewhere(x, y):
    z = x.roll(1, 0)
    return (z + y).exp(), z @ y


def over_all(x, y):
    return x.roll(5) + y


def before_a_write(x, y):
    z = x.roll(1, 0)
    x[0] = 7
    return z + y


def into_itself(x, y):
    x.copy_(x.roll(1, 1) + y)
    return x


def into_a_part_of_itself(x, y):
    x[1:-1] = x[1:-1].roll(1, 1) + y[1:-1]
    return x


def broadcast_in_the_loop(x, y):
    return x.roll(1, 0) * y[0] + y[:, :1]


def summed(x, y):
    return (x.roll(1, 1) * y).sum(1)


# How many rolls loops read in place, of those that there are.
ROLLS = {
    five_points: (4, 4), diagonal: (1, 1), same_dim_twice: (2, 2), of_a_roll: (1, 2), of_a_view: (1, 1), of_a_part: (1, 1),
    of_what_a_loop_computes: (1, 1), of_bools: (2, 2), kept_too: (0, 1), read_elsewhere: (0, 1), over_all: (0, 1),
    before_a_write: (1, 1), into_itself: (1, 1), into_a_part_of_itself: (1, 1), broadcast_in_the_loop: (1, 1), summed: (0, 1),
}  # fmt: skip


def left(function, make):
    """What a call returns, and what it leaves in its arguments."""
    args = make()
    result = function(*args)
    return result if isinstance(result, tuple) else (result,), args


def check(function, make, calls=2):
    compiled = md.compile(function)
    for _ in range(calls):
        for ours, theirs in zip(left(compiled, make), left(function, make), strict=True):
            assert all(md.equal(a, b) and a.stride() == b.stride() for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("function", ROLLS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("size", [3, 40, 300])
def test_rolls(function, size):
    def make():
        generator = md.Generator().manual_seed(size)
        return [md.randn(size, size, generator=generator, dtype=md.float64) for _ in range(2)]

    md._dynamo.reset()
    check(function, make)
    (region,) = _captures_of(function)
    steps = [step.text for step in region.plan.steps]
    in_loops = sum(step.count("roll,") for step in steps if "fused loop" in step)
    kernels = sum(step.startswith("kernel roll") for step in steps)
    assert (in_loops, in_loops + kernels) == ROLLS[function], steps


SIZES = [1, 1, 2, 3, 5, 8, 17, 64, 65, 130]
DTYPES = [md.float64, md.float32, md.float16, md.int64, md.int32, md.uint8, md.bool, md.complex128]


def drawn_tensor(choose, shape, dtype):
    """Laid out in any order, with gaps or without."""
    values = (md.arange(1, 1 + md.zeros(shape).numel()) * 7919 % 251 - choose.randrange(100)).reshape(shape).to(dtype)
    if choose.random() < 0.3:
        order = choose.sample(range(len(shape)), len(shape))
        values = values.permute(order).contiguous().permute([order.index(d) for d in range(len(shape))])
    if choose.random() < 0.2:
        values = values.repeat_interleave(2, -1)[..., ::2]
    return values


def check_drawn(seed):
    """A program of rolls, their sums and a write."""
    choose = random.Random(seed)
    rank = choose.randint(1, 4)
    shape = [choose.choice(SIZES[: 10 - rank]) for _ in range(rank)]
    dtype = choose.choice(DTYPES)
    names, lines = ["x", "y"], ["def f(x, y):"]
    for i in range(choose.randint(1, 5)):
        dims = choose.sample(range(-rank, 0), choose.randint(1, min(rank, 2)))
        shifts = [choose.choice([0, 1, -1, 2, -5, 64, 1000, -1001]) for _ in dims]
        lines.append(f"    r{i} = {choose.choice(names)}.roll({shifts}, {dims})")
        names.append(f"r{i}")
        if choose.random() < 0.2:
            lines.append(f"    y = {choose.choice(names)} + {choose.choice(names)}")
        if choose.random() < 0.1:
            lines.append(choose.choice(["    x[:1] = y[:1]", "    x.copy_(y)", f"    x.copy_(r{i} + y)"]))
    terms = [choose.choice(names) for _ in range(choose.randint(1, 6))]
    lines.append(f"    return {choose.choice(['', f'{names[-1]}, '])}{' + '.join([names[-1], *terms])}")
    scope = {}
    exec("\n".join(lines), scope)
    state = choose.getstate()

    def make():
        choose.setstate(state)
        return [drawn_tensor(choose, shape, dtype) for _ in range(2)]

    check(scope["f"], make)


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_drawn_rolls(seed):
    for one in range(seed, seed + 20):
        check_drawn(one)
