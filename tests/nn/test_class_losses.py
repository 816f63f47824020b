"""nll_loss and cross_entropy of classes beside torch's: dims, weights, ignored targets, dtypes, gradients, refusals."""

import itertools

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

SHAPES = [(5,), (1, 3), (40, 7), (3, 4, 6), (2, 3, 4, 5), (0, 4), (2, 5, 0)]
TOLERANCES = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 4e-3}


def operands(shape, dtype, ignored):
    rng = np.random.default_rng(len(shape))
    logits = rng.standard_normal(shape)
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = rng.integers(0, classes, () if len(shape) == 1 else (shape[0], *shape[2:]))
    if ignored is not None and target.ndim > 0:
        target = np.where(rng.random(target.shape) < 0.3, ignored, target)
    weight = rng.random(classes)
    return [
        (
            lib,
            lib.from_numpy(logits).to(getattr(lib, dtype)),
            lib.tensor(target.tolist(), dtype=lib.int64).reshape(target.shape),
            lib.from_numpy(weight).to(getattr(lib, dtype)),
        )
        for lib in (md, torch)
    ]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_losses(name, shape, dtype):
    for ignored, has_weight, reduction in itertools.product([None, -100, 1], [False, True], ["none", "sum", "mean"]):
        keywords = {"reduction": reduction} if ignored is None else {"reduction": reduction, "ignore_index": ignored}
        found = []
        for lib, logits, target, weight in operands(shape, dtype, ignored):
            logits = logits.clone().requires_grad_()
            given = {**keywords, "weight": weight} if has_weight else keywords
            loss = getattr(lib.nn.functional, name)(logits, target, **given)
            loss.sum().backward()
            found.append((loss.detach(), logits.grad))
        for ours, theirs in zip(*found):
            assert tuple(ours.shape) == tuple(theirs.shape)
            tolerance = TOLERANCES[dtype]
            np.testing.assert_allclose(
                ours.double().numpy(), theirs.double().numpy(), rtol=tolerance, atol=tolerance, err_msg=f"{keywords}"
            )


def test_infinite_logarithms_of_ignored_targets_do_not_count():
    logs = md.tensor([[-float("inf"), 0.0], [0.0, -1.0], [float("nan"), -2.0]])
    target = md.tensor([-100, 1, -100])
    assert md.nn.functional.nll_loss(logs, target).item() == 1.0
    assert md.nn.functional.nll_loss(logs, target, reduction="none").tolist() == [0.0, 1.0, 0.0]


def test_strided_logarithms():
    x = md.randn(4, 6, 5).log_softmax(1)
    target = md.randint(0, 6, (4, 5))
    turned = x.permute(2, 0, 1).contiguous().permute(1, 2, 0)
    losses = [md.nn.functional.nll_loss(each, target, reduction="none").tolist() for each in (x, turned)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("target", [7, -1])
def test_a_class_that_does_not_exist(target):
    with pytest.raises(IndexError, match=f"Target {target} is out of bounds"):
        md.nn.functional.nll_loss(md.randn(2, 3), md.tensor([0, target]))


def test_eager_and_compiled_agree():
    x, target = md.randn(20, 9).log_softmax(1), md.randint(0, 9, (20,))
    compiled = md.compile(lambda x, t: md.nn.functional.nll_loss(x, t, ignore_index=2), fullgraph=True)
    assert abs(compiled(x, target).item() - md.nn.functional.nll_loss(x, target, ignore_index=2).item()) < 1e-6
