"""cdist: each distance beside loops over numbers, over sizes, layouts, dtypes, NaN and infinities."""

import itertools
import math
import random

import pytest

import minidynamo

NORMS = [0, 1, 2, math.inf, 3]
TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 1e-2}
LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT,
    "every other": lambda x: minidynamo.cat([x, x], -1).contiguous()[..., : x.shape[-1]],
}


def distance(a, b, p):
    apart = [abs(x - y) for x, y in zip(a, b, strict=True)]
    if any(map(math.isnan, apart)):
        # Any number of elements that differ counts, a NaN too.
        return sum(each != 0 for each in apart) if p == 0 else math.nan
    if p == 0:
        return sum(each != 0 for each in apart)
    if p == math.inf:
        return max(apart, default=0.0)
    return sum(each**p for each in apart) ** (1 / p)


def check(a, b, p, tolerance):
    found = minidynamo.cdist(a, b, p)
    assert found.dtype == a.dtype and found.is_contiguous()
    assert found.shape[-2:] == (a.shape[-2], b.shape[-2])
    batch = found.shape[:-2]
    rows, others = a.expand(*batch, *a.shape[-2:]).double(), b.expand(*batch, *b.shape[-2:]).double()
    for place in itertools.product(*map(range, batch)):
        first, second = rows[place].tolist(), others[place].tolist()
        expected = [[distance(x, y, p) for y in second] for x in first]
        for line, wanted in zip(found[place].double().tolist(), expected, strict=True):
            assert line == pytest.approx(wanted, rel=tolerance, abs=tolerance, nan_ok=True)


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_drawn(p, dtype, layout):
    draw = random.Random(f"{p} {dtype} {layout}")
    for number in range(12):
        minidynamo.manual_seed(number)
        width = draw.choice([0, 1, 3, 17])
        batches = draw.choice([((), ()), ((2,), (2,)), ((3, 1), (2,)), ((), (2,)), ((0,), (0,))])
        a, b = (minidynamo.randn(*sizes, draw.choice([0, 1, 2, 4, 5, 27, 40]), width) for sizes in batches)
        if number % 3 == 0:
            for x, value in ((a, math.nan), (b, math.inf)):
                if x.numel() > 0:
                    x[..., -1, -1] = value
        place = LAYOUTS[layout]
        check(place(a.to(getattr(minidynamo, dtype))), place(b.to(getattr(minidynamo, dtype))), p, TOLERANCES[dtype])


def test_threads_do_not_change_results():
    a, b = minidynamo.randn(3, 45, 20), minidynamo.randn(3, 90, 20)
    threads = minidynamo.get_num_threads()
    try:
        found = []
        for count in (1, 2, 4):
            minidynamo.set_num_threads(count)
            found.append(minidynamo.cdist(a, b))
    finally:
        minidynamo.set_num_threads(threads)
    assert all(minidynamo.equal(found[0], each) for each in found)
