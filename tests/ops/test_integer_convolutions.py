"""Integer dtypes: convolutions, mean pooling and sums of products, which dtypes are supported, and pooling without channels, as in
torch.
"""

import itertools
import random

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

DTYPES = ("uint8", "int8", "int16", "int32", "int64")
CONVOLUTIONS = [
    (name, rank, arguments)
    for rank in (1, 2, 3)
    for name, arguments in (
        (f"conv{rank}d", {}),
        (f"conv{rank}d", {"stride": 2, "padding": 1, "dilation": 2}),
        (f"conv{rank}d", {"groups": 2}),
        (f"conv_transpose{rank}d", {}),
        (f"conv_transpose{rank}d", {"stride": 2, "padding": 1, "output_padding": 1}),
    )
]
MEANS = [(1, (2,)), (1, (3, 1, 1)), (2, (2,)), (2, (3, 2, 1, True, False)), (2, (2, 1, 0, False, True, 3)), (3, (2,))]
POOLS = [
    (f"{kind}{rank}d", rank)
    for kind in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool")
    for rank in (1, 2, 3)
]


def numbers(shape, dtype, seed):
    least = 0 if dtype == "uint8" else -100
    made = torch.randint(least, 100, shape, generator=torch.Generator().manual_seed(seed))
    return made.to(getattr(torch, dtype))


def compared(call, *tensors):
    """The same call in both libraries: one dtype, one set of values, or one class of exception."""

    def outcome(lib, given):
        try:
            result = call(lib, *given)
        except Exception as error:
            return type(error).__name__
        return str(result.dtype).rpartition(".")[2], tuple(result.shape), result.tolist()

    assert outcome(md, [md.from_dlpack(tensor.clone()) for tensor in tensors]) == outcome(torch, tensors)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "rank", "arguments"), CONVOLUTIONS)
def test_convolutions(name, rank, arguments, dtype):
    groups = arguments.get("groups", 1)
    weight = numbers((4, 4 // groups, *[2] * rank), dtype, 1)
    image, bias = numbers((2, 4, *[5] * rank), dtype, 2), numbers((4,), dtype, 3)
    compared(lambda lib, x, w, b: getattr(lib.nn.functional, name)(x, w, b, **arguments), image, weight, bias)
    compared(lambda lib, x, w: getattr(lib.nn.functional, name)(x, w, **arguments), image, weight)


def test_products_wrap_around():
    large = torch.full((1, 1, 4), 2**62)
    compared(lambda lib, x, w: lib.nn.functional.conv1d(x, w), large, torch.tensor([[[3, 5]]]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rank", "arguments"), MEANS)
def test_means(rank, arguments, dtype):
    image = numbers((2, 3, *[5] * rank), dtype, 4)
    compared(lambda lib, x: getattr(lib.nn.functional, f"avg_pool{rank}d")(x, *arguments), image)


@pytest.mark.parametrize(("name", "rank"), POOLS)
def test_pools_of_no_channels(name, rank):
    for batch, channels in itertools.product(((), (2,), (0,)), (0, 2)):
        compared(lambda lib, x: getattr(lib.nn.functional, name)(x, 1), torch.ones(*batch, channels, *[3] * rank))


def equations(count):
    generator = random.Random(0)
    for _ in range(count):
        terms = ["".join(generator.sample("ijkl", generator.randint(1, 3))) for _ in range(generator.randint(1, 3))]
        known = sorted(set("".join(terms)))
        sizes = {letter: generator.choice((1, 2, 3)) for letter in known}
        shapes = [[generator.choice((1, sizes[letter])) for letter in term] for term in terms]
        result = "".join(generator.sample(known, generator.randint(0, len(known))))
        yield f"{','.join(terms)}->{result}", shapes


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float64"])
def test_einsum(dtype, monkeypatch):
    # Another order of products, where the package is installed, gives other dtypes.
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", False)
    for number, (equation, shapes) in enumerate(equations(300)):
        tensors = [numbers(shape, dtype, number + at) % 5 for at, shape in enumerate(shapes)]
        compared(lambda lib, *given, equation=equation: lib.einsum(equation, *given), *tensors)


MAKERS = {
    "full": lambda lib, out: lib.full((2,), 1.5, out=out),
    "zeros": lambda lib, out: lib.zeros((2,), out=out),
    "linspace": lambda lib, out: lib.linspace(0, 1, 2, out=out),
    "eye": lambda lib, out: lib.eye(2, 2, out=out),
    "arange": lambda lib, out: lib.arange(2, out=out),
    "arange with a dtype": lambda lib, out: lib.arange(2, out=out, dtype=lib.float32),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_creation_with_out_has_its_dtype(make, dtype):
    compared(make, torch.zeros(2, dtype=getattr(torch, dtype)))
