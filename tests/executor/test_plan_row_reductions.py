"""Reductions over the last dim in fused loops, which then run row by row: against the graph run op by op."""

import random

import numpy
import pytest

import minidynamo

f32, f64 = minidynamo.float32, minidynamo.float64


def layer_norm(x, w, b):
    distance = x - x.mean(-1, keepdim=True)
    return distance / (distance.square().mean(-1, keepdim=True) + 1e-5).sqrt() * w + b


def rms_norm(x, w, b):
    return x * (x * x).mean(-1, keepdim=True).add(1e-6).rsqrt() * w


def standardise(x, w, b):
    return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)


def scaled(x, w, b):
    low, high = x.amin(-1, True), x.amax(-1, keepdim=True)
    return (x - low) / (high - low), high


def soft(x, w, b):
    exponentials = (x - x.amax(-1, True)).exp()
    return exponentials / exponentials.sum(-1, True)


def without_the_dim(x, w, b):
    return (x * w + b).sum(-1), x.abs().amax(-1), x.var(-1, correction=0)


def seen_on_the_way(x, w, b):
    centre = x.mean(-1, keepdim=True)
    distance = x - centre
    return distance, centre, centre * 2, distance.square().sum(-1, keepdim=True)


def two_inputs(x, w, b):
    y = x.sin()
    return (x * y).sum(-1, keepdim=True) / (x.norm() + y.square().sum(-1, keepdim=True).sqrt())


def selected(x, w, b):
    return minidynamo.where(x > x.mean(-1, keepdim=True), x, w)


def of_another_dtype(x, w, b):
    y = x.to(f64)
    return y - y.mean(-1, keepdim=True), (y.sum(-1, keepdim=True) > 0)


def later_loop(x, w, b):
    total = x.sum(-1, keepdim=True)
    return (total / 3).expand(x.shape) + x.flip(-1) * total


def mean_and_spread(x, w, b):
    centre, variance = (x + 100).mean(-1, keepdim=True), (x + 100).var(-1, keepdim=True, correction=0)
    return (x + 100 - centre) / (variance + 1e-5).sqrt(), centre, x.std(-1, keepdim=True) + x.mean(-1, keepdim=True)


def spread_returned(x, w, b):
    deviation = x.std(-1, keepdim=True)
    return (x - x.mean(-1, keepdim=True)) / deviation, deviation


FUNCTIONS = [layer_norm, rms_norm, standardise, scaled, soft, without_the_dim, seen_on_the_way, two_inputs, selected]
FUNCTIONS += [of_another_dtype, later_loop, mean_and_spread, spread_returned]
SIZES = [
    (1, 64),
    (5, 64),
    (3, 4, 65),
    (2, 3, 4, 100),
    (33, 1000),
    (7, 4096),
    (2, 8192),
    (2, 9000),
    (6, 63),
    (150, 1),
    (150, 3),
    (4, 90, 8),
    (80, 3, 32),
    (0, 70),
    (0, 3),
    (64,),
]


def near(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape and result.stride() == expected.stride()
    if result.numel() == 0 or result.dtype == minidynamo.bool:
        assert result.tolist() == expected.tolist()
        return
    assert result.isnan().tolist() == expected.isnan().tolist()
    result, expected = result.nan_to_num(0.0), expected.nan_to_num(0.0)
    tolerance = 1e-12 if result.dtype == f64 else 3e-5
    scale = 1 + expected.abs().max().item()
    assert (result - expected).abs().max().item() <= tolerance * scale


def check(function, *args):
    minidynamo._dynamo.reset()
    results = minidynamo.compile(function, fullgraph=True)(*args)
    expected = minidynamo.compile(function, backend="eager")(*args)
    pairs = zip(results, expected, strict=True) if isinstance(expected, tuple) else [(results, expected)]
    for result, other in pairs:
        near(result, other)


@pytest.fixture(autouse=True)
def seeded():
    minidynamo.manual_seed(11)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_rows(function, sizes, dtype):
    if sizes[0] == 0 and function in (scaled, soft, without_the_dim, two_inputs):
        pytest.skip("the largest of nothing")
    x = minidynamo.randn(*sizes, dtype=dtype)
    w, b = minidynamo.randn(sizes[-1], dtype=dtype), minidynamo.randn(sizes[-1], dtype=dtype)
    check(function, x, w, b)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_rows_that_are_not_contiguous(function):
    w, b = minidynamo.randn(128), minidynamo.randn(128)
    large = minidynamo.randn(256, 6, 128)
    for x in (large[::3], large.transpose(0, 1), large[:, 2], large[:, :, :1].expand(256, 6, 128)):
        check(function, x, w, b)
    check(function, minidynamo.randn(128, 9).t(), w, b)
    check(function, minidynamo.randn(5, 128), minidynamo.randn(5, 1), minidynamo.randn(1))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("rows", [2, 3, 4, 7, 300])
@minidynamo._dynamo.config.patch(check_captures=0)  # so that the results have exactly the bits of the kernels
def test_each_row_is_computed_independently(rows, function):
    if function is two_inputs:
        pytest.skip("takes the norm of all rows")
    x, w, b = minidynamo.randn(rows, 100), minidynamo.randn(100), minidynamo.randn(100)
    x[0, 3], x[1, 5], x[rows - 1] = float("inf"), float("nan"), -0.0
    compiled = minidynamo.compile(function)
    together = compiled(x, w, b)
    for row in range(min(rows, 20)):
        alone = compiled(x[row : row + 1].clone(), w, b)
        pairs = zip(together, alone, strict=True) if isinstance(alone, tuple) else [(together, alone)]
        for all_rows, one in pairs:
            same_bits(all_rows[row : row + 1], one)


def test_a_reduction_without_keepdim_is_broadcast_along_another_dim():
    for sizes in ((64, 64), (64, 64, 64), (64,)):
        x = minidynamo.randn(*sizes)
        check(lambda x: x - x.sum(-1), x)
        check(lambda x: (x.amax(-1) - x).exp() + x.mean(-1, keepdim=True), x)
        check(lambda x: (x.abs() + 1).log() * x.var(-1) - x.square().sum(-1), x)
        check(lambda x: x.sin() / (x.sum(-1, keepdim=True) + x.sum(-1)), x)


def random_program(seed):
    """Steps over a list of values that begins with the arguments: (function, positions of its operands)."""
    draw = random.Random(seed)
    unary = [minidynamo.sin, minidynamo.abs, minidynamo.square, lambda a: a * 0.5 - 1]
    binary = [minidynamo.add, minidynamo.mul, minidynamo.maximum, lambda a, b: a - b]
    folds = [lambda a: a.sum(-1, keepdim=True), lambda a: a.mean(-1, keepdim=True), lambda a: a.amax(-1, True)]
    folds += [lambda a: a.sum(-1), lambda a: a.var(-1), lambda a: a.amin(-1)]
    program = []
    for count in range(2, 12):
        functions = draw.choices([unary, binary, folds], [2, 4, 2])[0]
        operands = 2 if functions is binary else 1
        program.append((draw.choice(functions), [draw.randrange(max(0, count - 5), count) for _ in range(operands)]))
    return program


def check_drawn(seed):
    minidynamo.manual_seed(seed)
    program = random_program(seed)

    def run(x, y):
        values = [x, y]
        for function, operands in program:
            values.append(function(*[values[position] for position in operands]).clamp(-9, 9))
        return tuple(values[2:])

    check(run, minidynamo.randn(64, 64), minidynamo.randn(64, 1))
    for size in (3, 16, 40):
        check(run, minidynamo.randn(size, size), minidynamo.randn(size, 1))
        check(run, minidynamo.randn(size, size, size), minidynamo.randn(size))


@pytest.mark.parametrize("seed", range(150))
def test_random_programs(seed):
    check_drawn(seed)


FOLDS = {"sum": minidynamo.sum, "mean": minidynamo.mean, "amax": minidynamo.amax, "amin": minidynamo.amin}


def same_bits(result, expected):
    result, expected = result.numpy(), expected.numpy()
    assert result.dtype == expected.dtype and (numpy.isnan(result) == numpy.isnan(expected)).all()
    assert numpy.nan_to_num(result).tobytes() == numpy.nan_to_num(expected).tobytes()


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 31, 63])
@pytest.mark.parametrize("fold", FOLDS)
def test_short_rows_are_reduced_as_in_their_kernel(fold, length, dtype):
    x, y = minidynamo.randn(20, 70, length, dtype=dtype), minidynamo.randn(70, length, dtype=dtype)
    x[0], x[1, 3], x[2, 5, -1] = -0.0, float("nan"), float("inf")
    for function in (
        lambda x, y: FOLDS[fold](x * y, -1),
        lambda x, y: FOLDS[fold](x - y, -1, keepdim=True),
        lambda x, y: FOLDS[fold](x.square(), -1) * 2,
        lambda x, y: FOLDS[fold](x - FOLDS[fold](x, -1, keepdim=True), 2),
        lambda x, y: FOLDS[fold](x[:, None, 0] - y[None], -1),
    ):
        minidynamo._dynamo.reset()
        same_bits(minidynamo.compile(function)(x, y), minidynamo.compile(function, backend="eager")(x, y))


def test_distances_are_one_step():
    def distances(a, b):
        return (a[:, None, :] - b[None, :, :]).square().sum(-1)

    for sizes in ((300, 3), (100, 32)):
        a, b = minidynamo.randn(*sizes), minidynamo.randn(*sizes)
        assert len(steps(distances, a, b)) == 1
        same_bits(minidynamo.compile(distances)(a, b), distances(a, b))


def test_special_values():
    x = minidynamo.randn(6, 128)
    x[0, 3] = float("nan")
    x[1, 5] = float("inf")
    x[2] = -float("inf")
    x[3] = 7.5
    for function in (layer_norm, standardise, scaled, soft):
        results = minidynamo.compile(function)(x, x[3], x[3])
        expected = minidynamo.compile(function, backend="eager")(x, x[3], x[3])
        result, other = (results[0], expected[0]) if isinstance(results, tuple) else (results, expected)
        assert result.isnan().tolist() == other.isnan().tolist()
        assert result.nan_to_num(1, 2, 3)[4:].sub(other.nan_to_num(1, 2, 3)[4:]).abs().max().item() < 1e-5


def steps(function, *args):
    (region,) = minidynamo.explain(function)(*args).regions
    return [step.nodes for step in region.plan.steps]


def test_fused_steps():
    x, w = minidynamo.randn(20, 256), minidynamo.randn(256)
    for function in (layer_norm, rms_norm, standardise, soft, scaled):
        assert len(steps(function, x, w, w)) == 1, function
    # A lone reduction has a kernel that splits long rows; short and very long rows are not reduced in a loop.
    assert steps(lambda x: x.sum(-1), x) == [["sum_1"]]
    assert len(steps(lambda x: x - x.mean(-1, keepdim=True), minidynamo.randn(20, 63))) == 2
    assert len(steps(lambda x: x - x.mean(-1, keepdim=True), minidynamo.randn(20, 9000))) == 2
    assert len(steps(lambda x: x - x.mean(0, keepdim=True), x)) == 2


@pytest.mark.parametrize("dtype", [minidynamo.float32, minidynamo.float64], ids=str)
@pytest.mark.parametrize("first", [0, 1, 5])
def test_heads_of_rows_that_begin_inside_a_cache_line(dtype, first):
    """Rows of a slice of a field: most reads are aligned alike, some elements after the start of a cache line."""

    def neighbours(u):
        centre = u[1:-1, 1:-1]
        total = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * centre
        return centre + 0.1 * total, minidynamo.where(total > 0, centre, -centre), total > 0.5

    for width in (64, 128, 192):
        for last in (0, 1, 9, 30):
            field = minidynamo.randn(24, width, dtype=dtype)[:, first : width - last]
            minidynamo._dynamo.reset()
            results, expected = minidynamo.compile(neighbours, fullgraph=True)(field), neighbours(field)
            for result, other in zip(results, expected, strict=True):
                assert minidynamo.equal(result, other)
