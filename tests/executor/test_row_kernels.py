"""Rows that kernels and fused loops traverse: norms, exponentials, extremes, and rows added by index."""

import numpy
import pytest

import minidynamo as torch

LENGTHS = (64, 100, 1000, 1024, 1500, 4099)


def rows(length, dtype="float32", seed=0):
    return numpy.random.default_rng(seed).standard_normal((5, length)).astype(dtype)


def compiled(function, *arrays):
    return numpy.asarray(torch.compile(function)(*map(torch.tensor, arrays)).numpy(), dtype="float64")


@pytest.mark.parametrize("length", LENGTHS)
def test_moments_where_the_first_elements_are_far_from_the_others(length):
    x = rows(length)
    x[1, :64] += 1e4
    x[2, 0] = 3e6
    x[3] += 1e5
    x[4] = 0.1
    for correction in (0, 1):
        found = compiled(lambda t: t.var(-1, correction=correction), x)
        wanted = x.astype("float64").var(-1, ddof=correction)
        numpy.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-12)
    weight, bias = rows(length, seed=1)[:2]
    found = compiled(lambda t, w, b: torch.nn.functional.layer_norm(t, (length,), w, b), x, weight, bias)
    wide = x.astype("float64")
    normal = (wide - wide.mean(-1, keepdims=True)) / numpy.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    numpy.testing.assert_allclose(found[:3], (normal * weight + bias)[:3], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("length", LENGTHS)
def test_moments_of_rows_with_infinite_and_missing_elements(length):
    x = rows(length)
    x[0, -1], x[1, 0], x[2, length // 2] = numpy.inf, -numpy.inf, numpy.nan
    x[3] *= 1e30
    found = compiled(lambda t: t.var(-1), x)
    assert numpy.isnan(found[:3]).all() and numpy.isfinite(found[4])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_squares_within_the_reduction_that_sums_them(dtype, length):
    x, wide = rows(length, dtype), rows(length, dtype).astype("float64")
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    forms = (lambda t: t * t, torch.square, lambda t: t**2, lambda t: (t + 1) * (t + 1))
    for form in forms:
        squares = (wide + 1) ** 2 if form is forms[3] else wide**2
        for fold in ("mean", "sum"):
            found = compiled(lambda t: t * torch.rsqrt(getattr(form(t), fold)(-1, keepdim=True) + 1e-5), x)
            wanted = wide / numpy.sqrt(getattr(squares, fold)(-1, keepdims=True) + 1e-5)
            numpy.testing.assert_allclose(found, wanted, rtol=tolerance)


def test_squares_with_another_reader():
    x = rows(1024)
    wide = x.astype("float64")

    def both(t):
        squares = t * t
        return squares - squares.mean(-1, keepdim=True)

    numpy.testing.assert_allclose(compiled(both, x), wide**2 - (wide**2).mean(-1, keepdims=True), atol=2e-6)

    def outside(t):
        squares = t * t
        return squares, t * squares.sum(-1, keepdim=True)

    first, second = torch.compile(outside)(torch.tensor(x))
    numpy.testing.assert_array_equal(first.numpy(), x * x)
    numpy.testing.assert_allclose(second.numpy(), wide * (wide**2).sum(-1, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("length", LENGTHS)
def test_exponentials_of_rows(length):
    x = rows(length) * 30
    x[1, 3], x[2] = -numpy.inf, -1e30
    x[3] = -200.0
    x[3, -1] = 0
    wide = x.astype("float64")
    exponentials = numpy.exp((x - x.max(-1, keepdims=True)).astype("float64"))  # the differences are rounded, too
    found = compiled(lambda t: torch.softmax(t, -1), x)
    numpy.testing.assert_allclose(found, exponentials / exponentials.sum(-1, keepdims=True), rtol=1e-6, atol=1e-37)
    found = compiled(lambda t: torch.logsumexp(t, -1), x)
    numpy.testing.assert_allclose(found, numpy.log(exponentials.sum(-1)) + wide.max(-1), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_extremes_of_rows_with_missing_elements(dtype, length):
    x = rows(length, dtype)
    for row, at in enumerate((0, 63, length // 2, length - 1)):
        x[row, at] = numpy.nan
    for name, wanted in (("amax", x.max(-1)), ("amin", x.min(-1))):
        numpy.testing.assert_array_equal(compiled(lambda t: getattr(t, name)(-1), x), wanted)


def test_indices_out_of_range_of_the_destination():
    for step in (1, 10**9):
        x, y = torch.tensor([1, 1, 0, 2, 3]), torch.tensor([[3, 5], [1, 5], [0, 5], [1, 5]])
        expected = x.index_add(0, x.clone(), torch.full((5,), step))
        assert x.index_add_(0, x, torch.full((5,), step)).tolist() == expected.tolist()
        expected = y.index_add(0, y[:, 0].clone(), y * step)
        assert y.index_add_(0, y[:, 0], y * step).tolist() == expected.tolist()
        x = torch.tensor([3, 3, 0, 1, 2])
        assert x.index_fill_(0, x, step).tolist() == [step, step, step, step, 2]


@pytest.mark.parametrize("count", [0, 1, 700, 20000])
def test_rows_added_by_index_do_not_depend_on_threads(count):
    random = numpy.random.default_rng(2)
    source = random.standard_normal((count, 48)).astype("float32")
    index = random.integers(0, 37, count)
    wanted = numpy.zeros((37, 48), "float32")
    numpy.add.at(wanted, index, source)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found = torch.zeros(37, 48).index_add(0, torch.tensor(index), torch.tensor(source))
            numpy.testing.assert_array_equal(found.numpy(), wanted)
    finally:
        torch.set_num_threads(before)
