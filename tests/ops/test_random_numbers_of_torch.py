"""For a seed, torch's numbers on CPUs: integers, masks and uniform numbers exactly, others but for rounding."""

import pytest

import minidynamo as md

SIZES = (0, 1, 2, 15, 16, 17, 31, 100, 1000, 100001)
SEEDS = (0, 1, 42, 2**40 + 3, -1)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
COMPLEX = ("complex64", "complex128")
TOLERANCES = {"float32": 1e-6, "complex64": 1e-6, "float64": 1e-12, "complex128": 1e-12, "float16": 2e-3}
EXACT, ROUNDED = True, False


def filled(method, *args):
    return lambda lib, n, dtype, g: getattr(lib.zeros(n, dtype=dtype), method)(*args, generator=g)


# Name: function of the library, size, dtype and generator; dtypes; whether no bit differs.
DRAWS = {
    "rand": (lambda lib, n, dtype, g: lib.rand(n, dtype=dtype, generator=g), FLOATS + COMPLEX, EXACT),
    "uniform_": (filled("uniform_"), FLOATS + COMPLEX, EXACT),
    "uniform_ of a range": (filled("uniform_", -0.37, 0.11), FLOATS, EXACT),
    "uniform_ of a number": (filled("uniform_", 2.0, 2.0), FLOATS, EXACT),
    "randn": (lambda lib, n, dtype, g: lib.randn(n, dtype=dtype, generator=g), FLOATS + COMPLEX, ROUNDED),
    "normal_": (filled("normal_", 0.5, 1.25), FLOATS + COMPLEX, ROUNDED),
    "normal": (lambda lib, n, dtype, g: lib.normal(1.0, 0.5, (n,), dtype=dtype, generator=g), FLOATS, ROUNDED),
    "log_normal_": (filled("log_normal_", -1.0, 0.25), FLOATS, ROUNDED),
    "exponential_": (filled("exponential_", 1.7), FLOATS, ROUNDED),
    "cauchy_": (filled("cauchy_", 0.5, 1e-3), FLOATS, ROUNDED),
    "geometric_": (filled("geometric_", 0.2), FLOATS + INTEGERS[:-1], EXACT),
    "bernoulli_": (filled("bernoulli_", 0.3), FLOATS + INTEGERS, EXACT),
    "bernoulli_ always": (filled("bernoulli_", 1.0), ("float32",), EXACT),
    "bernoulli with p": (
        lambda lib, n, dtype, g: lib.zeros(n, dtype=dtype).bernoulli(0.7, generator=g),
        FLOATS + INTEGERS,
        EXACT,
    ),
    "bernoulli": (lambda lib, n, dtype, g: lib.bernoulli(lib.full((n,), 0.3, dtype=dtype), generator=g), FLOATS, EXACT),
    "bernoulli_ of a tensor": (
        lambda lib, n, dtype, g: lib.zeros(n).bernoulli_(lib.full((n,), 0.6, dtype=dtype), generator=g),
        FLOATS,
        EXACT,
    ),
    "randint": (
        lambda lib, n, dtype, g: lib.randint(3, 50, (n,), dtype=dtype, generator=g),
        FLOATS + INTEGERS[:-1],
        EXACT,
    ),
    "randint of bools": (lambda lib, n, dtype, g: lib.randint(0, 2, (n,), dtype=dtype, generator=g), ("bool",), EXACT),
    "randint of 2**28": (
        lambda lib, n, dtype, g: lib.randint(-5, 2**28 - 5, (n,), dtype=dtype, generator=g),
        ("int64", "int32", "float64"),
        EXACT,
    ),
    "randint of 2**62": (
        lambda lib, n, dtype, g: lib.randint(-(2**61), 2**61, (n,), dtype=dtype, generator=g),
        ("int64",),
        EXACT,
    ),
    "randint of rounded numbers": (
        lambda lib, n, dtype, g: lib.randint(0, 2049, (n,), dtype=dtype, generator=g),
        ("float16",),
        EXACT,
    ),
    "random_": (filled("random_"), FLOATS + INTEGERS, EXACT),
    "random_ below": (filled("random_", 100), FLOATS + INTEGERS[:-1], EXACT),
    "random_ of a range": (filled("random_", 7, 120), FLOATS + INTEGERS[:-1], EXACT),
    "random_ from": (filled("random_", 7, None), ("int64", "int32", "uint8", "float32"), EXACT),
    "random_ of all": (filled("random_", -(2**63), None), ("int64",), EXACT),
    "randperm": (
        lambda lib, n, dtype, g: lib.randperm(n, dtype=dtype, generator=g),
        ("int64", "int32", "float64"),
        EXACT,
    ),
}


def cases():
    for name, (_, dtypes, _) in DRAWS.items():
        for dtype in dtypes:
            yield pytest.param(name, dtype, id=f"{name} {dtype}")


def comparable(tensor):
    """Numbers as a list: of floats, or the parts of complex ones."""
    if tensor.is_complex():
        return [part for number in tensor.tolist() for part in (number.real, number.imag)]
    return tensor.reshape(-1).tolist()


def assert_alike(ours, theirs, tolerance):
    """tolerance: None, or relative to the larger of a number and 1."""
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    ours, theirs = comparable(ours), comparable(theirs)
    if tolerance is None:
        assert ours == theirs
        return
    for number, wanted in zip(ours, theirs, strict=True):
        assert number == wanted or abs(number - wanted) <= tolerance * max(1, abs(wanted)), (number, wanted)


@pytest.mark.parametrize(("name", "dtype"), cases())
def test_for_sizes_and_seeds(name, dtype):
    torch = pytest.importorskip("torch")
    draw, _, exact = DRAWS[name]
    tolerance = None if exact else TOLERANCES.get(dtype, 1.6e-2)
    for size in SIZES:
        for seed in SEEDS if size < 1000 else SEEDS[:1]:
            ours, theirs = md.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
            made = draw(md, size, getattr(md, dtype), ours)
            assert_alike(made, draw(torch, size, getattr(torch, dtype), theirs), tolerance)
            if name != "log_normal_":  # its spare number is rounded
                assert ours.get_state().tolist()[:5016] == theirs.get_state().tolist()[:5016]


# What is left of the words of one call, and the second number of a pair, is the next call's.
MIXED = {
    "normal numbers one by one": lambda lib: [lib.randn(1) for _ in range(7)],
    "a spare normal number": lambda lib: [lib.randn(3), lib.rand(2), lib.randn(20), lib.randn(2), lib.randn(1)],
    "a seed drops it": lambda lib: [lib.randn(1), lib.manual_seed(3), lib.randn(1)][::2],
    "dtypes": lambda lib: [
        lib.rand(3, dtype=lib.float64),
        lib.rand(3),
        lib.randint(5, (3,)),
        lib.randn(5, dtype=lib.bfloat16),
        lib.randperm(9),
        lib.randn(33, dtype=lib.float16),
        lib.rand(1),
    ],
    "twists": lambda lib: [lib.rand(n) for n in (623, 1, 1, 624, 1248, 1, 5000, 3)],
    "shapes": lambda lib: [lib.rand(3, 5), lib.randn(4, 4), lib.rand(()), lib.randn(2, 0), lib.rand(1)],
    "like": lambda lib: [
        lib.rand_like(lib.zeros(3, 4).t()),
        lib.randn_like(lib.zeros(9, 4).t()),
        lib.randint_like(lib.zeros(4, 3).t(), 9),
        lib.randn_like(lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last)),
    ],
    "transposed": lambda lib: [
        lib.zeros(6, 5).t().uniform_(),
        lib.zeros(6, 5).t().normal_(),
        lib.zeros(6, 5).t().bernoulli_(0.5),
        lib.zeros(6, 5).t().exponential_(),
        lib.zeros(6, 5).t().random_(9),
        lib.zeros(6, 5).t().random_(),
        lib.zeros(6, 5).t().geometric_(0.5),
        lib.zeros(6, 5).t().bernoulli_(lib.full((5, 6), 0.5)),
        lib.full((6, 5), 0.5).t().bernoulli(),
        lib.full((6, 5), 0.5).t().bernoulli(0.3),
    ],
    "parts": lambda lib: [
        lib.zeros(6, 10)[:, ::2].uniform_(),
        lib.zeros(6, 10)[:, ::2].normal_(),
        lib.zeros(6, 10)[:, ::2].t().normal_(),
        lib.zeros(40)[3:].normal_(),
        lib.zeros(4, 3, 5).permute(2, 0, 1).uniform_(),
    ],
    "normal of tensors": lambda lib: [
        lib.normal(lib.arange(20.0), lib.full((20,), 0.5)),
        lib.normal(lib.arange(3.0), 2.0),
        lib.normal(1.0, lib.arange(4.0)),
    ],
    "multinomial": lambda lib: [
        lib.multinomial(lib.arange(1.0, 9), 5),
        lib.multinomial(lib.arange(1.0, 9), 50, True),
        lib.multinomial(lib.arange(1.0, 9).double().reshape(2, 4), 20, True),
        lib.multinomial(lib.arange(1.0, 9).reshape(2, 4), 1),
        lib.multinomial(lib.arange(1.0, 9), 1, True),
        lib.multinomial(lib.arange(0.0, 50).half(), 30, True),
        lib.multinomial(lib.arange(0.0, 50).double(), 30),
    ],
    "gumbel_softmax": lambda lib: [
        lib.nn.functional.gumbel_softmax(lib.arange(12.0).reshape(3, 4)),
        lib.nn.functional.gumbel_softmax(lib.arange(12.0).reshape(3, 4), hard=True),
    ],
    "rrelu": lambda lib: [lib.nn.functional.rrelu(lib.arange(-9.0, 9).reshape(3, 6), training=True), lib.rand(1)],
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("seed", SEEDS)
def test_calls_one_after_another(name, seed):
    torch = pytest.importorskip("torch")
    for lib in (md, torch):
        lib.manual_seed(seed)
    for ours, theirs in zip(MIXED[name](md), MIXED[name](torch), strict=True):
        exact = not theirs.dtype.is_floating_point or name in ("twists",)
        tolerance = TOLERANCES.get(str(theirs.dtype).split(".")[1], 1.6e-2)
        assert_alike(ours, theirs, None if exact else tolerance)


def in_both(seed, draw):
    """[ours, torch's] of draw(library), from the same seed."""
    found = []
    for library in (md, pytest.importorskip("torch")):
        library.manual_seed(seed)
        found.append(draw(library))
    return found


# Functions of nn.functional, or of the library itself.
DROPOUTS = {
    "dropout": lambda F, x: F.dropout(x, 0.3),
    "dropout, transposed": lambda F, x: F.dropout(x.transpose(0, 1), 0.3),
    "dropout1d": lambda F, x: F.dropout1d(x[:, :, 0], 0.3),
    "dropout2d": lambda F, x: F.dropout2d(x, 0.3),
    "dropout3d": lambda F, x: F.dropout3d(x[..., None], 0.3),
    "alpha_dropout": lambda F, x: F.alpha_dropout(x, 0.3, True),
    "torch.dropout": lambda lib, x: lib.dropout(x, 0.3, True),
    "torch.alpha_dropout": lambda lib, x: lib.alpha_dropout(x, 0.3, True),
    "torch.feature_dropout": lambda lib, x: lib.feature_dropout(x, 0.3, True),
    "torch.feature_alpha_dropout": lambda lib, x: lib.feature_alpha_dropout(x, 0.3, True),
    "torch.rrelu": lambda lib, x: lib.rrelu(x - 200, 0.1, 0.4, True),
    "all of it": lambda F, x: F.dropout(x, 1.0),
    "none of it": lambda F, x: F.dropout(x, 0.0),
}


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout(name):
    def draw(lib):
        x = lib.arange(1.0, 2 * 8 * 5 * 6 + 1).reshape(2, 8, 5, 6)
        return DROPOUTS[name](lib if "torch" in name else lib.nn.functional, x), lib.rand(2)

    for ours, theirs in zip(*in_both(7, draw)):
        assert_alike(ours, theirs, 1e-6)


MODULES = {
    "Linear": lambda nn: nn.Linear(20, 30),
    "Linear without bias": lambda nn: nn.Linear(3, 4, bias=False),
    "Bilinear": lambda nn: nn.Bilinear(4, 5, 6),
    "Conv1d": lambda nn: nn.Conv1d(4, 6, 3, groups=2),
    "Conv2d": lambda nn: nn.Conv2d(3, 8, 5),
    "Conv3d": lambda nn: nn.Conv3d(2, 3, 2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(4, 6, 3),
    "Embedding": lambda nn: nn.Embedding(11, 7, padding_idx=2),
    "EmbeddingBag": lambda nn: nn.EmbeddingBag(11, 7),
    "RNN": lambda nn: nn.RNN(5, 7, 2),
    "LSTM": lambda nn: nn.LSTM(5, 7, 2, bidirectional=True),
    "LSTM with a projection": lambda nn: nn.LSTM(5, 7, proj_size=3),
    "GRU": lambda nn: nn.GRU(5, 7),
    "LSTMCell": lambda nn: nn.LSTMCell(5, 7),
    "GRUCell": lambda nn: nn.GRUCell(5, 7),
    "RNNCell": lambda nn: nn.RNNCell(5, 7),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(12, 3),
    "MultiheadAttention of other sizes": lambda nn: nn.MultiheadAttention(12, 3, kdim=5, vdim=7, add_bias_kv=True),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
    "TransformerDecoderLayer": lambda nn: nn.TransformerDecoderLayer(8, 2, 16),
    "Transformer": lambda nn: nn.Transformer(8, 2, 2, 2, 16),
    "LayerNorm": lambda nn: nn.LayerNorm(5),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(5),
    "PReLU": lambda nn: nn.PReLU(),
    "Sequential": lambda nn: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)),
}


@pytest.mark.parametrize("name", MODULES)
def test_initial_weights(name):
    (ours, next_ours), (theirs, next_theirs) = in_both(11, lambda lib: (MODULES[name](lib.nn), lib.rand(3)))
    ours, theirs = dict(ours.named_parameters()), dict(theirs.named_parameters())
    assert list(ours) == list(theirs)
    for parameter in ours:
        assert_alike(ours[parameter].detach(), theirs[parameter].detach(), 1e-6)
    assert_alike(next_ours, next_theirs, None)


# Layers that draw in training: made, and called with a tensor of sizes (5, 3, 8).
DRAWING = {
    "LSTM": lambda lib, x: lib.nn.LSTM(8, 6, 3, dropout=0.4)(x)[0],
    "GRU": lambda lib, x: lib.nn.GRU(8, 6, 2, dropout=0.4, bidirectional=True)(x)[0],
    "MultiheadAttention": lambda lib, x: lib.nn.MultiheadAttention(8, 2, dropout=0.3)(x, x, x)[0],
    "MultiheadAttention alone": lambda lib, x: lib.nn.MultiheadAttention(8, 2, dropout=0.3)(
        x, x, x, need_weights=False
    )[0],
    "scaled_dot_product_attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x, x, x, None, 0.3),
    "TransformerEncoderLayer": lambda lib, x: lib.nn.TransformerEncoderLayer(8, 2, 16)(x),
    "TransformerDecoderLayer": lambda lib, x: lib.nn.TransformerDecoderLayer(8, 2, 16)(x, x),
    "RReLU": lambda lib, x: lib.nn.RReLU()(x),
    "AlphaDropout": lambda lib, x: lib.nn.AlphaDropout(0.3)(x),
}


@pytest.mark.parametrize("name", DRAWING)
def test_layers_in_training(name):
    for ours, theirs in zip(*in_both(23, lambda lib: (DRAWING[name](lib, lib.randn(5, 3, 8)).detach(), lib.rand(3)))):
        assert_alike(ours, theirs, 1e-5)


def test_training_follows_the_same_path():
    def draw(lib):
        model = lib.nn.Sequential(lib.nn.Linear(6, 16), lib.nn.ReLU(), lib.nn.Dropout(0.2), lib.nn.Linear(16, 1))
        optimizer = lib.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        losses = []
        for _ in range(20):
            x = lib.randn(8, 6)[lib.randperm(8)]
            loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    ours, theirs = in_both(29, draw)
    assert ours == pytest.approx(theirs, rel=1e-4)


INITIAL = {
    "uniform_": lambda init, w: init.uniform_(w, -1, 2),
    "normal_": lambda init, w: init.normal_(w, 1, 2),
    "xavier_uniform_": lambda init, w: init.xavier_uniform_(w),
    "xavier_normal_": lambda init, w: init.xavier_normal_(w, 2),
    "kaiming_uniform_": lambda init, w: init.kaiming_uniform_(w, nonlinearity="relu"),
    "kaiming_normal_": lambda init, w: init.kaiming_normal_(w, mode="fan_out"),
    "trunc_normal_": lambda init, w: init.trunc_normal_(w, std=0.5),
    "trunc_normal_, redrawn": lambda init, w: init.trunc_normal_(w, 0.5, 1.0, 0.0, 2.0),
    "trunc_normal_ of a small part": lambda init, w: init.trunc_normal_(w, 0.0, 1.0, 1.5, 2.0),
    "orthogonal_": lambda init, w: init.orthogonal_(w),
    "orthogonal_, high": lambda init, w: init.orthogonal_(w.t(), 2),
    "orthogonal_, square": lambda init, w: init.orthogonal_(w[:, :6]),
    "sparse_": lambda init, w: init.sparse_(w, 0.3),
}


@pytest.mark.parametrize("name", INITIAL)
def test_init(name):
    for ours, theirs in zip(*in_both(13, lambda lib: (INITIAL[name](lib.nn.init, lib.zeros(6, 9)), lib.rand(3)))):
        assert_alike(ours, theirs, 1e-5 if "orthogonal" in name else 1e-6)


DISTRIBUTIONS = {
    "Bernoulli": lambda d, t: d.Bernoulli(t([0.1, 0.5, 0.9])),
    "Beta": lambda d, t: d.Beta(t([0.5, 2.0]), t([1.5, 0.3])),
    "Categorical": lambda d, t: d.Categorical(t([0.1, 0.5, 0.4])),
    "Cauchy": lambda d, t: d.Cauchy(t([0.0, 1.0]), t([0.001, 0.002])),
    "Chi2": lambda d, t: d.Chi2(t([1.0, 5.0])),
    "Dirichlet": lambda d, t: d.Dirichlet(t([0.5, 1.0, 3.0])),
    "Exponential": lambda d, t: d.Exponential(t([0.5, 2.0])),
    "Gamma": lambda d, t: d.Gamma(t([0.3, 2.0, 30.0]), t([1.0, 2.0, 3.0])),
    "Geometric": lambda d, t: d.Geometric(t([0.3, 0.7])),
    "Gumbel": lambda d, t: d.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])),
    "HalfNormal": lambda d, t: d.HalfNormal(t([1.0, 2.0])),
    "Laplace": lambda d, t: d.Laplace(t([0.0, 1.0]), t([1.0, 2.0])),
    "LogNormal": lambda d, t: d.LogNormal(t([0.0, 1.0]), t([0.1, 0.2])),
    "MultivariateNormal": lambda d, t: d.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
    "Normal": lambda d, t: d.Normal(t([0.0, 1.0]), t([1.0, 2.0])),
    "OneHotCategorical": lambda d, t: d.OneHotCategorical(t([0.1, 0.5, 0.4])),
    "Poisson": lambda d, t: d.Poisson(t([0.0, 0.5, 4.0, 10.0, 500.0])),
    "Uniform": lambda d, t: d.Uniform(t([0.0, 1.0]), t([1.0, 3.0])),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name):
    def draw(lib):
        distribution = DISTRIBUTIONS[name](lib.distributions, lib.tensor)
        return [distribution.sample((n,)) for n in (1, 7, 40)] + [lib.rand(3)]

    for ours, theirs in zip(*in_both(17, draw)):
        assert_alike(ours, theirs, 1e-5)


ORDERS = {
    "shuffle": lambda data: list(data.DataLoader(range(50), batch_size=None, shuffle=True)),
    "RandomSampler": lambda data: list(data.RandomSampler(range(30))),
    "RandomSampler with replacement": lambda data: list(data.RandomSampler(range(30), True, 70)),
    "SubsetRandomSampler": lambda data: list(data.SubsetRandomSampler(range(3, 30))),
    "WeightedRandomSampler": lambda data: list(data.WeightedRandomSampler([0.1, 0.5, 0.4], 20)),
    "random_split": lambda data: [list(part.indices) for part in data.random_split(range(20), [0.7, 0.3])],
    "DistributedSampler": lambda data: list(data.DistributedSampler(range(20), 2, 1)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_of_data(name):
    pytest.importorskip("torch.utils.data")
    ours, theirs = in_both(19, lambda lib: ([ORDERS[name](lib.utils.data) for _ in range(2)], lib.rand(2).tolist()))
    assert ours == theirs


def test_states_are_exchanged():
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    md.manual_seed(5)
    assert md.get_rng_state().tolist() == torch.get_rng_state().tolist()
    for count in (1, 623, 7, 624):
        torch.rand(count)
        torch.randn(1)
        md.set_rng_state(md.tensor(torch.get_rng_state().tolist(), dtype=md.uint8))
        assert md.get_rng_state().tolist() == torch.get_rng_state().tolist()
        assert_alike(md.randn(4), torch.randn(4), 1e-6)
        md.rand(count + 1)
        torch.set_rng_state(torch.tensor(md.get_rng_state().tolist(), dtype=torch.uint8))
        assert_alike(md.rand(9), torch.rand(9), None)
    assert md.initial_seed() == torch.initial_seed() == 5
    assert md.Generator().initial_seed() == torch.Generator().initial_seed()
    assert md.Generator().get_state().tolist() == torch.Generator().get_state().tolist()


@pytest.mark.parametrize("change", [(8, 5), (12, 0), (16, 9), (17, 200)])
def test_an_invalid_state_is_refused(change):
    state = md.Generator().manual_seed(1).get_state()
    state[change[0]] = change[1]
    with pytest.raises(RuntimeError, match="random state"):
        md.Generator().set_state(state)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bool"])
def test_a_start_beyond_the_dtype(dtype):
    with pytest.raises(RuntimeError, match="out of bounds"):
        md.zeros(3, dtype=getattr(md, dtype)).random_(3000, None)


def test_compiled_code_draws_the_same():
    def run():
        x = md.rand(3, 5)
        y = md.randn(20) * 2 + md.randn(1)
        mask = md.nn.functional.dropout(md.ones(40), 0.4)
        z = md.empty(7).normal_(1.0, 2.0)
        return x, y, mask, z, md.bernoulli(x), md.randperm(9), md.randint(9, (5,)), md.empty(3).exponential_()

    compiled = md.compile(run, fullgraph=True)
    for seed in SEEDS:
        md.manual_seed(seed)
        plain = run(), md.get_rng_state()
        md.manual_seed(seed)
        made = compiled(), md.get_rng_state()
        assert all(md.equal(a, b) for a, b in zip(made[0], plain[0]))
        assert md.equal(made[1], plain[1])


def test_numbers_that_vary_in_compiled_code():
    """Limits and probabilities that are inputs of a graph."""

    def run(low, high, p):
        return md.empty(9).uniform_(low, high), md.empty(20).normal_(low, high), md.zeros(9).bernoulli_(p)

    compiled = md.compile(run, fullgraph=True, dynamic=True)
    for low, high, p in ((0.0, 1.0, 0.5), (-0.25, 2.5, 0.1), (1.0, 3.0, 1.0)):
        md.manual_seed(31)
        plain = run(low, high, p)
        md.manual_seed(31)
        assert all(md.equal(a, b) for a, b in zip(compiled(low, high, p), plain))


# What torch 2.13 gives after manual_seed(0), for where it is not installed.
LITERAL = {
    "rand": (
        lambda: md.rand(4),
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688],
    ),
    "randn": (
        lambda: md.randn(4),
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244, 0.5684312582015991],
    ),
    "randint": (lambda: md.randint(100, (6,)), [44, 39, 33, 60, 63, 79]),
    "randperm": (lambda: md.randperm(8), [4, 0, 7, 3, 2, 5, 1, 6]),
    "bernoulli_": (lambda: md.zeros(8).bernoulli_(0.5), [0, 0, 1, 0, 0, 0, 1, 1]),
    "randn of sixteen": (lambda: md.randn(16)[:3], [-1.1258398294448853, -1.152360200881958, -0.2505785822868347]),
    "random_": (lambda: md.empty(2, dtype=md.int64).random_(), [900450186894289455, 3969543146641149120]),
}


@pytest.mark.parametrize("name", LITERAL)
def test_known_numbers(name):
    draw, wanted = LITERAL[name]
    md.manual_seed(0)
    assert draw().tolist() == pytest.approx(wanted, rel=1e-6)
