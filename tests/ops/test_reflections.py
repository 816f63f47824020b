"""geqrf, householder_product and ormqr by their kernels, beside torch's: sizes, stacks, layouts, zeros, gradients, threads."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

SHAPES = [
    (1, 1),
    (4, 3),
    (3, 4),
    (8, 8),
    (40, 17),
    (17, 40),
    (90, 70),
    (64, 0),
    (0, 5),
    (3, 5, 4),
    (2, 2, 30, 26),
    (0, 4, 3),
]
TOLERANCES = {"float32": 2e-4, "float64": 1e-11}


def matrices(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    array = rng.standard_normal(shape)
    if array.size > 1:
        array[..., 0] = np.where(rng.random(shape[:-1]) < 0.3, 0, array[..., 0])
    return [lib.from_numpy(array).to(getattr(lib, dtype)) for lib in (md, torch)]


def same(ours, theirs, dtype):
    assert tuple(ours.shape) == tuple(theirs.shape)
    if theirs.numel() > 0:
        assert ours.stride() == theirs.stride()
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.mT.contiguous().mT,
    "every second": lambda x: x.repeat_interleave(2, -1)[..., ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_three(shape, dtype, layout):
    ours, theirs = [LAYOUTS[layout](x) for x in matrices(shape, dtype)]
    factors = [md.geqrf(ours), torch.geqrf(theirs)]
    for a, b in zip(*factors):
        same(a, b, dtype)
    # From here on of torch's reflections: what is compared is one step.
    reflections = [lib.from_numpy(factors[1].a.numpy()) for lib in (md, torch)]
    taus = [lib.from_numpy(factors[1].tau.numpy()) for lib in (md, torch)]
    rows, columns = shape[-2:]
    if rows >= columns:
        products = [lib.linalg.householder_product(x, t) for lib, x, t in zip((md, torch), reflections, taus)]
        same(*products, dtype)
    if rows == 0 or columns == 0:
        return
    for left, transpose in [(True, False), (True, True), (False, False), (False, True)]:
        other = matrices((*shape[:-2], rows, 3) if left else (*shape[:-2], 3, rows), dtype)
        found = [
            lib.ormqr(x, t, LAYOUTS[layout](y), left, transpose)
            for lib, x, t, y in zip((md, torch), reflections, taus, other)
        ]
        np.testing.assert_allclose(found[0].numpy(), found[1].numpy(), rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


def test_fewer_factors_than_columns():
    ours, theirs = matrices((6, 5), "float64")
    tau = np.array([0.5, 1.5])
    same(
        md.linalg.householder_product(ours, md.from_numpy(tau)),
        torch.linalg.householder_product(theirs, torch.from_numpy(tau)),
        "float64",
    )


def test_gradients_still_flow():
    slopes = []
    for lib, x in zip((md, torch), matrices((5, 3), "float64")):
        a, tau = lib.geqrf(x)
        a, tau = a.clone().requires_grad_(), tau.clone().requires_grad_()
        (lib.linalg.householder_product(a, tau) ** 3).sum().backward()
        slopes.append((a.grad, tau.grad))
    for ours, theirs in zip(*slopes):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)


def test_number_of_threads():
    x = matrices((300, 20, 12), "float32")[0]
    before = md.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            md.set_num_threads(threads)
            found.append(md.geqrf(x).a.numpy())
    finally:
        md.set_num_threads(before)
    assert all(np.array_equal(found[0], each) for each in found)
