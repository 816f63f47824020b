"""erfinv and lgamma of floats: errors in units of the last place against double, and special values."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")


def errors(found, exact):
    """In ULP of the float32 result."""
    exact = exact.astype(np.float64)
    spacing = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
    return np.abs(found.astype(np.float64) - exact) / spacing


def test_erfinv_of_floats():
    rng = np.random.default_rng(1)
    near = 1 - np.float32(2.0) ** -rng.uniform(1, 24, 20_000).astype(np.float32)
    x = np.concatenate([rng.uniform(-1, 1, 50_000), near, -near, rng.uniform(-1e-6, 1e-6, 1000)]).astype(np.float32)
    x = x[np.abs(x) < 1]
    exact = md.erfinv(md.from_numpy(x.astype(np.float64))).numpy()
    assert errors(md.erfinv(md.from_numpy(x)).numpy(), exact).max() < 4


def test_erfinv_of_doubles_inverts_erf():
    x = md.linspace(-3, 3, 1001, dtype=md.float64)
    assert ((x.erf().erfinv() - x).abs() < 1e-11).all()


@pytest.mark.parametrize("dtype", [md.float32, md.float64, md.bfloat16, md.float16])
def test_special_values_of_erfinv(dtype):
    found = md.tensor([1.0, -1.0, 0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")], dtype=dtype).erfinv().tolist()
    assert found[:2] == [float("inf"), -float("inf")]
    assert str(found[2:4]) == "[0.0, -0.0]"
    assert all(each != each for each in found[4:])


@pytest.mark.parametrize("sign", [1, -1])
def test_lgamma_of_floats(sign):
    """With negative numbers among them, and without."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0, 12, 30_000), 10 ** rng.uniform(-30, 30, 10_000)]).astype(np.float32)
    x[::7] *= sign
    x = x[(x > 0) | (np.abs(x - np.rint(x)) > 1e-3)]
    exact = md.lgamma(md.from_numpy(x.astype(np.float64))).numpy()
    assert errors(md.lgamma(md.from_numpy(x)).numpy(), exact).max() < 0.51


@pytest.mark.parametrize("dtype", [md.float32, md.float64, md.bfloat16])
def test_special_values_of_lgamma(dtype):
    for rest in ([], [-0.5]):
        found = md.tensor([0.0, -0.0, 1.0, 2.0, float("inf"), float("nan"), *rest], dtype=dtype).lgamma().tolist()
        assert found[:5] == [float("inf"), float("inf"), 0.0, 0.0, float("inf")]
        assert found[5] != found[5]
