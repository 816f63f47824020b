"""Errors of pointwise ops in ULP, long sums, and special values; against torch where it is installed."""

import math

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
import accuracy  # noqa: E402
from accuracy import BOUND, BOUNDS, CASES, DTYPES  # noqa: E402

torch = None
try:
    import torch
except ImportError:
    pass

SUMS = 10_000_000


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is double here")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error_in_ulp(case, dtype):
    worst = accuracy.measured(case, dtype, 50_000)
    assert worst.ulp <= BOUNDS.get((case.name, dtype), BOUND[dtype]), worst


def test_the_reference_of_erfc_is_one():
    points = np.array([-3.0, 0.25, 1.75, 1.9999999, 2.0000001, 5.0, 20.0])
    for point, value in zip(points, accuracy.erfc(points.astype(np.longdouble)), strict=True):
        assert math.isclose(float(value), math.erfc(point), rel_tol=1e-14)


def test_errors_are_noticed():
    exact = np.array([1.0, 1.0, 2.0**-140, 1e39], dtype=np.longdouble)
    got = np.array([1.0, 1 + 2.0**-22, 2.0**-140 + 2.0**-149, np.inf])
    assert accuracy.errors_in_ulp(got, exact, "float32").tolist() == [0, 2, 1, 0]
    assert accuracy.errors_in_ulp(np.array([np.nan]), exact[:1], "float32").tolist() == [math.inf]


@pytest.fixture(scope="module")
def many():
    return np.random.default_rng(5).random(SUMS, dtype=np.float32)


@pytest.mark.parametrize("layout", ["one dim", "rows", "columns"])
def test_long_sums(many, layout):
    exact = math.fsum(many.tolist())
    if layout == "one dim":
        total = md.tensor(many).sum()
    elif layout == "rows":
        total = md.tensor(many.reshape(2, -1)).sum(1).sum()
    else:
        total = md.tensor(many.reshape(-1, 2)).sum(0).sum()
    assert abs(total.item() - exact) <= 1e-6 * exact


def test_long_sums_of_both_signs(many):
    values = many - np.float32(0.5)
    exact = math.fsum(values.tolist())
    assert abs(md.tensor(values).sum().item() - exact) <= 1e-6 * math.fsum(np.abs(values).tolist())
    compiled = md.compile(lambda x: (x * 1.0).sum())
    assert abs(compiled(md.tensor(values)).item() - exact) <= 1e-6 * math.fsum(np.abs(values).tolist())


def test_long_means_norms_and_running_sums(many):
    tensor = md.tensor(many)
    wide = many.astype(np.float64)
    assert math.isclose(tensor.mean().item(), wide.mean(), rel_tol=1e-6)
    assert math.isclose(tensor.norm().item(), np.linalg.norm(wide), rel_tol=1e-6)
    assert math.isclose(tensor.var().item(), wide.var(ddof=1), rel_tol=1e-6)
    assert math.isclose(tensor.logsumexp(0).item(), math.log(np.exp(wide).sum()), rel_tol=1e-6)
    running = tensor.cumsum(0)[SUMS // 2].item()
    assert math.isclose(running, wide[: SUMS // 2 + 1].sum(), rel_tol=1e-6)


FLOAT_OPS = sorted(
    row["name"] for row in md._C._op_rows() if row["kind"] in ("PointwiseUnary", "PointwiseBinary") and row["function"]
)
# Dots: overloads. Operations on bits: no floating dtype has them.
FLOAT_OPS = [name for name in FLOAT_OPS if "." not in name and not name.startswith("bitwise")]


def unusual(dtype):
    tiny, largest = {
        "float32": (2.0**-149, accuracy.FORMATS["float32"][2]),
        "float64": (2.0**-1074, accuracy.FORMATS["float64"][2]),
        "bfloat16": (2.0**-133, accuracy.FORMATS["bfloat16"][2]),
        "float16": (2.0**-24, 65504.0),
    }[dtype]
    magnitudes = [0.0, tiny, 5 * tiny, 0.5, 1.0, 1.5, 2.0, 3.0, largest, math.inf]
    return [*magnitudes, *(-value for value in magnitudes), math.nan]


def left_out(name, dtype, a, b=()):
    """Cases where torch's vector code returns NaN for the remainder of too large a quotient, or an arbitrary sign of
    NaN."""
    divisor = np.abs(np.array(b if len(b) else a))
    if name in ("fmod", "remainder"):
        with np.errstate(all="ignore"):
            too_large = np.abs(np.array(a)) / divisor > accuracy.FORMATS[dtype][2]
        return (divisor > 0) & ((divisor < 2.0 ** accuracy.FORMATS[dtype][1]) | too_large)
    return np.isnan(divisor) & (name == "copysign")


# In torch it depends on the number of elements which of 0.0 and -0.0 is the larger.
@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FLOAT_OPS)
def test_special_values_are_those_of_torch(name, dtype):
    values = unusual(dtype)
    binary = next(row["kind"] for row in md._C._op_rows() if row["name"] == name) == "PointwiseBinary"
    a = [x for x in values for _ in values] if binary else values
    b = [[y for _ in values for y in values]] if binary else []
    ours, theirs = [
        getattr(library, name)(*[library.tensor(v, dtype=library.float64).to(getattr(library, dtype)) for v in (a, *b)])
        for library in (md, torch)
    ]
    got, expected = (t.double().numpy() for t in (ours, theirs))
    kept = ~left_out(name, dtype, a, *b)
    got, expected = got[kept], expected[kept]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(got[infinite], expected[infinite])
    zero = (expected == 0) & (got == 0) & (name not in ("fmax", "fmin", "maximum", "minimum"))
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))
    finite = np.isfinite(expected)
    step = 2.0 ** (1 - accuracy.FORMATS[dtype][0])
    smallest = 2.0 ** (accuracy.FORMATS[dtype][1] - accuracy.FORMATS[dtype][0])
    np.testing.assert_allclose(got[finite], expected[finite], rtol=8 * step, atol=8 * smallest)
