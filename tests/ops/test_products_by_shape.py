"""Products whose shape or operands choose another way: with vectors on either side, matrices by columns, a matrix times itself
turned round, and complex numbers of each of these."""

import numpy as np
import pytest

import minidynamo as md

TOLERANCES = {"float32": 2e-5, "float64": 1e-13, "complex64": 2e-5, "complex128": 1e-13}


def drawn(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    values = generator.uniform(-1, 1, shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.uniform(-1, 1, shape)
    return values.astype(dtype)


# Of a matrix a[m, k], a matrix b[k, n], vectors of k and of m elements.
PROGRAMS = {
    "matrix": lambda a, b, x, y: a @ b,
    "matrix and vector": lambda a, b, x, y: a @ x,
    "vector and matrix": lambda a, b, x, y: y @ a,
    "columns and vector": lambda a, b, x, y: a.T @ y,
    "vector and columns": lambda a, b, x, y: x @ a.T,
    "vectors": lambda a, b, x, y: x @ x,
    "one column": lambda a, b, x, y: a @ x.reshape(-1, 1),
    "one row": lambda a, b, x, y: y.reshape(1, -1) @ a,
    "columns and one column": lambda a, b, x, y: a.T @ y.reshape(-1, 1) + 1,
    "times itself": lambda a, b, x, y: a @ a.T,
    "turned round times itself": lambda a, b, x, y: a.T @ a,
    "times itself and more": lambda a, b, x, y: (a @ a.T) * 2 + 1,
    "part times itself": lambda a, b, x, y: a[: a.shape[0] // 2 + 1, 1:] @ a[: a.shape[0] // 2 + 1, 1:].T,
    "every other": lambda a, b, x, y: a[::2, ::2] @ x[::2],
    "backwards": lambda a, b, x, y: a @ x[::1] + y,
}
SIZES = [(1, 1, 1), (3, 5, 2), (17, 9, 33), (130, 7, 5), (200, 60, 31), (301, 130, 64), (128, 400, 1)]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_products(name, dtype):
    program = PROGRAMS[name]
    wide = "complex128" if dtype.startswith("complex") else "float64"
    for m, k, n in SIZES:
        arrays = [drawn(shape, dtype, seed) for seed, shape in enumerate([(m, k), (k, n), (k,), (m,)])]
        expected = program(*[each.astype(wide) for each in arrays])
        tensors = [md.from_numpy(each) for each in arrays]
        for run in (program, md.compile(program)):
            found = run(*tensors).numpy()
            assert found.dtype == dtype and found.shape == expected.shape
            assert np.allclose(found, expected, rtol=0, atol=TOLERANCES[dtype] * max(k, m)), (m, k, n)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_matrix_times_itself_is_symmetric(dtype):
    for m, k in ((129, 40), (250, 300), (511, 3)):
        a = md.from_numpy(drawn((m, k), dtype))
        found = md.compile(lambda a: a @ a.T)(a).numpy()
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("shapes", [((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)),
                                    ((0, 4), (4, 3)), ((3, 0), (0, 2)), ((0,), (0,))])  # fmt: skip
def test_batches_of_complex_products(shapes, dtype):
    a, b = (drawn(shape, dtype, seed) for seed, shape in enumerate(shapes))
    expected = a.astype("complex128") @ b.astype("complex128")
    for run in (lambda a, b: a @ b, md.compile(lambda a, b: a @ b)):
        found = run(md.from_numpy(a), md.from_numpy(b)).numpy()
        assert found.shape == expected.shape
        assert np.allclose(found, expected, rtol=0, atol=TOLERANCES[dtype] * 8)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sums_of_complex_numbers(dtype):
    for shape in ((0,), (1,), (7,), (9,), (1000,), (70_000,), (5, 0), (3, 5), (40, 30), (6, 5, 9)):
        array = drawn(shape, dtype)
        tensor = md.from_numpy(array)
        for dim in (None, *range(len(shape))):
            keywords = {} if dim is None else {"dim": dim}
            wide = array.astype("complex128")
            for name in ("sum", "mean"):
                if name == "mean" and 0 in shape:
                    continue
                expected = getattr(wide, name)(axis=dim)
                for view, of_view in ((tensor, expected), (tensor * 1, expected)):
                    found = getattr(view, name)(**keywords).numpy()
                    assert np.allclose(found, of_view, rtol=0, atol=TOLERANCES[dtype] * max(array.size, 1) / 8)
            if dim is not None:
                assert np.allclose(
                    tensor.cumsum(dim).numpy(), wide.cumsum(axis=dim), atol=TOLERANCES[dtype] * array.size + 1e-30
                )
    turned = drawn((20, 30), dtype)
    assert np.allclose(md.from_numpy(turned).T.sum(0).numpy(), turned.T.sum(0), atol=1e-4)
    assert np.allclose(md.from_numpy(turned)[:, ::2].sum().numpy(), turned[:, ::2].sum(), atol=1e-4)


def test_what_follows_a_symmetric_product_runs_once():
    """Steps fused behind it change blocks in place: none may run before all others have read what they mirror."""
    a = md.from_numpy(drawn((600, 200), "float32"))
    program = md.compile(lambda a: (a @ a.T) * 2 + 1)
    expected = a.numpy().astype("float64") @ a.numpy().T.astype("float64") * 2 + 1
    for _ in range(200):
        assert np.allclose(program(a).numpy(), expected, rtol=0, atol=1e-4)
