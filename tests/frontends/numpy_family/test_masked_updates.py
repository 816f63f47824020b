"""x[mask] = f(x[mask], y[mask]): captured as a write of the whole array where f is cheap, and as a graph break elsewhere."""

import numpy as np
import pytest
from compared import difference, mismatch

import minidynamo

DTYPES = ["d", "f", "e", "D", "F", "l", "i", "B"]


def doubled(x, y, mask):
    x[mask] *= 2
    return x


def combined(x, y, mask):
    x[mask] = x[mask] * x[mask] + y[mask]
    return x


def moved(x, y, mask):
    x[mask] = y[mask]
    return x + y


def square(x, y, mask):
    x[mask] = x[mask] * x[mask] - 1
    return x, mask


def cube(x, y, mask):
    x[mask] = x[mask] ** 3
    return x


def both(x, y, mask):
    x[mask] += y[mask]
    y[mask] -= x[mask]
    return x - y


def one_value_in_two_places(x, y, mask):
    value = x[mask] + 1
    x[mask] = value
    y[mask] = value * 2
    return x, y


def element_beside(x, y, mask):
    x[mask] = x[mask] * x.ravel()[0]
    return x


def repeated(x, y, mask):
    for _ in range(6):
        x[mask] = x[mask] * 0.5 + y[mask] if x.dtype.kind in "fc" else x[mask] // 2
        mask = ~mask
    return x


def of_a_view(x, y, mask):
    part = x[..., ::2]
    at = mask[..., ::2]
    part[at] = part[at] + 1
    return x


CAPTURED = [doubled, combined, moved, square, both, one_value_in_two_places, element_beside, repeated, of_a_view, cube]


def summed(x, y, mask):
    return x[mask].sum(), x


def returned(x, y, mask):
    return x[mask] + 1


def counted(x, y, mask):
    part = x[mask]
    return len(part), part.size, part * 2


def other_mask(x, y, mask):
    x[~mask] = y[mask][: np.count_nonzero(~mask)] if np.count_nonzero(mask) >= np.count_nonzero(~mask) else 0
    return x


def changed_mask(x, y, mask):
    part = x[mask] * 2
    np.logical_not(mask, mask)
    np.logical_not(mask, mask)
    x[mask] = part
    return x


def part_of_a_part(x, y, mask):
    part = x[mask]
    part[part > 1] = 0
    return part


def costly(x, y, mask):
    x[mask] = np.exp(x[mask] * 0).astype(x.dtype)
    return x


def joined(x, y, mask):
    x[mask] = np.concatenate([x[mask][:1], x[mask][1:]])
    return x


def printed_later(x, y, mask):
    part = x[mask]
    print(end="")
    x[mask] = part
    return x


def of_rows(x, y, mask):
    rows = mask[..., 0]
    x[rows] = x[rows] * 2
    return x


ANY = [
    summed,
    returned,
    counted,
    other_mask,
    changed_mask,
    part_of_a_part,
    costly,
    joined,
    printed_later,
    of_rows,
]


def filled(shape, code, seed):
    drawn = np.random.default_rng(seed).integers(1, 7, size=shape)
    return (drawn + 1j * drawn[::-1] if code in "DF" else drawn).astype(code)


def layouts(code):
    matrix = filled((6, 8), code, 1)
    yield matrix, filled((6, 8), code, 2)
    yield matrix.copy("F"), filled((6, 8), code, 2)
    yield matrix[::-1, ::2], filled((6, 4), code, 2)
    yield filled((50,), code, 3), filled((50,), code, 4)
    yield filled((0, 3), code, 5), filled((0, 3), code, 6)


def masks(shape):
    drawn = np.random.default_rng(9).random(shape)
    return [drawn < 0.5, drawn < 0.03, drawn < 2, drawn > 2]


def mismatches(function, code):
    found = []
    for x, y in layouts(code):
        for mask in masks(x.shape):
            text = mismatch(function, [x, y, mask])
            found += [f"{x.shape} {x.strides} {mask.sum()}: {text}"] if text else []
    return found


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("function", CAPTURED + ANY, ids=lambda each: each.__name__)
def test_values(function, code):
    assert mismatches(function, code) == []


@pytest.mark.parametrize("code", ["d", "D"])
@pytest.mark.parametrize("function", CAPTURED, ids=lambda each: each.__name__)
def test_no_break(function, code):
    x, y = next(layouts(code))
    report = minidynamo._dynamo.explain(function)(x, y, masks(x.shape)[0])
    assert (report.graph_break_count, report.graph_count) == (0, 1)


@pytest.mark.parametrize("function", ANY, ids=lambda each: each.__name__)
def test_parts_with_other_readers_are_breaks(function):
    x, y = next(layouts("d"))
    assert minidynamo._dynamo.explain(function)(x, y, masks(x.shape)[0]).graph_break_count > 0


# What says how many elements are at the mask, which the region does not know beforehand.
COUNTS = """
{part}.size
{part}.nbytes
{part}.shape
len({part})
np.size({part})
np.shape({part} * 2)
str({part}.size)
{part}.size > 3
{part}.shape == (2,)
bool({part}.size)
not {part}.size
"many" if {part}.size > 3 else "few"
[0] * {part}.size
range({part}.size)
max({part}.size, 3)
x[: {part}.size]
np.arange({part}.size)
np.zeros({part}.shape)
np.zeros_like({part})
{part}[None].shape
{part}.astype("f4").nbytes // 4
{part}.view("i8").size
[each for each in {part}]
list({part})
""".strip().splitlines()


@pytest.mark.parametrize("before", ["pass", "z = x * 2", "x[mask] = x[mask] * 2"])
@pytest.mark.parametrize("part", ["x[mask]", "(x[mask] + y[mask])"])
@pytest.mark.parametrize("count", COUNTS)
def test_count_of_what_is_at_a_mask(count, part, before):
    scope = {"np": np}
    exec(f"def f(x, y, mask):\n    {before}\n    return {count.format(part=part)}, x", scope)
    function, compiled = scope["f"], minidynamo.compile(scope["f"])
    x, y = filled((50,), "d", 3), filled((50,), "d", 4)
    for mask in masks(x.shape) * 2:
        expected, found = function(x.copy(), y, mask), compiled(x.copy(), y, mask)
        assert difference(found, expected) == ""


def inverses(x, y, mask):
    x[mask] = 1 / x[mask]
    return x


def quotients(x, y, mask):
    x[mask] = x[mask] / (y[mask] - 1)
    return x


def overflows(x, y, mask):
    x[mask] = x[mask] * 1e300 * 1e300
    return x


def unused(x, y, mask):
    1 / x[mask]
    return x


def to_integers(x, y, mask):
    found = np.zeros(x.shape, np.int32)
    found[mask] = x[mask] * 2
    return found


def to_halves(x, y, mask):
    found = np.zeros(x.shape, np.float16)
    found[mask] = x[mask]
    return found


# With elements that raise floating-point exceptions at the mask, or beside it alone.
@pytest.mark.parametrize(
    "function", [inverses, quotients, overflows, unused, to_integers, to_halves], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("odd", [0.0, 1.0, np.nan, np.inf, 1e200, 1e5])
@pytest.mark.parametrize("is_at_mask", [False, True])
def test_warnings(function, odd, is_at_mask):
    x, y = np.linspace(2.0, 3.0, 40), np.linspace(5.0, 6.0, 40)
    mask = np.arange(40) % 3 == 0
    at = 3 if is_at_mask else 4
    x[at] = y[at] = odd
    assert mismatch(function, [x, y, mask], calls=6) == ""


def test_what_raises():
    x, mask = np.arange(12.0), np.arange(12) % 2 == 0
    x.flags.writeable = False
    assert mismatch(doubled, [x, x.copy(), mask]) == ""
    assert mismatch(doubled, [np.arange(12.0), x, mask[:5]]) == ""
    assert mismatch(lambda x, m, n: x.__setitem__(m, x[n]), [np.arange(12.0), mask, mask & (np.arange(12) > 3)]) == ""
    assert mismatch(lambda x, m: x.__setitem__(m, x[m] // (x[m] - 4)), [np.arange(12), mask]) == ""


def test_large_arrays_are_left_to_numpy():
    x = np.linspace(-1, 1, 300_001)
    assert mismatch(lambda x: x.__setitem__(x < 0, -x[x < 0]), [x]) == ""


def escape(c, count):
    z, steps = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for step in range(count):
        inside = abs(z) < 2
        steps[inside] = step
        z[inside] = z[inside] ** 2 + c[inside]
    return z, steps


def test_iteration_at_a_mask():
    c = np.linspace(-2, 1, 30) + 1j * np.linspace(-1.5, 1.5, 20)[:, None]
    assert mismatch(escape, [c, 15]) == ""
    assert minidynamo._dynamo.explain(escape)(c, 15).graph_break_count == 0
