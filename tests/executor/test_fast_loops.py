"""Requirements on vectorised loops: precision, operands that the fast paths do not cover, edges of blocks and tiles."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")

FLOATS = ("float32", "float64")
LENGTHS = (1, 63, 64, 65, 255, 257, 4096, 4097, 70001)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def bits(values):
    """Asserts bitwise equality, including NaN and the sign of zero."""
    values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return values.view(f"u{values.itemsize}")


def ranges(rng, count):
    yield rng.random(count), rng.random(count)
    yield np.exp(rng.uniform(-80, 80, count)), rng.uniform(-12, 12, count)
    yield 1 + rng.uniform(-1e-3, 1e-3, count), rng.uniform(-30000, 30000, count)


@pytest.mark.parametrize(("dtype", "units"), [("float32", 0.7), ("float64", 1)])
def test_pow_is_precise(rng, dtype, units):
    if np.finfo(np.longdouble).nmant <= np.finfo("float64").nmant:
        pytest.skip("long double is double here")
    for base, exponent in ranges(rng, 50_000):
        base, exponent = base.astype(dtype), exponent.astype(dtype)
        got = md.pow(md.tensor(base), md.tensor(exponent)).numpy()
        with np.errstate(all="ignore"):
            exact = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
        normal = (exact > np.finfo(dtype).tiny) & (exact < np.finfo(dtype).max)
        unit = np.spacing(exact[normal].astype(dtype)).astype(np.longdouble)
        assert (np.abs(got[normal] - exact[normal]) / unit).max() < units
        # Beyond: values that round to zero, a subnormal or infinity.
        with np.errstate(all="ignore"):
            beyond = exact[~normal].astype(dtype)
        np.testing.assert_allclose(got[~normal], beyond, rtol=1e-5, atol=8 * np.finfo(dtype).smallest_subnormal)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [1, 7, 16, 255, 256, 3001])
def test_powers_of_negative_numbers(rng, dtype, length):
    base = rng.standard_normal(length).astype(dtype)
    for exponent in (rng.integers(-9, 9, length).astype(dtype), np.array(5, dtype), np.array(-1e20, dtype)):
        power = md.pow(md.tensor(base), md.tensor(exponent)).numpy()
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(power, np.power(base, exponent), rtol=1e-6)
    broken = md.pow(md.tensor(-np.abs(base)), 2.5).numpy()
    assert np.isnan(broken).all()
    by_number = md.pow(-3.0, md.tensor(np.round(base))).numpy()
    np.testing.assert_allclose(by_number, np.power(np.array(-3, dtype), np.round(base)), rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_small_integer_powers_are_exact(dtype):
    base, exponent = (grid.ravel().astype(dtype) for grid in np.meshgrid(np.arange(-12, 13), np.arange(0, 6)))
    exact = [float(int(a) ** int(b)) for a, b in zip(base, exponent, strict=True)]
    assert (md.pow(md.tensor(base), md.tensor(exponent)).numpy() == exact).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_operands_between_ordinary_ones(rng, dtype):
    tiny = np.finfo(dtype).tiny
    special = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, np.inf, -np.inf, np.nan, tiny, tiny / 8], dtype)
    a, b = (grid.ravel() for grid in np.meshgrid(special, special))
    plain = (1 + rng.random((len(a), 3))).astype(dtype)
    mixed = [np.hstack([values[:, None], plain]).ravel() for values in (a, b)]
    for name in ("pow", "fmod", "remainder", "floor_divide"):
        function = getattr(md, name)
        alone = function(md.tensor(a), md.tensor(b)).numpy()
        among = function(md.tensor(mixed[0]), md.tensor(mixed[1])).numpy().reshape(-1, 4)
        assert (bits(among[:, 0].copy()) == bits(alone)).all(), name
        one_by_one = [function(md.tensor(a[i : i + 1]), md.tensor(b[i : i + 1])).item() for i in range(len(a))]
        assert (bits(np.array(one_by_one, dtype)) == bits(alone)).all(), name
    with np.errstate(all="ignore"):
        rest = md.fmod(md.tensor(a), md.tensor(b)).numpy()
        assert (bits(rest) == bits(np.fmod(a, b))).all()
        power = md.pow(md.tensor(a), md.tensor(b)).numpy()
        np.testing.assert_allclose(power, np.power(a, b), rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [1, 1e3, 1e12])
def test_remainders_are_exact(rng, dtype, scale):
    a = (rng.standard_normal(5001) * scale).astype(dtype)
    b = rng.standard_normal(5001).astype(dtype)
    rest = np.fmod(a, b)
    assert (bits(md.fmod(md.tensor(a), md.tensor(b)).numpy()) == bits(rest)).all()
    signed = np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)
    assert (md.remainder(md.tensor(a), md.tensor(b)).numpy() == signed).all()
    in_place = md.tensor(a)
    in_place.remainder_(md.tensor(b))
    assert (in_place.numpy() == signed).all()
    into_divisor = md.tensor(b)
    md.remainder(md.tensor(a), into_divisor, out=into_divisor)
    assert (into_divisor.numpy() == signed).all()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("length", LENGTHS)
def test_integers_add_up(rng, dtype, length):
    values = (
        rng.integers(0, 2, length).astype(dtype) if dtype == "bool" else rng.integers(-99, 99, length).astype(dtype)
    )
    tensor = md.tensor(values)
    assert tensor.sum().item() == int(values.astype("int64").sum())
    assert tensor.prod().item() == int(values.astype("int64").prod())
    odd = np.where(values == 0, 1, values).astype(dtype)
    assert md.tensor(odd).prod().item() == int(odd.astype("int64").prod())
    assert tensor.sum(dtype=md.int32).item() == int(values.astype("int32").sum(dtype="int32"))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", LENGTHS)
def test_argmin_and_argmax(rng, dtype, length):
    values = rng.standard_normal(length).astype(dtype)
    assert md.tensor(values).argmin().item() == int(values.argmin())
    assert md.tensor(values).argmax().item() == int(values.argmax())
    values[:] = 1  # the first of several
    assert md.tensor(values).argmin().item() == 0
    values[[0, -1]] = -0.0, 0.0  # equal
    assert md.tensor(values).argmin().item() == 0
    values[length // 2] = values[-1] = np.nan
    assert md.tensor(values).argmax().item() == min(length // 2, length - 1)


SHAPES = [
    (1, 1, 1),
    (17, 19, 23),
    (33, 100, 500),
    (8, 24, 400),
    (161, 49, 3),
    (300, 31, 385),
    (5, 4200, 40),
    (60, 60, 0),
    (200, 96, 800),
]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_odd_sizes(rng, dtype, shape, transposed):
    m, n, k = shape
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    left, right = (
        md.tensor(np.ascontiguousarray(matrix.T)).t() if turned else md.tensor(matrix)
        for matrix, turned in zip((a, b), transposed, strict=True)
    )
    before = md.get_num_threads()
    try:
        md.set_num_threads(1)
        one = (left @ right).numpy()
        md.set_num_threads(2)
        two = (left @ right).numpy()
    finally:
        md.set_num_threads(before)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(one, a.astype("float64") @ b.astype("float64"), rtol=tolerance, atol=tolerance)
    if dtype == "float64":
        assert (one == two).all()
    rows = md.tensor(np.repeat(a, 2, axis=0))[::2]  # rows that are not contiguous
    np.testing.assert_allclose((rows @ right).numpy(), one, rtol=tolerance, atol=tolerance)


def test_a_cumulative_sum_in_place_keeps_its_dtype():
    tensor = md.tensor([1, 2, 3], dtype=md.int32)
    with pytest.raises(RuntimeError, match="Bad in-place call: input tensor dtype int32 and output tensor dtype int64"):
        tensor.cumsum_(0, dtype=md.int64)
    with pytest.raises(RuntimeError, match="Bad in-place call"):
        md.ones(3, dtype=md.float64).cumprod_(0, dtype=md.float32)
    assert tensor.cumsum_(0, dtype=md.int32).tolist() == [1, 3, 6]
    assert tensor.cumsum_(0).tolist() == [1, 4, 10]
