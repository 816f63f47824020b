"""torch's functions and methods that draw random numbers, compiled: the same numbers, and the generator as plain."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

counters = minidynamo._dynamo.utils.counters
F = torch.nn.functional
SHARES = torch.linspace(0.05, 0.95, 20).view(4, 5)


def checked(indices):
    """As a distribution checks its values."""
    if not ((indices % 1 == 0) & (indices >= 0)).all():
        raise ValueError("indices")
    return SHARES.gather(-1, indices)


CASES = {
    "normal_": lambda: [
        torch.empty(3, 20).normal_(),
        torch.empty(30).normal_(1.0, 2.0),
        torch.empty(3).normal_(std=2.0),
    ],
    "uniform_": lambda: [torch.empty(30).uniform_(), torch.zeros(6, 6)[::2].uniform_(2, 3)],
    "transposed": lambda: [torch.zeros(4, 5).t().normal_()],
    "others": lambda: [
        torch.empty(20).exponential_(2.0),
        torch.empty(20).geometric_(0.3),
        torch.empty(20).log_normal_(),
        torch.empty(20).cauchy_(),
        torch.empty(9).bernoulli_(0.2),
        torch.empty(9, dtype=torch.int64).random_(5),
    ],
    "into a view": lambda: [(base := torch.ones(3, 4)), base[1].uniform_()],
    "randint_like": lambda: [
        torch.randint_like(SHARES, 9),
        torch.randint_like(SHARES, 3, 9),
        torch.randint_like(SHARES, 3, high=9, dtype=torch.int64),
        torch.randint_like(SHARES, high=7),
        torch.randint_like(SHARES, low=-7, high=7),
    ],
    "draws of computed shares, and checks of data": lambda: [checked(torch.multinomial(SHARES.softmax(-1), 2))],
    "whole numbers by a constant": lambda: [torch.multinomial(SHARES * 2, 3) % 2, torch.poisson(SHARES).long() // 3],
    "bernoulli of computed shares": lambda: [torch.bernoulli(SHARES * SHARES), torch.normal(SHARES - 1, SHARES * 2)],
    "multinomial": lambda: [torch.multinomial(SHARES, 2), torch.multinomial(SHARES, 7, replacement=True)],
    "normal": lambda: [torch.normal(SHARES, SHARES), torch.normal(SHARES, 2.0), torch.normal(0.0, 1.0, (3,))],
    "poisson": lambda: [torch.poisson(SHARES * 3)],
    "gumbel_softmax": lambda: [F.gumbel_softmax(SHARES), F.gumbel_softmax(SHARES, hard=True)],
    "categorical": lambda: [torch.distributions.Categorical(logits=SHARES).sample()],
    "rsample": lambda: [torch.distributions.Normal(SHARES, SHARES).rsample((2,))],
    "initial weights": lambda: [torch.nn.init.kaiming_uniform_(torch.empty(3, 4))],
}


# What is computed of the numbers differs by rounding.
COMPUTED = {"gumbel_softmax", "rsample"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.counts_regions
def test_as_plain(name):
    compiled = minidynamo.compile(CASES[name], fullgraph=True)
    for seed in range(2):
        torch.manual_seed(seed)
        expected, after = CASES[name](), torch.get_rng_state()
        torch.manual_seed(seed)
        found = compiled()
        assert torch.equal(torch.get_rng_state(), after)
        for one, other in zip(found, expected, strict=True):
            is_same = torch.allclose if name in COMPUTED else torch.equal
            assert is_same(one, other) and one.stride() == other.stride() and one._version == other._version


OTHERS = {
    "another generator": lambda: torch.empty(5).normal_(generator=torch.Generator().manual_seed(3)),
    "shares in a tensor": lambda: torch.empty(4, 5).bernoulli_(SHARES),
    "no shares": lambda: torch.multinomial(torch.zeros(3), 2),
    "an interval without numbers": lambda: torch.empty(3).uniform_(2, 1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_left_to_torch(name):
    def outcome(call):
        torch.manual_seed(0)
        try:
            return call().tolist()
        except RuntimeError as error:
            return str(error)

    assert outcome(minidynamo.compile(OTHERS[name])) == outcome(OTHERS[name])
