"""Kernels over rows and bins, beside torch's: cat within rows, pdist, unique(dim=), bincount, nonzero_static."""

import itertools

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8", "bool", "complex64"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
TOLERANCES = {"float32": 1e-5, "float64": 1e-12}


@pytest.fixture
def thread_counts():
    before = md.get_num_threads()

    def run(call):
        found = []
        for threads in (1, 2, 3):
            md.set_num_threads(threads)
            found.append(call())
        return found

    yield run
    md.set_num_threads(before)


def both(array, dtype):
    return [lib.from_numpy(np.array(array)).to(getattr(lib, dtype)) for lib in (md, torch)]


def equal(ours, theirs, tolerance=0):
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    wide = "cdouble" if ours.is_complex() else "double"
    a, b = getattr(ours, wide)().numpy(), getattr(theirs, wide)().numpy()
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


LAYOUTS = {
    "plain": lambda x: x,
    "turned": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "part": lambda x: x[:, 1:],
    "backwards": lambda x: x.flip(1),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [-1, 1, 0])
def test_cat(dim, dtype):
    rng = np.random.default_rng(1)
    for widths, layout in itertools.product([(1, 1), (64, 3), (40, 0, 33), (128, 128, 1), (7,)], LAYOUTS):
        ours, theirs = [], []
        for width in widths:
            sizes = [31, 6, 5]
            sizes[dim] = width + 1 if dim == 1 else width
            a, b = both(rng.integers(0, 9, sizes), dtype)
            ours.append(LAYOUTS[layout](a))
            theirs.append(LAYOUTS[layout](b))
        equal(md.cat(ours, dim), torch.cat(theirs, dim))


def test_cat_of_dtypes_and_none():
    a, b = np.arange(40).reshape(2, 20), np.arange(60).reshape(2, 30) / 7
    ours = [*both(a, "int32")[:1], *both(b, "float32")[:1], md.empty(0)]
    theirs = [*both(a, "int32")[1:], *both(b, "float32")[1:], torch.empty(0)]
    equal(md.cat(ours, 1), torch.cat(theirs, 1))


def test_cat_with_threads(thread_counts):
    parts = [md.randn(2000, width) for width in (65, 1, 130)]
    parts[1] = md.randn(2000, 9)
    found = thread_counts(lambda: md.cat(parts, 1).numpy())
    assert all(np.array_equal(each, np.concatenate([part.numpy() for part in parts], 1)) for each in found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_pdist(p, dtype):
    rng = np.random.default_rng(2)
    for count, width in itertools.product([0, 1, 2, 3, 17, 66, 150], [0, 1, 3, 40]):
        array = np.round(rng.standard_normal((count, width + 1)) * 8) / 8
        for view in (lambda x: x[:, 1:], lambda x: x[:, :-1].flip(0), lambda x: x[:, 1:].clone()):
            ours, theirs = [view(x) for x in both(array, dtype)]
            equal(md.pdist(ours, p), torch.pdist(theirs.contiguous(), p), TOLERANCES[dtype])


@pytest.mark.parametrize("p", [1.0, 2.0, float("inf")])
def test_pdist_of_no_numbers(p):
    array = np.zeros((70, 3))
    array[0, 0], array[3, 2], array[69, 1] = np.nan, np.inf, -np.inf
    ours, theirs = both(array, "float32")
    equal(md.pdist(ours, p), torch.pdist(theirs, p))


def test_pdist_gradient_and_threads(thread_counts):
    array = np.random.default_rng(3).standard_normal((40, 5))
    slopes = []
    for x in both(array, "float64"):
        x.requires_grad_()
        (md if isinstance(x, md.Tensor) else torch).pdist(x).sum().backward()
        slopes.append(x.grad)
    equal(*slopes, 1e-9)
    x = md.randn(300, 20)
    found = thread_counts(lambda: md.pdist(x).numpy())
    assert all(np.array_equal(found[0], each) for each in found)


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "complex64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_unique_slices(dim, dtype):
    rng = np.random.default_rng(4)
    for shape in [(1, 1), (60, 2), (7, 3, 2), (200, 1), (2, 90)]:
        array = rng.integers(0 if dtype in ("uint8", "bool") else -2, 3, shape)
        ours, theirs = both(array, dtype)
        for inverse, counts in itertools.product([False, True], repeat=2):
            results = [
                lib.unique(x, return_inverse=inverse, return_counts=counts, dim=dim)
                for lib, x in ((md, ours), (torch, theirs))
            ]
            results = [each if isinstance(each, tuple) else (each,) for each in results]
            for found, expected in zip(*results, strict=True):
                equal(found, expected)


def test_unique_slices_of_special_floats():
    """-0.0 equals 0.0; a row with NaN equals none and comes after numbers."""
    rows = md.tensor([[0.0, 1.0], [-0.0, 1.0], [float("nan"), 0.0], [1.0, 0.0], [float("nan"), 0.0], [-1.0, 5.0]])
    values, places, counts = md.unique(rows, return_inverse=True, return_counts=True, dim=0)
    assert counts.tolist() == [1, 2, 1, 1, 1]
    assert values[:, 1].tolist() == [5.0, 1.0, 0.0, 0.0, 0.0]
    assert places.tolist() == [1, 1, 3, 2, 4, 0]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("minlength", [0, 3, 300])
def test_bincount(minlength, dtype):
    rng = np.random.default_rng(5)
    for count, most in [(0, 1), (1, 1), (100, 5), (100, 100), (5000, 3), (70000, 90)]:
        ours, theirs = both(rng.integers(0, most, count), dtype)
        equal(md.bincount(ours, minlength=minlength), torch.bincount(theirs, minlength=minlength))
        equal(
            md.bincount(ours.repeat(2)[::2], minlength=minlength),
            torch.bincount(theirs.repeat(2)[::2], minlength=minlength),
        )
        weights = rng.standard_normal(count)
        equal(
            md.bincount(ours, md.from_numpy(weights), minlength),
            torch.bincount(theirs, torch.from_numpy(weights), minlength),
            1e-12,
        )


def test_bincount_of_many(thread_counts):
    numbers = np.random.default_rng(6).integers(0, 1000, 700_000)
    found = thread_counts(lambda: md.bincount(md.from_numpy(numbers)).numpy())
    assert all(np.array_equal(each, np.bincount(numbers)) for each in found)
    wide = np.append(numbers[:500], 9999)
    assert np.array_equal(md.bincount(md.from_numpy(wide)).numpy(), np.bincount(wide))


def test_bincount_refuses_negative_numbers():
    with pytest.raises(RuntimeError, match="non-negative"):
        md.bincount(md.tensor([1, -1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_static(dtype):
    rng = np.random.default_rng(7)
    for shape in [(), (0,), (9,), (4, 5), (3, 1, 6), (0, 3)]:
        ours, theirs = both(rng.integers(0, 2, shape), dtype)
        for size, fill in itertools.product([0, 1, 7, 40], [-1, 3]):
            equal(
                md.nonzero_static(ours, size=size, fill_value=fill),
                torch.nonzero_static(theirs, size=size, fill_value=fill),
            )


def test_nonzero_static_in_a_graph():
    compiled = md.compile(lambda x: md.nonzero_static(x, size=5) + 1, fullgraph=True)
    x = md.tensor([[0, 1, 0], [2, 0, 3]])
    assert compiled(x).tolist() == (md.nonzero_static(x, size=5) + 1).tolist()
