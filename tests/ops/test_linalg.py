"""minidynamo.linalg: eager, in one graph, without NumPy, and against torch where it is installed."""

import math
import subprocess
import sys

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
from at_once import at_once  # noqa: E402
from linalg_samples import SAMPLES  # noqa: E402
from op_samples import Data, realize  # noqa: E402

torch = None
try:
    import torch
except ImportError:
    pass

ERRORS = (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError)
CASES = [(name, number, *sample) for name, samples in SAMPLES.items() for number, sample in enumerate(samples)]
# The size of a result depends on the rank.
BREAKING = {("lstsq", "gelsd"), ("lstsq", "gelss")}


def is_whole(name, keywords):
    """Whether one graph holds the call: a check reads whether there is an error."""
    is_checked = keywords.get("check_errors") or name == "lu_factor"
    return (name, keywords.get("driver")) not in BREAKING and not is_checked


# torch raises another class for these, or returns a result: see the test of each.
THEIRS_DIFFER = {"cholesky-4", "solve_triangular-6", "tensorsolve-1"}


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()


def case_id(case):
    return f"{case[0]}-{case[1]}"


def wider(value, dtype):
    if isinstance(value, Data) and value.kind == "f" and value.dtype is None:
        return Data(value.kind, *value.shape, values=value.numbers(), dtype=dtype)
    return [wider(part, dtype) for part in value] if isinstance(value, list) else value


def ran(library, case, dtype="float32", call=None):
    name, _, args, keywords = case
    args = [realize(wider(arg, dtype), library) for arg in args]
    try:
        return (call or getattr(library.linalg, name))(*args, **keywords), None
    except ERRORS as error:
        return None, error


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def without_signs(name, args, found):
    """Columns of Q, U and eigenvectors may have either sign, and beyond the rank any basis: values that do not
    depend on that."""
    arrays = [
        np.asarray(part.tolist(), dtype="complex128" if part.is_complex() else "float64").reshape(tuple(part.shape))
        for part in found
    ]
    if name == "eigvals":
        return [np.sort_complex(arrays[0])]
    if name == "eig":
        values, vectors = arrays
        matrix = np.asarray(args[0].numbers()).reshape(args[0].shape)
        norms = np.linalg.norm(vectors, axis=-2)
        return [np.sort_complex(values), matrix @ vectors - vectors * values[..., None, :], norms]
    if name == "svd":
        U, S, Vh = arrays
        k = S.shape[-1]
        return [S, (U[..., :k] * S[..., None, :]) @ Vh[..., :k, :], U.swapaxes(-1, -2) @ U, Vh @ Vh.swapaxes(-1, -2)]
    if name == "eigh":
        values, vectors = arrays
        return [values, (vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2), vectors.swapaxes(-1, -2) @ vectors]
    if name == "qr" and arrays[0].ndim == arrays[1].ndim:
        Q, R = arrays
        return [Q @ R, Q.swapaxes(-1, -2) @ Q, R.swapaxes(-1, -2) @ R]
    if name == "qr":
        return [arrays[1].swapaxes(-1, -2) @ arrays[1]]
    return arrays


def assert_same(name, args, ours, theirs, tolerance):
    assert len(parts(ours)) == len(parts(theirs))
    for one, other in zip(parts(ours), parts(theirs), strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        assert str(one.dtype).split(".")[1] == str(other.dtype).split(".")[1]
    a, b = (without_signs(name, args, parts(result)) for result in (ours, theirs))
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_every_function_has_samples():
    assert set(md.linalg.__all__) - {"LinAlgError"} == set(SAMPLES)
    for name in SAMPLES:
        function = getattr(md.linalg, name)
        assert function.__doc__ and "return" in function.__annotations__, name


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_graph(case):
    plain, error = ran(md, case)
    function = getattr(md.linalg, case[0])
    captured, captured_error = ran(
        md, case, call=md.compile(lambda *a, **k: function(*a, **k), fullgraph=is_whole(case[0], case[3]))
    )
    assert type(error) is type(captured_error) and str(error) == str(captured_error)
    if error is None:
        assert type(plain).__name__ == type(captured).__name__
        assert_same(case[0], case[2], captured, plain, 1e-5)


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_against_torch(case, dtype):
    ours, error = ran(md, case, dtype)
    theirs, their_error = ran(torch, case, dtype)
    if case_id(case) in THEIRS_DIFFER:
        return
    assert (error is None) == (their_error is None), (error, their_error)
    if error is None:
        assert_same(case[0], case[2], ours, theirs, 2e-4 if dtype == "float32" else 1e-9)
    else:
        classes = {type(error).__name__, type(their_error).__name__.lstrip("_")}
        assert len(classes) == 1 or classes <= {"RuntimeError", "NotImplementedError"}, (error, their_error)


@pytest.mark.parametrize("layout", ["transposed", "strided", "expanded"])
def test_any_layout(layout):
    numbers = np.random.default_rng(0).standard_normal((6, 6)) + 4 * np.eye(6)
    tensor, array = md.tensor(numbers), numbers
    if layout == "transposed":
        tensor, array = tensor.T, array.T
    elif layout == "strided":
        tensor, array = tensor[::2, ::2], array[::2, ::2]
    else:
        tensor, array = tensor.expand(3, 6, 6), np.broadcast_to(array, (3, 6, 6))
    np.testing.assert_allclose(md.linalg.inv(tensor).numpy(), np.linalg.inv(array), rtol=1e-9)
    np.testing.assert_allclose(md.linalg.det(tensor).numpy(), np.linalg.det(array), rtol=1e-9)


def test_a_singular_matrix_in_a_graph_raises_at_its_line():
    @md.compile(fullgraph=True)
    def solved(A, b):
        doubled = A * 2
        return md.linalg.solve(doubled, b) + 1

    assert md.allclose(solved(md.eye(2), md.ones(2)), md.full((2,), 1.5))
    with pytest.raises(md.linalg.LinAlgError, match=r"\[linalg_solve\].*singular") as caught:
        solved(md.zeros(2, 2), md.ones(2))
    line = caught.traceback[1] if len(caught.traceback) > 1 else caught.traceback[-1]
    assert "md.linalg.solve" in str(caught.traceback[-1].statement) or "solved" in str(line)
    assert issubclass(md.linalg.LinAlgError, RuntimeError)


def test_sizes_of_the_graph_are_symbolic():
    compiled = md.compile(lambda A: md.linalg.inv(A) @ A, fullgraph=True)
    md._dynamo.utils.counters.clear()
    for size in (3, 4, 5, 6, 9):
        matrix = md.rand(size, size) + md.eye(size) * size
        assert md.allclose(compiled(matrix), md.eye(size), atol=1e-4)
    assert md._dynamo.utils.counters["stats"]["unique_graphs"] == 2


def test_a_parameter_stays_packed():
    layer = md.nn.Linear(8, 8)
    version = layer.weight._version
    md.linalg.svdvals(layer.weight)
    assert layer.weight._version == version


def test_threads():
    compiled = md.compile(md.linalg.inv)
    matrices = [md.rand(60, 60) + md.eye(60) * 60 for _ in range(4)]
    expected = [md.linalg.inv(matrix) for matrix in matrices]
    wrong = []

    def work(number):
        for _ in range(20):
            if not md.allclose(compiled(matrices[number]), expected[number], atol=1e-6):
                wrong.append(number)

    at_once(work, 4)
    assert not wrong


def test_a_fake_tensor_has_sizes_only():
    seen = []

    @md.library.custom_op("linalg_tests::sizes", mutates_args=())
    def sizes(x: md.Tensor) -> md.Tensor:
        return md.linalg.svdvals(x)

    @sizes.register_fake
    def _(x):
        result = md.linalg.svd(x)
        seen.append([tuple(part.shape) for part in result])
        return result.S

    md.compile(lambda x: sizes(x) + 1, fullgraph=True)(md.rand(3, 5))
    assert seen[0] == [(3, 3), (3,), (5, 5)]


PROGRAM = """
import sys
sys.modules["numpy"] = None
import minidynamo as md
for call in (md.linalg.svdvals, md.compile(lambda x: md.linalg.svdvals(x) + 1), md.linalg.eigh):
    try:
        call(md.eye(2))
    except ImportError as error:
        print(error)
print(md.linalg.vector_norm(md.ones(4)).item(), md.linalg.matrix_norm(md.ones(2, 2)).item())
print(md.linalg.inv(md.eye(2)).tolist(), md.det(md.eye(2)).item())
"""


def test_without_numpy():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stderr
    assert lines[0].startswith("[linalg_svdvals] decompositions need NumPy")
    assert lines[1] == lines[0]
    assert lines[3] == "2.0 2.0"
    assert lines[4] == "[[1.0, 0.0], [0.0, 1.0]] 1.0"


def test_no_warnings_of_numpy(recwarn):
    large = md.full((2, 2), 1e308, dtype=md.float64)
    md.linalg.det(large)
    md.linalg.svdvals(md.tensor([[1e200, 1e200], [1.0, 2.0]], dtype=md.float64))
    assert not recwarn.list


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("name", ["svd", "svdvals", "eigh", "eigvalsh", "pinv"])
def test_non_finite_matrices_do_not_converge(name, number):
    function = getattr(md.linalg, name)
    matrix = md.arange(9, dtype=md.float32).reshape(3, 3)
    matrix[0, 1] = matrix[1, 0] = number
    for call in (function, md.compile(lambda x: function(x), fullgraph=True)):
        with pytest.raises(md.linalg.LinAlgError, match="not finite"):
            call(matrix)


@pytest.mark.parametrize("order", [2.0**44, -3.0, 0.5, 1.0, 2.0, math.inf, math.nan])
def test_the_norm_of_one_element_is_its_magnitude(order):
    column = md.tensor([[0.31], [0.0], [-2.0]], dtype=md.float64)
    assert md.linalg.vector_norm(column, order, dim=1).tolist() == [0.31, 0.0, 2.0]
    assert md.norm(md.tensor(-0.5), order).item() == 0.5
