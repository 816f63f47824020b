"""The strides of the results of linear algebra, as in torch: matrices of a decomposition are column-major."""

import math

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

# Each takes the library, then a batch of matrices: positive definite, or any.
DEFINITE = {
    "cholesky": lambda lib, x: lib.linalg.cholesky(x),
    "cholesky(upper)": lambda lib, x: lib.linalg.cholesky(x, upper=True),
    "inv": lambda lib, x: lib.linalg.inv(x),
    "det": lambda lib, x: lib.linalg.det(x),
    "slogdet": lambda lib, x: lib.linalg.slogdet(x),
    "eigh": lambda lib, x: lib.linalg.eigh(x),
    "eigvalsh": lambda lib, x: lib.linalg.eigvalsh(x),
    "solve": lambda lib, x: lib.linalg.solve(x, lib.ones(x.shape)),
    "solve(left=False)": lambda lib, x: lib.linalg.solve(x, lib.ones(x.shape), left=False),
    "solve(x=B)": lambda lib, x: lib.linalg.solve(lib.eye(x.shape[-1]), x),
    "solve_triangular": lambda lib, x: lib.linalg.solve_triangular(x, lib.ones(x.shape), upper=True),
    "solve_triangular(lower)": lambda lib, x: lib.linalg.solve_triangular(x, x, upper=False),
    "pinv(hermitian)": lambda lib, x: lib.linalg.pinv(x, hermitian=True),
    "matrix_power(-2)": lambda lib, x: lib.linalg.matrix_power(x, -2),
    "matrix_power(-1)": lambda lib, x: lib.linalg.matrix_power(x, -1),
    "matrix_power(0)": lambda lib, x: lib.linalg.matrix_power(x, 0),
    "matrix_power(1)": lambda lib, x: lib.linalg.matrix_power(x, 1),
    "matrix_power(3)": lambda lib, x: lib.linalg.matrix_power(x, 3),
    "cond": lambda lib, x: lib.linalg.cond(x),
    "inverse": lambda lib, x: lib.inverse(x),
    "logdet": lambda lib, x: lib.logdet(x),
    "cholesky_solve": lambda lib, x: lib.cholesky_solve(lib.ones(x.shape), x),
}
ANY = {
    "qr": lambda lib, x: lib.linalg.qr(x),
    "qr(complete)": lambda lib, x: lib.linalg.qr(x, mode="complete"),
    "qr(r)": lambda lib, x: lib.linalg.qr(x, mode="r"),
    "svd": lambda lib, x: lib.linalg.svd(x),
    "svd(reduced)": lambda lib, x: lib.linalg.svd(x, full_matrices=False),
    "svdvals": lambda lib, x: lib.linalg.svdvals(x),
    "torch.svd": lambda lib, x: lib.svd(x),
    "pinv": lambda lib, x: lib.linalg.pinv(x),
    "matrix_rank": lambda lib, x: lib.linalg.matrix_rank(x),
    "matrix_norm": lambda lib, x: lib.linalg.matrix_norm(x, keepdim=True),
    "matrix_norm(nuc)": lambda lib, x: lib.linalg.matrix_norm(x, "nuc", keepdim=True),
    "vector_norm": lambda lib, x: lib.linalg.vector_norm(x, dim=-1),
    "vecdot": lambda lib, x: lib.linalg.vecdot(x, x),
    "diagonal": lambda lib, x: lib.linalg.diagonal(x),
    "matmul": lambda lib, x: lib.linalg.matmul(x, x.mT),
    "vander": lambda lib, x: lib.linalg.vander(x),
    "tril": lambda lib, x: x.tril(),
}
SQUARE = ((3, 3), (2, 3, 3), (2, 2, 3, 3), (1, 1), (1, 3, 3), (0, 3, 3), (0, 0), (2, 0, 0))
SHAPES = ((3, 4), (4, 3), (3, 3), (2, 4, 3), (2, 3, 4), (2, 2, 4, 3), (1, 3), (3, 1), (0, 3), (3, 0), (2, 0, 3))


def numbers(lib, shape, definite):
    x = lib.arange(float(math.prod(shape))).reshape(shape)
    x = (x * 0.7).sin()
    return (x @ x.mT + lib.eye(shape[-1]) * shape[-1]) if definite else x


def layouts(lib, x):
    """The same elements: row-major, column-major, with gaps, and with the batch as the last dim in memory."""
    yield x
    yield x.mT.contiguous().mT
    wide = lib.zeros(*x.shape[:-1], x.shape[-1] * 2)
    wide[..., ::2] = x
    yield wide[..., ::2]
    if x.dim() > 2:
        yield x.movedim(0, -1).contiguous().movedim(-1, 0)
        yield x[:1].expand(x.shape)


def strides(lib, call, x):
    result = call(lib, x)
    parts = [result] if isinstance(result, lib.Tensor) else list(result)
    return [
        (
            tuple(part.shape),
            [s for s, n in zip(part.stride(), part.shape, strict=True) if n != 1] if part.numel() else [],
        )
        for part in parts
    ]


def check(call, shapes, definite, compiled=False):
    compared = 0
    for shape in shapes:
        pairs = zip(
            layouts(md, numbers(md, shape, definite)), layouts(torch, numbers(torch, shape, definite)), strict=True
        )
        for number, (ours, theirs) in enumerate(pairs):
            try:
                wanted = strides(torch, call, theirs)
            except (RuntimeError, IndexError):
                continue
            md._dynamo.reset()
            run = md.compile(call, fullgraph=True) if compiled else call
            assert strides(md, run, ours) == wanted, (shape, number)
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("name", DEFINITE)
def test_of_definite_matrices(name):
    check(DEFINITE[name], SQUARE, True)


@pytest.mark.parametrize("name", ANY)
def test_of_any_matrices(name):
    check(ANY[name], SHAPES, False)


@pytest.mark.parametrize("name", ["cholesky", "inv", "eigh", "solve", "matrix_power(-2)"])
def test_compiled(name):
    check(DEFINITE[name], SQUARE[:3], True, compiled=True)


@pytest.mark.parametrize("name", ["qr", "svd"])
def test_compiled_of_any(name):
    check(ANY[name], SHAPES[:4], False, compiled=True)


def test_values_of_strided_results():
    x = numbers(md, (2, 3, 3), True)
    assert md.allclose(md.linalg.inv(x) @ x, md.eye(3).expand(2, 3, 3), atol=1e-5)
    inverse = md.compile(lambda x: md.linalg.inv(x) * 2 + x, fullgraph=True)
    assert md.allclose(inverse(x), md.linalg.inv(x) * 2 + x)
