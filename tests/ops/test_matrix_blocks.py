"""Decompositions of matrices larger than a block, of batches and of few rows, beside torch's."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

SIZES = [1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 48, 65, 130, 300]
DTYPES = {"float32": 2e-3, "float64": 1e-9, "complex64": 2e-3, "complex128": 1e-9}
REAL = ["float32", "float64"]


def drawn(dtype, *shape):
    rng = np.random.default_rng(sum(shape) + len(shape))
    numbers = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)


def regular(dtype, *shape):
    return drawn(dtype, *shape) + (2 * shape[-1] ** 0.5 * np.eye(shape[-1])).astype(dtype)


def positive(dtype, *shape):
    matrix = drawn(dtype, *shape)
    return matrix @ matrix.conj().swapaxes(-1, -2) + (shape[-1] * np.eye(shape[-1])).astype(dtype)


def both(call, *arrays):
    ours = call(md, *[md.from_numpy(array.copy()) for array in arrays])
    theirs = call(torch, *[torch.from_numpy(array.copy()) for array in arrays])
    pairs = [(ours, theirs)] if hasattr(ours, "dtype") else zip(ours, theirs, strict=True)
    return [(np.asarray(one.resolve_conj().numpy()), other.resolve_conj().numpy()) for one, other in pairs]


def assert_same(pairs, tolerance):
    for one, other in pairs:
        assert one.shape == other.shape and one.dtype == other.dtype
        scale = max(1.0, abs(other).max(initial=0.0))
        np.testing.assert_allclose(one / scale, other / scale, atol=tolerance, rtol=0)


CALLS = {
    "lu_factor_ex": lambda lib, A, P, B: lib.linalg.lu_factor_ex(A),
    "lu": lambda lib, A, P, B: lib.linalg.lu(A),
    "inv": lambda lib, A, P, B: lib.linalg.inv(A),
    "inv_ex": lambda lib, A, P, B: lib.linalg.inv_ex(A),
    "solve": lambda lib, A, P, B: lib.linalg.solve(A, B),
    "solve_left": lambda lib, A, P, B: lib.linalg.solve(A, B.mT, left=False),
    "solve_ex": lambda lib, A, P, B: lib.linalg.solve_ex(A, B),
    "transposed": lambda lib, A, P, B: lib.linalg.solve(A.mT, B),
    "lu_solve": lambda lib, A, P, B: lib.linalg.lu_solve(*lib.linalg.lu_factor(A), B),
    "lu_solve_adjoint": lambda lib, A, P, B: lib.linalg.lu_solve(*lib.linalg.lu_factor(A), B, adjoint=True),
    "cholesky": lambda lib, A, P, B: lib.linalg.cholesky(P),
    "cholesky_upper": lambda lib, A, P, B: lib.linalg.cholesky(P, upper=True),
    "cholesky_ex": lambda lib, A, P, B: lib.linalg.cholesky_ex(P, upper=True),
    "lower": lambda lib, A, P, B: lib.linalg.solve_triangular(P, B, upper=False),
    "upper": lambda lib, A, P, B: lib.linalg.solve_triangular(P, B, upper=True),
    "right": lambda lib, A, P, B: lib.linalg.solve_triangular(P, B.mT, upper=True, left=False),
    "ones": lambda lib, A, P, B: lib.linalg.solve_triangular(P / P.shape[-1], B, upper=False, unitriangular=True),
}
OF_REAL = {
    "det": lambda lib, A, P, B: lib.linalg.det(A / A.shape[-1]),
    "slogdet": lambda lib, A, P, B: lib.linalg.slogdet(A),
    "qr": lambda lib, A, P, B: lib.linalg.qr(A),
    "lstsq": lambda lib, A, P, B: lib.linalg.lstsq(A, B)[0],
}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*CALLS, *OF_REAL])
def test_squares(name, dtype, n):
    if name in OF_REAL and dtype not in REAL:
        pytest.skip("of real numbers")
    if dtype.startswith("complex") and n > 130:
        pytest.skip("takes long")
    batch = (3,) if n < 100 else ()
    call = CALLS.get(name) or OF_REAL[name]
    arrays = regular(dtype, *batch, n, n), positive(dtype, *batch, n, n), drawn(dtype, *batch, n, 5)
    assert_same(both(call, *arrays), DTYPES[dtype])


@pytest.mark.parametrize(
    "shape", [(5, 3), (3, 5), (40, 7), (7, 40), (100, 33), (33, 100), (130, 70), (16, 17), (2, 60, 8)]
)
@pytest.mark.parametrize("dtype", REAL)
def test_rectangles(dtype, shape):
    A, B = drawn(dtype, *shape), drawn(dtype, *shape[:-1], 3)
    tolerance = DTYPES[dtype]
    for mode in ("reduced", "complete", "r"):
        assert_same(both(lambda lib, A, mode=mode: lib.linalg.qr(A, mode), A), tolerance)
    assert_same(both(lambda lib, A: lib.linalg.lu(A), A), tolerance)
    assert_same(both(lambda lib, A: lib.linalg.lu_factor_ex(A), A), tolerance)
    assert_same(both(lambda lib, A, B: lib.linalg.lstsq(A, B, driver="gelsd")[:3:2], A, B), tolerance)


@pytest.mark.parametrize("n, column", [(3, 1), (20, 17), (70, 65)])
def test_infos_and_errors(n, column):
    singular = regular("float64", 2, n, n)
    singular[1, :, column] = 0
    indefinite = positive("float64", 2, n, n)
    indefinite[1, column, column] = -1
    for name, matrix in (("lu_factor_ex", singular), ("inv_ex", singular), ("cholesky_ex", indefinite)):
        infos = [getattr(lib.linalg, name)(lib.from_numpy(matrix)).info.tolist() for lib in (md, torch)]
        assert infos[0] == infos[1] == [0, column + 1], name
    for name, matrix in (("inv", singular), ("cholesky", indefinite)):
        with pytest.raises(md.linalg.LinAlgError, match=rf"\[linalg_{name}\] \(Batch element 1\): .*{column + 1}"):
            getattr(md.linalg, name)(md.from_numpy(matrix))


def test_a_rank_that_is_not_full_goes_by_singular_values():
    A = drawn("float64", 6, 2) @ drawn("float64", 2, 4)
    B = drawn("float64", 6, 3)
    solution, _, rank, _ = md.linalg.lstsq(md.from_numpy(A), md.from_numpy(B))
    assert rank.item() == 2
    np.testing.assert_allclose(solution.numpy(), np.linalg.lstsq(A, B, rcond=1e-12)[0], atol=1e-10)


def test_a_zero_on_the_diagonal_gives_infinity():
    A, B = np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones((2, 1))
    ((ours, theirs),) = both(lambda lib, A, B: lib.linalg.solve_triangular(A, B, upper=True), A, B)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", REAL)
def test_threads(dtype):
    A, P, B = regular(dtype, 400, 400), positive(dtype, 400, 400), drawn(dtype, 400, 400)
    tensors = [md.from_numpy(array) for array in (A, P, B)]
    found, before = [], md.get_num_threads()
    try:
        for threads in (1, 2, 3):
            md.set_num_threads(threads)
            results = [CALLS[name](md, *tensors) for name in ("lu", "solve", "cholesky", "inv")]
            results.append(md.linalg.qr(tensors[0]))
            found.append([part.tolist() for each in results for part in (each if isinstance(each, tuple) else [each])])
    finally:
        md.set_num_threads(before)
    assert found[0] == found[1] == found[2]


SLOPES = {
    "lu_square": (lambda lib, A, B: lib.linalg.lu_factor(A)[0], (4, 4)),
    "lu_tall": (lambda lib, A, B: lib.linalg.lu_factor_ex(A)[0], (2, 5, 3)),
    "lu_wide": (lambda lib, A, B: lib.linalg.lu(A)[1:], (3, 5)),
    "lu_solve": (lambda lib, A, B: lib.linalg.lu_solve(*lib.linalg.lu_factor(A), B), (4, 4)),
    "triangular": (lambda lib, A, B: lib.linalg.solve_triangular(A, B, upper=True), (2, 4, 4)),
    "ones": (lambda lib, A, B: lib.linalg.solve_triangular(A, B, upper=False, unitriangular=True), (4, 4)),
    "inv_ex": (lambda lib, A, B: lib.linalg.inv_ex(A)[0], (4, 4)),
    "solve_ex": (lambda lib, A, B: lib.linalg.solve_ex(A, B)[0], (2, 4, 4)),
    "solve": (lambda lib, A, B: lib.linalg.solve(A, B), (4, 4)),
    "cholesky": (lambda lib, A, B: lib.linalg.cholesky_ex((A + A.mT.conj()) / 2)[0], (4, 4)),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name, dtype):
    call, shape = SLOPES[name]
    if (name, dtype) == ("lu_solve", "complex128"):
        pytest.skip("gather has no slope of complex numbers")
    A, B = regular(dtype, *shape) if shape[-1] == shape[-2] else drawn(dtype, *shape), drawn(dtype, *shape[:-1], 3)
    if name == "cholesky":
        A = positive(dtype, *shape)
    slopes = []
    for lib in (md, torch):
        tensors = [lib.from_numpy(array.copy()).requires_grad_() for array in (A, B)]
        results = call(lib, *tensors)
        results = results if isinstance(results, (tuple, list)) else [results]
        loss = sum(
            (part * (1.5 + 0.25j if dtype.startswith("complex") else 1.5)).abs().pow(2).sum() for part in results
        )
        loss.backward()
        slopes.append([np.zeros(1) if t.grad is None else t.grad.resolve_conj().numpy() for t in tensors])
    assert_same(list(zip(*slopes, strict=True)), 1e-8)
