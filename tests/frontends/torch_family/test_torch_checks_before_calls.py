"""A condition with which the program raises holds before a call that follows it is made."""

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")

MADE = []


@torch.library.custom_op("minidynamo_tests::noted", mutates_args=())
def noted(x: torch.Tensor) -> torch.Tensor:
    MADE.append(x.sum().item())
    if x.sum() > 100:
        raise KeyError("large")
    return x + 1


@noted.register_fake
def _(x):
    return torch.empty_like(x)


def raised_then_called(x):
    if (x < 10).any():
        raise ValueError("small")
    return noted(x * 2)


def asserted_then_called(x):
    if not (x > 10).all():
        raise AssertionError("small")
    return noted(x) * 2


def called_between(x):
    if not (x > 10).all():
        raise AssertionError("small")
    y = noted(x)
    if not (y > 15).all():
        raise AssertionError("still small")
    return y


def drawn_after(x):
    if (x < 10).any():
        raise ValueError("small")
    return torch.normal(x, 20 - x)


def drawn_with_bad_arguments(x):
    return torch.normal(x, 20 - x) * 2


def caught(x):
    try:
        return torch.distributions.Normal(x, x - 15).sample()
    except ValueError as error:
        return str(error)[:40]


def of_a_distribution(x):
    return torch.distributions.Normal(x, x - 15).rsample() + 1


PROGRAMS = {
    each.__name__: each
    for each in (
        raised_then_called,
        asserted_then_called,
        called_between,
        drawn_after,
        drawn_with_bad_arguments,
        caught,
        of_a_distribution,
    )
}
ARGUMENTS = [16.0, 3.0, 17.0, 12.0, -40.0, 90.0, 18.0]


def outcomes(function):
    found = []
    for number in ARGUMENTS:
        MADE.clear()
        torch.manual_seed(0)
        try:
            result = function(torch.tensor([number, number + 1]))
            result = result.tolist() if isinstance(result, torch.Tensor) else result
        except Exception as error:
            result = type(error), str(error)
        found.append((result, list(MADE), torch.rand(()).item()))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_call_after_a_condition(name):
    minidynamo._dynamo.reset()
    theirs, compiled = outcomes(PROGRAMS[name]), minidynamo.compile(PROGRAMS[name])
    for _ in range(2):
        assert outcomes(compiled) == theirs


@pytest.mark.counts_regions
@pytest.mark.parametrize("name", ["raised_then_called", "asserted_then_called", "drawn_after", "of_a_distribution"])
def test_condition_stays_in_the_graph(name):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(PROGRAMS[name])
    x = torch.tensor([16.0, 17.0])
    assert _C.record_breaks(lambda: [compiled(x), compiled(x)]) == []
