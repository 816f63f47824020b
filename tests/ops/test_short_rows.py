"""Reductions over rows that are shorter than a vector, of which many are computed at once, beside torch's."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

FLOATS = ["float32", "float64", "bfloat16", "float16"]
INTEGERS = ["int32", "int64", "uint8", "bool"]
CALLS = {
    "sum": lambda lib, x: x.sum(1),
    "mean": lambda lib, x: x.mean(1),
    "prod": lambda lib, x: x.prod(1),
    "amax": lambda lib, x: x.amax(1),
    "amin": lambda lib, x: x.amin(1),
    "any": lambda lib, x: x.any(1),
    "all": lambda lib, x: x.all(1),
    "argmax": lambda lib, x: x.argmax(1),
    "argmin": lambda lib, x: x.argmin(1),
    "max": lambda lib, x: tuple(x.max(1)),
    "min": lambda lib, x: tuple(x.min(1)),
    "logsumexp": lambda lib, x: x.logsumexp(1),
    **{
        f"norm {order}": lambda lib, x, order=order: lib.linalg.vector_norm(x, order, 1)
        for order in (0, 0.5, 1, 2, 3, -1, float("inf"), -float("inf"))
    },
}
SIZES = [(31, 3), (32, 3), (33, 2), (1023, 4), (1025, 7), (2049, 16), (4100, 3), (50, 17), (40, 1)]
TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 1.6e-2, "float16": 2e-3}


def numbers(dtype, shape):
    rng = np.random.default_rng(sum(shape))
    if dtype == "bool":
        return rng.random(shape) < 0.7
    if dtype in INTEGERS:
        return rng.integers(0, 9, shape)
    found = rng.standard_normal(shape)
    found[::7] = np.round(found[::7])  # equal ones, zeros
    found[3, -1], found[5, 0], found[9, 0], found[11, 0] = np.nan, np.inf, -np.inf, -0.0
    return found


def compared(call, dtype, array, view=lambda tensor: tensor):
    results = []
    for lib in (md, torch):
        tensor = view(lib.from_numpy(np.array(array)).to(getattr(lib, dtype)))
        found = call(lib, tensor)
        found = found if isinstance(found, tuple) else (found,)
        results.append([(tuple(part.shape), str(part.dtype).split(".")[1], part.double().numpy()) for part in found])
    for (shape, kind, ours), (their_shape, their_kind, theirs) in zip(*results, strict=True):
        assert (shape, kind) == (their_shape, their_kind)
        tolerance = TOLERANCES.get(kind, 0)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def is_taken(name, dtype):
    is_float = dtype in FLOATS
    if name in ("mean", "logsumexp") or name.startswith("norm"):
        return is_float
    return not (dtype == "bool" and name in ("argmax", "argmin"))


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", CALLS)
def test_rows(name, dtype, shape):
    if not is_taken(name, dtype):
        pytest.skip("not of this dtype")
    compared(CALLS[name], dtype, numbers(dtype, shape))


@pytest.mark.parametrize("name", ["sum", "argmax", "max", "logsumexp", "norm 2"])
def test_layouts(name):
    call = CALLS[name]
    array = numbers("float32", (128, 6))
    for view in (
        lambda x: x[::2],
        lambda x: x[:, ::2],
        lambda x: x[:, 1:],
        lambda x: x.T.contiguous().T,
        lambda x: x[4:],
    ):
        compared(call, "float32", array, view)
    compared(lambda lib, x: call(lib, x.reshape(64, -1)), "float32", array)


def test_several_dims():
    array = numbers("float64", (70, 2, 3))
    for call in (lambda lib, x: x.sum((1, 2)), lambda lib, x: x.sum(2, keepdim=True), lambda lib, x: x.amax((2, 1)),
                 lambda lib, x: lib.linalg.vector_norm(x, 3, (1, 2)), lambda lib, x: x.logsumexp((1, 2))):  # fmt: skip
        compared(call, "float64", array)


@pytest.mark.parametrize("shape", [(300, 4), (7, 300)])
@pytest.mark.parametrize("order", [0.5, 1, 2, 3, float("inf")])
def test_norms_of_columns(shape, order):
    array = np.random.default_rng(0).standard_normal(shape)
    for dtype in ("float32", "float64"):
        compared(lambda lib, x: lib.linalg.vector_norm(x, order, 0), dtype, array)
