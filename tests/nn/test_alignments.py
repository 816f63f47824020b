"""ctc_loss and its gradient beside torch's, over lengths, forms of targets, infinite losses and dtypes."""

import random

import pytest

import minidynamo

torch = pytest.importorskip("torch")

REDUCTIONS = ["none", "mean", "sum"]


def drawn(number):
    """(log probabilities before their normalisation, targets, both lengths, blank, keywords)."""
    draw = random.Random(number)
    generator = torch.Generator().manual_seed(number)
    steps, count, classes = draw.choice([1, 2, 9, 40]), draw.choice([1, 2, 5]), draw.choice([2, 3, 20])
    logits = torch.randn(steps, count, classes, dtype=torch.float64, generator=generator) * 2
    blank = draw.randrange(classes)
    target_lengths = [draw.randint(0, max(1, min(steps // 2 + 1, 12))) for _ in range(count)]
    input_lengths = [draw.randint(1, steps) for _ in range(count)]
    others = [each for each in range(classes) if each != blank]
    total = sum(target_lengths) if draw.random() < 0.5 else None
    sizes = (count, max(target_lengths) + 1) if total is None else (total,)
    picked = torch.randint(0, len(others), sizes, generator=generator)
    targets = torch.tensor(others)[picked].to(draw.choice([torch.int64, torch.int32]))
    keywords = {"reduction": draw.choice(REDUCTIONS), "zero_infinity": draw.random() < 0.5}
    return logits, targets, input_lengths, target_lengths, blank, keywords


def loss_and_slope(library, dtype, logits, targets, *rest, **keywords):
    x = library.tensor(logits.tolist(), dtype=getattr(library, dtype), requires_grad=True)
    labels = library.tensor(targets.tolist(), dtype=getattr(library, str(targets.dtype).removeprefix("torch.")))
    found = library.nn.functional.ctc_loss(x.log_softmax(2), labels.reshape(targets.shape), *rest, **keywords)
    found.sum().backward()
    return found.detach().double().tolist(), x.grad.double().flatten().tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("start", range(0, 60, 10))
def test_beside_torch(dtype, start):
    tolerance = 1e-4 if dtype == "float32" else 1e-9
    for number in range(start, start + 10):
        logits, targets, input_lengths, target_lengths, blank, keywords = drawn(number)
        arguments = (targets, input_lengths, target_lengths, blank)
        expected = loss_and_slope(torch, dtype, logits, *arguments, **keywords)
        found = loss_and_slope(minidynamo, dtype, logits, *arguments, **keywords)
        assert found[0] == pytest.approx(expected[0], rel=tolerance, abs=tolerance, nan_ok=True), number
        assert found[1] == pytest.approx(expected[1], rel=tolerance, abs=tolerance, nan_ok=True), number


def test_a_label_that_is_no_class():
    logs = minidynamo.zeros(4, 1, 3)
    for label in (-1, 3):
        with pytest.raises(IndexError, match="out of range"):
            minidynamo.nn.functional.ctc_loss(logs, minidynamo.tensor([[label]]), [4], [1])


def test_no_alignment_is_possible():
    logs = minidynamo.zeros(1, 1, 3)
    targets = minidynamo.tensor([[1, 2]])
    assert minidynamo.nn.functional.ctc_loss(logs, targets, [1], [2], reduction="none").tolist() == [float("inf")]
    assert minidynamo.nn.functional.ctc_loss(logs, targets, [1], [2], zero_infinity=True).item() == 0.0
