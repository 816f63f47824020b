"""Products of matrices of integers: exact, and wrapped around where they are too large; distances by products."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

DTYPES = ["uint8", "int8", "int16", "int32", "int64"]
SHAPES = [
    ((8, 8), (8, 8)),
    ((9, 33), (33, 17)),
    ((5, 12, 40), (40, 9)),
    ((3, 16, 16), (3, 16, 16)),
    ((7, 64), (64, 64)),
]


@pytest.mark.parametrize("a, b", SHAPES, ids=str)
@pytest.mark.parametrize("top", [12, None, "lowest"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype, top, a, b):
    rng, info = np.random.default_rng(1), np.iinfo(dtype)
    high = info.max if top is None else 12
    arrays = [rng.integers(max(info.min, -high), high, shape, dtype) for shape in (a, b)]
    if top == "lowest":
        arrays[0].reshape(-1)[3] = info.min
    ours, theirs = ((lib.from_numpy(arrays[0]) @ lib.from_numpy(arrays[1])).numpy() for lib in (md, torch))
    np.testing.assert_array_equal(ours, theirs)
    turned = [lib.from_numpy(arrays[0]).mT.contiguous().mT @ lib.from_numpy(arrays[1]) for lib in (md, torch)]
    np.testing.assert_array_equal(turned[0].numpy(), turned[1].numpy())


def test_the_largest_unsigned_numbers():
    array = np.full((16, 16), np.iinfo("uint64").max, "uint64")
    tensor = md.from_numpy(array)
    np.testing.assert_array_equal((tensor @ tensor).numpy(), array @ array)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances(dtype):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 40, 7)).astype(dtype), rng.standard_normal((30, 7)).astype(dtype)
    exact = np.sqrt(((a[..., :, None, :].astype("float64") - b[:, :].astype("float64")) ** 2).sum(-1))
    found = md.cdist(md.from_numpy(a), md.from_numpy(b))
    assert str(found.dtype) == f"minidynamo.{dtype}"
    np.testing.assert_allclose(found.numpy(), exact, rtol=1e-6)
    np.testing.assert_allclose(
        md.cdist(*map(md.from_numpy, (a, b)), compute_mode="donot_use_mm_for_euclid_dist").numpy(), exact, rtol=1e-6
    )
    rows = md.from_numpy(a[0])
    np.testing.assert_allclose(md.pdist(rows).numpy(), torch.pdist(torch.from_numpy(a[0])).numpy(), rtol=1e-5)
    rows.requires_grad_()
    (slope,) = md.autograd.grad(md.cdist(rows, rows).sum(), rows)
    assert slope.isfinite().all()
