"""svd_lowrank and pca_lowrank against torch's, whose random numbers they draw."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

SIZES = [(8, 5), (5, 8), (2, 7, 4), (3, 3), (12, 1)]
CALLS = {
    "svd": lambda t, a: t.svd_lowrank(a, q=min(2, a.shape[-1])),
    "svd of q None": lambda t, a: t.svd_lowrank(a, q=None),
    "svd without iterations": lambda t, a: t.svd_lowrank(a, min(a.shape[-2:]), 0),
    "svd beside a mean": lambda t, a: t.svd_lowrank(a, q=1, M=a.mean(-2, keepdim=True)),
    "pca": lambda t, a: t.pca_lowrank(a),
    "pca of two": lambda t, a: t.pca_lowrank(a, q=min(2, a.shape[-1]), niter=3),
    "pca without a mean": lambda t, a: t.pca_lowrank(a, center=False),
    "pca of too many": lambda t, a: t.pca_lowrank(a, q=99),
    "pca of fewer iterations": lambda t, a: t.pca_lowrank(a, niter=-1),
}


def outcome(t, call, numbers):
    t.manual_seed(5)
    try:
        u, s, v = call(t, t.tensor(numbers, dtype=t.float64))
    except (ValueError, RuntimeError) as error:
        return type(error), str(error) if isinstance(error, ValueError) else ""
    return (
        [list(each.shape) for each in (u, s, v)],
        s.tolist(),
        ((u * s.unsqueeze(-2)) @ v.mT).tolist(),
        t.rand(1).item(),
    )


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name, sizes):
    numbers = torch.linspace(-3, 5, torch.Size(sizes).numel(), dtype=torch.float64).sin().reshape(sizes).tolist()
    expected = outcome(torch, CALLS[name], numbers)
    for call in (CALLS[name], minidynamo.compile(CALLS[name])):
        found = outcome(minidynamo, call, numbers)
        assert found[0] == expected[0]
        if isinstance(expected[0], list):
            for mine, theirs in zip(found[1:], expected[1:]):
                torch.testing.assert_close(torch.tensor(mine), torch.tensor(theirs), rtol=1e-5, atol=1e-6)
        else:
            assert found == expected


@pytest.mark.parametrize("t", [torch, minidynamo])
def test_gradients(t):
    t.manual_seed(1)
    a = t.tensor([[1.0, 2, 0], [0, 1, 3], [2, 1, 1], [0, 0, 1]], dtype=t.float64, requires_grad=True)
    _, s, _ = t.svd_lowrank(a, q=3)
    s.sum().backward()
    full = torch.tensor(a.tolist(), dtype=torch.float64, requires_grad=True)
    torch.linalg.svdvals(full).sum().backward()
    assert a.grad.flatten().tolist() == pytest.approx(full.grad.flatten().tolist(), abs=1e-6)
