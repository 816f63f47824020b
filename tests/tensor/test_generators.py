"""Random number generators: reproducible, also on several threads."""

import math

import pytest

import minidynamo as md

DRAWS = {
    "rand": lambda g: md.rand(2000, generator=g),
    "randn": lambda g: md.randn(50, 40, generator=g),
    "randint": lambda g: md.randint(10, (2000,), generator=g),
    "randperm": lambda g: md.randperm(1000, generator=g),
    "bernoulli": lambda g: md.bernoulli(md.full((2000,), 0.3), generator=g),
    "bernoulli_p": lambda g: md.zeros(2000).bernoulli(0.3, generator=g),
    "bernoulli_": lambda g: md.zeros(2000).bernoulli_(0.3, generator=g),
    "normal": lambda g: md.normal(2.0, 3.0, (2000,), generator=g),
    "normal_tensor": lambda g: md.normal(md.zeros(2000), md.ones(1), generator=g),
    "normal_": lambda g: md.empty(2000).normal_(2.0, 3.0, generator=g),
    "uniform_": lambda g: md.empty(2000).uniform_(-1, 4, generator=g),
    "exponential_": lambda g: md.empty(2000).exponential_(2.0, generator=g),
    "multinomial": lambda g: md.multinomial(md.ones(2000), 50, generator=g),
    "multinomial_replacement": lambda g: md.multinomial(md.ones(5), 2000, True, generator=g),
}


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_alone_decides(name):
    draw = DRAWS[name]
    before = md.get_rng_state()
    one, other = md.Generator().manual_seed(7), md.Generator().manual_seed(7)
    first = draw(one)
    md.rand(3)
    assert md.equal(first, draw(other))
    assert md.equal(draw(one), draw(other))
    assert not md.equal(first, draw(one))
    assert not md.equal(first, draw(md.Generator().manual_seed(8)))
    md.set_rng_state(before)
    draw(one)
    assert md.equal(md.get_rng_state(), before)


@pytest.mark.parametrize("name", DRAWS)
def test_threads_do_not_matter(name):
    before = md.get_num_threads()
    try:
        md.set_num_threads(1)
        one = DRAWS[name](md.Generator().manual_seed(1))
        md.set_num_threads(2)
        assert md.equal(one, DRAWS[name](md.Generator().manual_seed(1)))
    finally:
        md.set_num_threads(before)


def test_state_is_saved_and_restored():
    g = md.Generator()
    state = g.manual_seed(3).get_state()
    assert g.initial_seed() == 3 and state.dtype == md.uint8
    first = md.rand(5, generator=g)
    copy = g.clone_state()
    assert md.equal(md.rand(5, generator=g), md.rand(5, generator=copy))
    assert g.set_state(state) is g and md.equal(md.rand(5, generator=g), first)
    assert g.manual_seed(-1).initial_seed() == 2**64 - 1
    assert isinstance(g.seed(), int) and g.initial_seed() != 3
    assert g.device == md.device("cpu")
    md.manual_seed(11)
    assert md.initial_seed() == 11


@pytest.mark.parametrize("wrong", [object(), 3, "x"])
def test_no_generator(wrong):
    with pytest.raises(TypeError, match=r"rand\(\): argument 'generator' must be Generator"):
        md.rand(3, generator=wrong)
    for state in (wrong, md.zeros(3), md.zeros(3, dtype=md.uint8)):
        with pytest.raises((TypeError, RuntimeError), match="random state"):
            md.Generator().set_state(state)


def test_compiled_code_draws_from_generators_outside_of_graphs():
    def run(x, g):
        return x + md.rand(3, generator=g) * 2

    x = md.ones(3)
    plain = run(x, md.Generator().manual_seed(5))
    compiled = md.compile(run)
    for _ in range(2):
        assert md.equal(compiled(x, md.Generator().manual_seed(5)), plain)
    md.manual_seed(4)
    expected = run(x, None)
    md.manual_seed(4)
    assert md.equal(md.compile(run, fullgraph=True)(x, None), expected)


@pytest.mark.parametrize("name", ["bernoulli", "normal_", "uniform_", "exponential_"])
def test_compiled_draws_are_those_of_eager(name):
    def run():
        return DRAWS[name](None) + md.rand(2000)

    md.manual_seed(9)
    plain = run()
    compiled = md.compile(run, fullgraph=True)
    for _ in range(2):
        md.manual_seed(9)
        assert md.equal(compiled(), plain)


def test_distributions_have_their_moments():
    g = md.Generator().manual_seed(0)
    n = 40000
    for draw, mean, std in (
        (md.empty(n).normal_(2.0, 3.0, generator=g), 2, 3),
        (md.empty(n).uniform_(-1, 3, generator=g), 1, 4 / math.sqrt(12)),
        (md.empty(n).exponential_(2.0, generator=g), 0.5, 0.5),
        (md.bernoulli(md.full((n,), 0.3), generator=g), 0.3, math.sqrt(0.21)),
        (md.normal(md.full((n,), -1.0), 2.0, generator=g), -1, 2),
    ):
        assert abs(draw.mean().item() - mean) < 5 * std / math.sqrt(n)
        assert abs(draw.std().item() - std) < 0.03 * std


def test_multinomial_follows_its_weights():
    g = md.Generator().manual_seed(0)
    weights = md.tensor([1.0, 0.0, 3.0, 6.0])
    counts = md.bincount(md.multinomial(weights, 20000, True, generator=g), minlength=4).double() / 20000
    assert counts[1].item() == 0
    assert md.allclose(counts, (weights / 10).double(), atol=0.015)
    rows = md.multinomial(weights.expand(500, 4), 3, generator=g)
    assert tuple(rows.shape) == (500, 3)
    assert (rows.sort(1).values == md.tensor([0, 2, 3])).all()
    first = (
        md.bincount(md.multinomial(weights.expand(20000, 4), 1, generator=g).reshape(-1), minlength=4).double() / 20000
    )
    assert md.allclose(first, (weights / 10).double(), atol=0.015)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: md.multinomial(md.tensor([1.0, -1.0]), 1),
        lambda: md.multinomial(md.tensor([0.0, 0.0]), 1),
        lambda: md.multinomial(md.tensor([1.0, 1.0]), 3),
        lambda: md.multinomial(md.tensor([1.0, 0.0]), 2),
        lambda: md.multinomial(md.tensor([1, 2]), 1),
        lambda: md.multinomial(md.ones(2, 2, 2), 1),
        lambda: md.multinomial(md.ones(2), 0),
        lambda: md.bernoulli(md.ones(2), 1.5),
        lambda: md.bernoulli(md.tensor([1])),
        lambda: md.normal(0.0, -1.0, (2,)),
        lambda: md.empty(2).normal_(0, -1),
        lambda: md.empty(2).uniform_(2, 1),
        lambda: md.tensor([1]).uniform_(),
        lambda: md.empty(2).exponential_(0),
    ],
)
def test_wrong_arguments(wrong):
    with pytest.raises(RuntimeError, match=r"^\["):
        wrong()
