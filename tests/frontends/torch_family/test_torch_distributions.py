"""torch's distributions over torch's tensors: their checks of data stay in the graph, and raise where torch raises."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from torch import distributions

import minidynamo
from minidynamo import _C


@pytest.fixture(autouse=True)
def validated():
    """torch's own compiler switches the checks off for the whole process."""
    before = distributions.Distribution._validate_args
    distributions.Distribution.set_default_validate_args(True)
    yield
    distributions.Distribution.set_default_validate_args(before)


def positive(*sizes, seed=0):
    return torch.rand(*sizes, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 0.2


def classes(*sizes):
    return torch.arange(sizes[0]) % sizes[1]


# name -> (distribution of parameters, parameters, values)
CASES = {
    "normal": (lambda a, b: distributions.Normal(a, b), (positive(5), positive(5, seed=1)), positive(5)),
    "log normal": (lambda a, b: distributions.LogNormal(a, b), (positive(5), positive(5, seed=1)), positive(5)),
    "laplace": (lambda a, b: distributions.Laplace(a, b), (positive(5), positive(5, seed=1)), positive(5)),
    "exponential": (lambda a: distributions.Exponential(a), (positive(5),), positive(5)),
    "uniform": (lambda a, b: distributions.Uniform(a - 1, b + 2), (positive(5), positive(5, seed=1)), positive(5)),
    "bernoulli": (lambda a: distributions.Bernoulli(logits=a), (positive(5),), classes(5, 2).double()),
    "of probabilities": (lambda a: distributions.Bernoulli(a / 2), (positive(5),), classes(5, 2).double()),
    "categorical": (lambda a: distributions.Categorical(logits=a), (positive(5, 3),), classes(5, 3)),
    "of shares": (lambda a: distributions.Categorical(a.softmax(-1)), (positive(5, 3),), classes(5, 3)),
    "independent": (
        lambda a, b: distributions.Independent(distributions.Normal(a, b), 1),
        (positive(5, 3), positive(5, 3, seed=1)),
        positive(5, 3),
    ),
    "cauchy": (lambda a, b: distributions.Cauchy(a, b), (positive(5), positive(5, seed=1)), positive(5)),
    "gumbel": (lambda a, b: distributions.Gumbel(a, b), (positive(5), positive(5, seed=1)), positive(5)),
}


def scores(make, parameters, values):
    made = make(*parameters)
    return made.log_prob(values), made.entropy(), made.mean, made.batch_shape


def run(function, make, parameters, values):
    leaves = [each.clone().requires_grad_() for each in parameters]
    score, entropy, mean, shape = function(make, leaves, values)
    gradients = torch.autograd.grad(score.sum() + entropy.sum(), leaves, allow_unused=True)
    return [score, entropy, mean, shape, *gradients]


@pytest.mark.parametrize("name", CASES)
def test_scores_are_one_graph(name):
    make, parameters, values = CASES[name]
    minidynamo._dynamo.reset()
    found = []
    with torch.enable_grad():
        expected = run(scores, make, parameters, values)
        compiled = minidynamo.compile(scores)
        breaks = _C.record_breaks(lambda: found.extend(run(compiled, make, parameters, values)))
    assert breaks == []
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True)


WRONG = {
    "a negative scale": ("normal", lambda parameters, values: ([parameters[0], -parameters[1]], values)),
    "no number": ("normal", lambda parameters, values: ([parameters[0] * float("nan"), parameters[1]], values)),
    "a class that is none": ("categorical", lambda parameters, values: (parameters, values + 3)),
    "a value outside": ("exponential", lambda parameters, values: (parameters, -values)),
    "other sizes": ("normal", lambda parameters, values: (parameters, values[:3])),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("seen", [False, True], ids=["at once", "after right ones"])
def test_what_is_wrong_raises_as_torch_does(wrong, seen):
    name, change = WRONG[wrong]
    make, parameters, values = CASES[name]
    given = change(list(parameters), values)
    with pytest.raises((ValueError, RuntimeError)) as expected:
        scores(make, *given)
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(scores)
    if seen:
        compiled(make, list(parameters), values)
    with pytest.raises(expected.type) as caught:
        compiled(make, *given)
    assert str(caught.value) == str(expected.value)
    lines = [
        [
            (entry.path.name if hasattr(entry.path, "name") else str(entry.path), entry.lineno)
            for entry in each.traceback
        ][1:]
        for each in (expected, caught)
    ]
    assert lines[0] == lines[1]
