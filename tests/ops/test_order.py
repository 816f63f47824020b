"""Sorts, selections, searches and unique elements against NumPy's stable ones: every dtype, pattern, size and dim."""

import pytest

import minidynamo as md
from minidynamo._composites.registry import prims

numpy = pytest.importorskip("numpy")

INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
# Around where few keys, short rows, digits and threads take over.
SIZES = (0, 1, 2, 3, 16, 31, 96, 97, 128, 129, 300, 5000, 40_000)
# 2**18 keys are more than the bits that are ordered by digits tell apart.
LARGE = 1 << 18


def random(draw, size):
    return draw.standard_normal(size) * 1e3


def with_nans(draw, size):
    values = random(draw, size)
    values[draw.random(size) < 0.2] = numpy.nan
    values[draw.random(size) < 0.05] = -numpy.nan
    return values


def zeros(draw, size):
    return draw.choice([0.0, -0.0, 1.0, -1.0], size)


def infinities(draw, size):
    return draw.choice([numpy.inf, -numpy.inf, 0.0, -0.0, numpy.nan, 5.0, 1e-320, -1e-320], size)


PATTERNS = {
    "random": random,
    "sorted": lambda draw, size: numpy.sort(random(draw, size)),
    "reversed": lambda draw, size: numpy.sort(random(draw, size))[::-1].copy(),
    "few": lambda draw, size: draw.integers(0, 4, size) * 7.0,
    "equal": lambda draw, size: numpy.full(size, 3.0),
    "one_far": lambda draw, size: numpy.where(numpy.arange(size) == size // 2, 1e30, 1 + draw.random(size) * 1e-9),
    "nans": with_nans,
    "zeros": zeros,
    "infinities": infinities,
}


def drawn(pattern, dtype, size, seed=0):
    draw = numpy.random.default_rng(seed)
    with numpy.errstate(all="ignore"):
        values = PATTERNS[pattern](draw, size)
        if dtype in INTEGERS:
            values = numpy.nan_to_num(values, nan=11, posinf=99, neginf=-99)
            if dtype in ("int64", "uint64") and pattern == "random":
                return draw.integers(-(2**63), 2**63 - 1, size).astype(dtype)
            return values.astype("int64").astype(dtype)
        if dtype == "bfloat16":
            # The upper half of float32.
            bits = values.astype("float32").view("uint32") & numpy.uint32(0xFFFF0000)
            return bits.view("float32")
        return values.astype(dtype)


def tensor(array, dtype):
    made = md.from_numpy(array)
    return made.to(md.bfloat16) if dtype == "bfloat16" else made


def bits(values):
    """What tells zeros, and NaN from numbers, apart: not which NaN it is."""
    values = values.float() if isinstance(values, md.Tensor) and values.dtype == md.bfloat16 else values
    values = numpy.array(values, order="C")
    if values.dtype.kind != "f":
        return values
    values[numpy.isnan(values)] = numpy.nan
    return values.view(f"u{values.itemsize}")


def order(array, axis=-1, descending=False):
    """A stable argsort; NaN is the largest."""
    if not descending:
        return numpy.argsort(array, axis, kind="stable")
    reverse = numpy.flip(array, axis)
    return array.shape[axis] - 1 - numpy.flip(numpy.argsort(reverse, axis, kind="stable"), axis)


def check_sort(array, dtype, axis=-1, descending=False):
    ours = tensor(array, dtype)
    places = order(array, axis, descending)
    expected = numpy.take_along_axis(array, places, axis)
    values, indices = md.sort(ours, axis, descending)
    assert numpy.array_equal(numpy.array(indices), places)
    assert numpy.array_equal(bits(values), bits(expected))
    assert numpy.array_equal(numpy.array(md.argsort(ours, axis, descending)), places)
    assert numpy.array_equal(bits(prims.sorted_values(ours, axis, descending)), bits(expected))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_row(pattern, dtype):
    for size in SIZES:
        array = drawn(pattern, dtype, size, size)
        for descending in (False, True):
            check_sort(array, dtype, -1, descending)


@pytest.mark.parametrize("dtype", ("int32", "float32", "float64", "int64"))
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_large_row(pattern, dtype):
    check_sort(drawn(pattern, dtype, LARGE), dtype)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize(
    "shape", [(7, 5), (3, 4, 9), (40, 128), (130, 11), (2, 300), (17, 3, 140), (5, 0), (0, 5), (4, 1)]
)
def test_every_dim(shape, dtype):
    size = int(numpy.prod(shape))
    for pattern in ("random", "few", "infinities"):
        array = drawn(pattern, dtype, size, size).reshape(shape)
        for axis in range(len(shape)):
            check_sort(array, dtype, axis)
            check_sort(array, dtype, axis, True)


def test_strides():
    array = drawn("random", "float32", 6000).reshape(60, 100)
    for view, ours in [(array.T, lambda t: t.t()), (array[::2, ::3], lambda t: t[::2, ::3])]:
        places = order(view, 0)
        values, indices = ours(md.from_numpy(array)).sort(0)
        assert numpy.array_equal(numpy.array(indices), places)
        assert numpy.array_equal(numpy.array(values), numpy.take_along_axis(view, places, 0))


def test_no_dims():
    values, indices = md.tensor(3.0).sort()
    assert (values.item(), indices.item(), values.shape, indices.shape) == (3.0, 0, (), ())
    values, indices = md.tensor(3.0).kthvalue(1)
    assert (values.item(), indices.item(), values.shape) == (3.0, 0, ())
    values, indices = md.tensor(3.0).median(0)
    assert (values.item(), indices.item()) == (3.0, 0)
    assert md.tensor(3.0).topk(1).values.item() == 3.0


@pytest.mark.parametrize("dtype", [each for each in INTEGERS + FLOATS if each != "bool"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_selections(pattern, dtype):
    for size in SIZES[1:]:
        array = drawn(pattern, dtype, size, size)
        ours = tensor(array, dtype)
        places = order(array)
        for k in {1, size, (size + 1) // 2, min(size, 3), max(1, size - 2)}:
            values, indices = ours.kthvalue(k)
            assert indices.item() == places[k - 1], (size, k)
            assert numpy.array_equal(bits(values), bits(array[places[k - 1]]))
        nans = numpy.flatnonzero(array != array)
        middle = nans[0] if nans.size else places[(size - 1) // 2]
        assert ours.median(0).indices.item() == middle
        assert numpy.array_equal(bits(ours.median()), bits(array[middle]))
        for largest in (False, True):
            places_of_best = order(array, -1, largest)
            for k in {0, 1, min(size, 5), size // 10, size // 2, size}:
                values, indices = ours.topk(k, largest=largest)
                assert numpy.array_equal(numpy.array(indices), places_of_best[:k]), (size, k)
                assert numpy.array_equal(bits(values), bits(array[places_of_best[:k]]))


@pytest.mark.parametrize("shape", [(7, 5), (40, 128), (3, 500), (500, 3), (2, 3, 1000)])
@pytest.mark.parametrize("dtype", ("float32", "float64", "int16", "uint8"))
def test_selections_along_dims(shape, dtype):
    size = int(numpy.prod(shape))
    for pattern in ("random", "few", "nans"):
        array = drawn(pattern, dtype, size, 3).reshape(shape)
        ours = md.from_numpy(array)
        for axis in range(len(shape)):
            places = order(array, axis)
            expected = numpy.take_along_axis(array, places, axis)
            for k in (1, 2, shape[axis]):
                for keepdim in (False, True):
                    values, indices = md.kthvalue(ours, k, axis, keepdim)
                    part = numpy.take(expected, [k - 1] if keepdim else k - 1, axis)
                    assert numpy.array_equal(bits(values), bits(part))
                    assert numpy.array_equal(
                        numpy.array(indices), numpy.take(places, [k - 1] if keepdim else k - 1, axis)
                    )
            best = order(array, axis, True)
            values, indices = ours.topk(2, axis)
            assert numpy.array_equal(numpy.array(indices), numpy.take(best, [0, 1], axis))


@pytest.mark.parametrize("interpolation", ("linear", "lower", "higher", "nearest", "midpoint"))
@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_quantiles_are_torchs(interpolation, dtype):
    torch = pytest.importorskip("torch")
    parts = [0.0, 0.1, 0.25, 0.5, 0.75, 0.999, 1.0]
    for pattern in ("random", "few", "nans", "equal"):
        for shape, dim in [((5000,), None), ((40, 30), 0), ((40, 30), 1), ((3, 700), 1), ((50_000,), 0), ((9,), 0)]:
            array = drawn(pattern, dtype, int(numpy.prod(shape)), 1).reshape(shape)
            for name in ("quantile", "nanquantile"):
                for some in (parts, parts * 2, 0.3):
                    q = numpy.array(some, dtype)
                    theirs = getattr(torch, name)(
                        torch.from_numpy(array), torch.from_numpy(q), dim, interpolation=interpolation
                    )
                    ours = getattr(md, name)(md.from_numpy(array), md.from_numpy(q), dim, interpolation=interpolation)
                    numpy.testing.assert_allclose(numpy.array(ours), theirs.numpy(), rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_searches(dtype):
    draw = numpy.random.default_rng(5)
    for extent in (0, 1, 2, 3, 7, 64, 1000):
        for count in (1, 15, 16, 17, 3000):
            sequence = numpy.sort(drawn("few" if extent < 8 else "random", dtype, extent, extent))
            chosen = drawn("random", dtype, count, 9)
            if extent:
                chosen = numpy.where(draw.random(count) < 0.5, draw.choice(sequence, count), chosen)
            for right in (False, True):
                expected = numpy.searchsorted(sequence, chosen, "right" if right else "left")
                found = md.searchsorted(tensor(sequence, dtype), tensor(chosen, dtype), right=right)
                assert numpy.array_equal(numpy.array(found), expected), (extent, count, right)


def test_searches_by_rows():
    rows = numpy.sort(drawn("random", "float32", 60).reshape(3, 20), -1)
    values = drawn("random", "float32", 3 * 2000, 1).reshape(3, 2000)
    found = numpy.array(md.searchsorted(md.from_numpy(rows), md.from_numpy(values)))
    for row in range(3):
        assert numpy.array_equal(found[row], numpy.searchsorted(rows[row], values[row]))
    assert md.searchsorted(md.zeros(4), md.zeros(0)).shape == (0,)


@pytest.mark.parametrize("dtype", [each for each in INTEGERS + FLOATS if each != "bfloat16"])
@pytest.mark.parametrize("pattern", ("random", "few", "equal", "sorted"))
def test_unique_elements(pattern, dtype):
    for size in (0, 1, 2, 129, 5000):
        array = drawn(pattern, dtype, size, size)
        values, inverse, counts = numpy.unique(array, return_inverse=True, return_counts=True)
        ours = md.from_numpy(array)
        assert numpy.array_equal(numpy.array(md.unique(ours)), values)
        found = md.unique(ours, return_inverse=True, return_counts=True)
        for each, expected in zip(found, (values, inverse, counts), strict=True):
            assert numpy.array_equal(numpy.array(each), expected)
        assert numpy.array_equal(numpy.array(md.unique(ours, return_counts=True)[1]), counts)


def test_results_do_not_depend_on_the_number_of_threads():
    threads = md.get_num_threads()
    found = {}
    try:
        for count in (1, 2, 3, 7):
            md.set_num_threads(count)
            for dtype in ("float32", "float64", "int64"):
                for pattern in PATTERNS:
                    ours = tensor(drawn(pattern, dtype, 200_000), dtype)
                    results = [*ours.sort(), *ours.topk(100), *ours.kthvalue(77_777), ours.median(), md.unique(ours)]
                    results = [bits(each).tobytes() for each in results]
                    assert found.setdefault((dtype, pattern), results) == results, (count, dtype, pattern)
    finally:
        md.set_num_threads(threads)


def test_wrong_calls():
    x = md.ones(3, 4)
    for k in (0, 5, -1):
        with pytest.raises(RuntimeError, match=r"\[kthvalue\] selected number k out of range for dimension 1"):
            x.kthvalue(k)
    with pytest.raises(IndexError, match=r"\[kthvalue\]"):
        x.kthvalue(1, 2)
    with pytest.raises(RuntimeError, match=r"\[kthvalue\] does not support bool"):
        (x > 0).kthvalue(1)
    with pytest.raises(IndexError, match=r"\[kthvalue\] Expected reduction dim 0 to have non-zero size"):
        md.ones(0).kthvalue(1)
    with pytest.raises(IndexError, match=r"\[median\] Expected reduction dim 0 to have non-zero size"):
        md.ones(0, 2).median(0)
