"""exp, log, sin, cos, erf, tanh and functions built from them, in float32: vectorised loops compute each element
independently."""

import math

import pytest

import minidynamo as md
from minidynamo import _C

np = pytest.importorskip("numpy")
import accuracy  # noqa: E402

LEVEL = _C.build_info()["instruction set"].partition("_")[0]
IN_VECTORS = (
    "exp",
    "exp2",
    "expm1",
    "log",
    "sin",
    "cos",
    "erf",
    "tanh",
    "sigmoid",
    "silu",
    "gelu",
    "elu",
    "celu",
    "selu",
)
# In ULP, from runs over all floats.
LARGEST_ERRORS = {
    "avx512": {
        "exp": 1.02,
        "exp2": 1.02,
        "expm1": 1.4,
        "log": 1.45,
        "erf": 0.95,
        "tanh": 0.7,
        "sin": 1.73,
        "cos": 1.81,
    },
    "avx2": {"exp": 1.02, "exp2": 1.02, "expm1": 1.4, "log": 0.9, "erf": 1.72, "tanh": 1.34, "sin": 1.73, "cos": 1.81},
}
LARGEST_ERROR = LARGEST_ERRORS.get(LEVEL, {})


def function_of(name):
    return getattr(md, name, None) or getattr(md.nn.functional, name)


def operands():
    rng = np.random.default_rng(3)
    spread = np.exp2(rng.uniform(-150, 128, 500)) * rng.choice([-1.0, 1.0], 500)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1.0, -1.0, 3.4e38, -3.4e38]
    with np.errstate(all="ignore"):
        return np.concatenate([special, spread, rng.uniform(-10, 10, 500)]).astype(np.float32)


@pytest.mark.parametrize("name", LARGEST_ERROR)
def test_error(name):
    case = next(case for case in accuracy.CASES if case.name == name)
    worst = accuracy.measured(case, "float32", 400_000)
    assert worst.ulp <= LARGEST_ERROR[name], worst


@pytest.mark.skipif(not LARGEST_ERROR, reason="the C library's functions")
@pytest.mark.parametrize("name", IN_VECTORS)
def test_an_element_does_not_depend_on_its_position(name):
    function = function_of(name)
    values = md.tensor(operands())
    whole = function(values).numpy().view(np.int32)
    for start in range(17):
        for count in range(1, 36):
            part = function(values[start : start + count].clone()).numpy().view(np.int32)
            assert part.tolist() == whole[start : start + count].tolist(), (start, count)
    compiled = md.compile(lambda x: function(x * 1.0))(values).numpy().view(np.int32)
    assert compiled.tolist() == whole.tolist()


@pytest.mark.parametrize("name", ["exp_", "log_", "sin_", "cos_", "erf_", "tanh_", "sigmoid_"])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 31])
def test_nothing_beyond_the_end_is_written(name, count):
    room = md.full([64], 0.75)
    getattr(room[8 : 8 + count], name)()
    held = room.numpy()
    assert (held[:8] == 0.75).all() and (held[8 + count :] == 0.75).all()
    assert (held[8 : 8 + count] != 0.75).all()


@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_odd_functions_that_end_at_one(name):
    function = function_of(name)
    values = np.concatenate([np.linspace(0, 12, 200_001), 2.0 ** np.arange(-149, 128)]).astype(np.float32)
    results = function(md.tensor(values)).numpy()
    assert results.max() == 1 and (results[values > 9.2] == 1).all()
    assert (function(md.tensor(-values)).numpy() == -results).all()
    tiny = values[-277:][:100]
    assert np.allclose(
        results[-277:][:100], tiny * (1 if name == "tanh" else 2 / math.sqrt(math.pi)), rtol=1e-6, atol=1e-45
    )
    of_zeros = function(md.tensor([0.0, -0.0])).numpy()
    assert np.signbit(of_zeros).tolist() == [False, True]


def test_the_ends_of_exp():
    values = np.array([88.72283, 88.72284, 88.8, -87.33654, -87.33656, -103.27, -103.97, -104.2, -200, 1e38, -1e38])
    exact = np.exp(values.astype(np.float32).astype(np.longdouble)).astype(np.float64)
    results = md.exp(md.tensor(values.astype(np.float32))).numpy().astype(np.float64)
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32).astype(np.float64)
    assert np.isinf(results).tolist() == np.isinf(nearest).tolist()
    finite = np.isfinite(nearest)
    assert (np.abs(results[finite] - exact[finite]) <= np.maximum(exact[finite] * 2.0**-23, 2.0**-149)).all()


def test_the_ends_of_log():
    values = [0.0, -0.0, -1.0, -1e-45, math.inf, -math.inf, math.nan, 1.0, 1e-45, 1.1754942e-38, 3.4028235e38]
    expected = [
        -math.inf,
        -math.inf,
        *[math.nan] * 2,
        math.inf,
        *[math.nan] * 2,
        0.0,
        *[math.log(v) for v in np.float32(values[-3:]).tolist()],
    ]
    results = md.log(md.tensor(values)).numpy()
    np.testing.assert_allclose(results, expected, rtol=2e-7)
    around_one = np.nextafter(np.float32(1), np.float32([0, 2]))
    np.testing.assert_allclose(
        md.log(md.tensor(around_one)).numpy(), np.log1p(around_one.astype(np.float64) - 1), rtol=2e-7
    )


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_of_all_magnitudes(name):
    turns = np.arange(1, 200_001)
    near = np.concatenate([turns[:60_000] * (math.pi / 4), turns * 0.07, 2.0 ** np.arange(-149, 128), turns * 1e33])
    values = np.concatenate([near, np.nextafter(near.astype(np.float32), 0), -near]).astype(np.float32)
    results = getattr(md, name)(md.tensor(values)).numpy()
    exact = getattr(np, name)(values.astype(np.longdouble))
    assert np.abs(results).max() == 1
    assert (np.abs(results - exact) <= 3e-7 * np.maximum(np.abs(exact), 2.0**-126)).all()


def test_sine_and_cosine_of_nan_and_infinity():
    values = md.tensor([math.inf, -math.inf, math.nan] * 11)
    assert np.isnan(md.sin(values).numpy()).all() and np.isnan(md.cos(values).numpy()).all()
    values = md.tensor([0.0, -0.0])
    assert np.signbit(md.sin(values).numpy()).tolist() == [False, True]
    assert md.cos(values).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["acosh", "atanh"])
def test_numbers_around_the_domain(name, dtype):
    """In a vector with others, and alone."""
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 7.0, math.inf, -math.inf, math.nan, 1e-45, 1 + 2.0**-20]
    values = np.array(special * 3, dtype=dtype)
    with np.errstate(all="ignore"):
        expected = {"acosh": np.arccosh, "atanh": np.arctanh}[name](values)
    for found in (
        getattr(md, name)(md.tensor(values)).numpy(),
        np.array([getattr(md, name)(md.tensor(values[i : i + 1])).numpy()[0] for i in range(len(values))]),
    ):
        np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps, atol=0)
        zeros = expected == 0
        assert np.signbit(found[zeros]).tolist() == np.signbit(expected[zeros]).tolist()


@pytest.mark.parametrize(
    "name,keywords", [("elu", {"alpha": -0.5}), ("celu", {"alpha": 2.0}), ("celu", {"alpha": -2.0})]
)
def test_parameters_of_functions_in_vectors(name, keywords):
    alpha = keywords["alpha"]
    values = operands()
    values = values[np.isfinite(values) & (np.abs(values) < 50)]
    wide = values.astype(np.float64)
    scale = alpha if name == "celu" else 1.0
    expected = np.where(wide > 0, wide, alpha * np.expm1(wide / scale))
    found = getattr(md.nn.functional, name)(md.tensor(values), **keywords).numpy()
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=1e-44)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["elu", "celu", "selu"])
def test_a_block_of_positive_numbers_but_for_one(name, dtype):
    function = getattr(md.nn.functional, name)
    for other in (-1.5, -0.0, 0.0, math.nan, math.inf, -math.inf):
        for place in (0, 15, 16, 64, 255, 256, 299):
            values = np.linspace(0.01, 3, 300).astype(dtype)
            values[place] = other
            alone = [function(md.tensor(values[i : i + 1])).numpy() for i in range(len(values))]
            assert function(md.tensor(values)).numpy().tobytes() == np.concatenate(alone).tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["hardswish", "hardsigmoid"])
def test_hard_steps_as_torch(name, dtype):
    torch = pytest.importorskip("torch")
    special = [-3.0, 3.0, -0.0, 0.0, math.nan, math.inf, -math.inf, -3.5, 3.5, 1e-30, -1e-30, 2.9, -2.9, 0.7]
    values = (special * 5)[:67]

    def result(library):
        return getattr(library.nn.functional, name)(library.tensor(values, dtype=getattr(library, dtype))) * 2

    expected = result(torch).double().numpy()
    for found in (result(md), md.compile(lambda: result(md))()):
        np.testing.assert_array_equal(found.double().numpy(), expected)
        zeros = expected == 0
        assert (np.signbit(found.double().numpy()) == np.signbit(expected))[zeros].all()
