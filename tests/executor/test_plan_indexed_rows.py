"""Loops that gather rows by one index and scatter-add them by another: same results as the separate operations."""

import random

import numpy
import pytest

import minidynamo
import minidynamo.nn.functional as F

f32, f64, bf16, i64 = minidynamo.float32, minidynamo.float64, minidynamo.bfloat16, minidynamo.int64
ROWS, WIDTH, COUNT = 37, 65, 150


@pytest.fixture(autouse=True)
def seeded():
    minidynamo.manual_seed(5)


def steps(function, *args):
    """The nodes of each step."""
    minidynamo._dynamo.reset()
    (region,) = minidynamo.explain(function)(*args).regions
    return [step.nodes for step in region.plan.steps]


def is_one_step(function, *args):
    return any("index" in "".join(nodes) and len(nodes) > 1 for nodes in steps(function, *args))


def bits(tensor):
    if tensor.dtype == bf16:
        tensor = tensor.to(f32)
    values = tensor.numpy()
    return numpy.isnan(values).tolist(), numpy.nan_to_num(values).tobytes(), values.shape, tensor.stride()


def check(function, *args):
    minidynamo._dynamo.reset()
    kept = [arg.clone() for arg in args]
    expected = minidynamo.compile(function, backend="eager")(*args)
    compiled = minidynamo.compile(function, fullgraph=True)
    for _ in range(2):
        results = compiled(*args)
        pairs = zip(results, expected, strict=True) if isinstance(expected, tuple) else [(results, expected)]
        for result, other in pairs:
            assert result.dtype == other.dtype and bits(result) == bits(other)
    for arg, before in zip(args, kept, strict=True):
        assert bits(arg)[:3] == bits(before)[:3]


def values(*sizes, dtype=f32):
    if not dtype.is_floating_point:
        return minidynamo.randint(-9, 9, sizes).to(dtype)
    result = minidynamo.randn(*sizes).to(dtype)
    result[0], result[1, 1], result[2, -1] = -0.0, float("nan"), float("inf")
    return result


def places(*sizes, rows=ROWS):
    return minidynamo.randint(-rows, rows, sizes)


def scaled(x, w, s, t):
    return x[s] * w[:, None]


def differences(x, w, s, t):
    return (x[s] - x[t]).abs() + w[:, None]


def twice(x, w, s, t):
    rows = x[s]
    return rows * rows, rows + 1


def seen(x, w, s, t):
    rows = x[s]
    return rows * 2, rows


def normed(x, w, s, t):
    rows = x[s]
    return (rows - rows.mean(-1, keepdim=True)) / (rows.std(-1, keepdim=True) + 1)


def selected(x, w, s, t):
    return x.index_select(0, s % x.shape[0]) + w[:, None] * 2


def embedding_lookup(x, w, s, t):
    return F.embedding(s % x.shape[0], x).exp().clamp(max=5)


def messages(x, w, s, t):
    return minidynamo.zeros_like(x).index_add(0, t, x[s] * w[:, None])


def copied(x, w, s, t):
    return (x + 1).index_add(0, t, x[s])


def onto_itself(x, w, s, t):
    return x.index_add(0, t, x[s] * 2)


def sums_of_no_gather(x, w, s, t):
    return x.index_add(0, t, w[:, None] * (x[3] + 1))


def both_kept(x, w, s, t):
    terms = x[s] * w[:, None]
    return x.index_add(0, t, terms), terms


FUNCTIONS = [scaled, differences, twice, seen, selected, messages, copied, onto_itself, sums_of_no_gather, both_kept]


@pytest.mark.parametrize("dtype", [f32, f64, bf16, minidynamo.int32, i64, minidynamo.uint8], ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_rows(function, dtype):
    for width in (WIDTH, 16, 128, 1500):
        check(
            function,
            values(ROWS, width, dtype=dtype),
            values(COUNT, 2, dtype=dtype)[:, 0],
            places(COUNT),
            places(COUNT),
        )


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("function", [normed, embedding_lookup], ids=lambda function: function.__name__)
def test_rows_of_numbers(function, dtype):
    x, w = minidynamo.randn(ROWS, 96, dtype=dtype), minidynamo.randn(COUNT, dtype=dtype)
    s = places(COUNT)
    result = minidynamo.compile(function)(x, w, s, s)
    expected = function(x, w, s, s)
    for got, other in zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]:
        assert got.shape == other.shape and (got - other).abs().max().item() <= 1e-4


@pytest.mark.parametrize("width", [100, 128])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_threads(threads, width):
    before = minidynamo.get_num_threads()
    x, w, s, t = values(500, width), minidynamo.randn(9000), places(9000, rows=500), places(9000, rows=500)
    try:
        minidynamo.set_num_threads(threads)
        for function in (scaled, messages, onto_itself):
            check(function, x, w, s, t)
        check(lambda x, s: x[s].mean(1), x, places(300, 30, rows=500))
    finally:
        minidynamo.set_num_threads(before)


def test_fused_steps():
    x, w, s, t = values(ROWS, WIDTH), minidynamo.randn(COUNT), places(COUNT), places(COUNT)
    for function in (scaled, differences, normed, selected, messages, copied, onto_itself):
        assert is_one_step(function, x, w, s, t), function.__name__
    assert steps(lambda x, s: x[s].sum(1), x, places(8, 9)) == [["index", "sum_1"]]
    # Rows that are too short, or that are used elsewhere.
    assert steps(scaled, values(ROWS, 8), w, s, t) == [["index"], ["mul"]]
    assert steps(seen, x, w, s, t) == [["index"], ["mul"]]


REDUCTIONS = [
    lambda x, s: x[s].sum(1),
    lambda x, s: x[s].mean(1, keepdim=True),
    lambda x, s: x[s].mean(-2),
    lambda x, s: x[s].sum((0, 1)),
    lambda x, s: (x[s] * 2 + 1).sum(1),
    lambda x, s: x[s].sum(1, dtype=f64),
    lambda x, s: x[s].amax(1),
    lambda x, s: x[s].mean(),
    lambda x, s: x[s].sum(0),
    lambda x, s: x[s].sum(2),
]


@pytest.mark.parametrize("number", range(len(REDUCTIONS)))
@pytest.mark.parametrize("sizes", [(6, 9), (1, 40), (40, 1), (3, 200), (0, 3), (3, 0)], ids=str)
def test_sums_over_the_middle(number, sizes):
    for dtype in (f32, f64, bf16, minidynamo.int32):
        if number in (1, 2, 7) and not dtype.is_floating_point or number == 6 and 0 in sizes:
            continue
        x = values(ROWS, 80, dtype=dtype)
        check(REDUCTIONS[number], x, places(*sizes) if 0 not in sizes else minidynamo.zeros(*sizes, dtype=i64))


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("width", [32, 33, 64, 100, 128, 256, 264, 300, 384, 520, 1100, 2100])
def test_sums_of_all_widths(width, dtype):
    x, s = values(ROWS, width, dtype=dtype), places(40, 7)
    weights = values(40, 7, dtype=dtype)[:, :, None]
    check(lambda x, s: x[s].sum(1), x, s)
    check(lambda x, s: x[s].mean(1), x, s)
    check(lambda x, s, w: (x[s] * w).sum(1), x, s, weights)
    check(lambda x, s, w: (x[s] * w + x[s % 3]).sum((0, 1)), x, s[:9], weights[:9])
    check(lambda x, s: (x[s] * 2 + x[0]).sum(1), x, places(3, 64))


def test_more_dims_of_rows_and_of_indices():
    x, s = values(ROWS, 4, 50), places(12, 5)
    check(lambda x, s: x[s] * 2, x, s)
    check(lambda x, s: x[s].sum(1) + 1, x, s)
    check(lambda x, s: x[s].sum((0, 1)), x, s)
    check(lambda x, s: x[s].mean(2), x, s)
    check(lambda x, s, w: x[s] * w, x, s, minidynamo.randn(12, 5, 1, 1))
    check(lambda x, s, w: x[s] * w, x, s, minidynamo.randn(12, 5, 4, 1))
    check(lambda x, s, w: x[s] * w, x, s, minidynamo.randn(5, 4, 50))
    check(lambda x, s, w: x[s] + w, x, s, minidynamo.randn(50, 4).t())
    check(lambda x, s: minidynamo.zeros_like(x).index_add(0, s[:, 0], x[s[:, 1]]), x, s)


def test_single_elements_and_short_rows():
    for x in (minidynamo.tensor(-0.0), values(ROWS, 2)[:, 0]):
        check(lambda x: (x * 2).sum(-1) + x.mean(0), x)
    check(lambda x, s: x[s] * 2, values(ROWS, 2)[:, 0], places(9))
    check(lambda x, s: x[s] * 2, values(ROWS, 70), places(1))
    check(lambda x, s: x.index_add(0, s, x[s] * 2), values(ROWS, 70), places(1))


def test_other_layouts():
    w, s, t = minidynamo.randn(COUNT), places(COUNT), places(COUNT)
    large = values(ROWS * 2, 3, WIDTH)
    for x in (large[::2, 1], large[:ROWS, :, 40], large[:ROWS, 0].expand(ROWS, WIDTH), large[0, 0].expand(ROWS, WIDTH)):
        for function in (scaled, messages, onto_itself):
            check(function, x, w, s, t)
    check(messages, values(WIDTH, ROWS).t(), w, s, t)
    check(messages, large[::2, 0], w, places(COUNT * 2)[::2], places(COUNT, 3)[:, 1])
    check(messages, large[::2, 0], w, s[:1].expand(COUNT), t)
    check(lambda x, w, s, t: x[s] * w[:, None] + x[:1], large[::2, 0], w, s, t)


def test_an_index_that_is_part_of_the_values():
    x = minidynamo.randint(0, ROWS, (ROWS, 70))
    check(lambda x: x.index_add(0, x[:, 3], x[x[:, 5]] * 2), x)
    check(lambda x: (x * 1).index_add(0, x[:, 3].contiguous(), x), x)

    def over_itself(x):
        y = x * 1
        index = y.reshape(-1)[:ROWS]
        return y.index_add(0, index, y[index] + 1)

    check(over_itself, x)
    check(lambda x: (lambda y: y[y[:, 0].contiguous()] + y)(x + 0), minidynamo.randint(0, 20, (20, 70)))


def test_the_destination_is_preserved_if_it_is_used_again():
    x, w, s, t = values(ROWS, WIDTH), minidynamo.randn(COUNT), places(COUNT), places(COUNT)

    def reused(x, w, s, t):
        base = x * 2
        return base.index_add(0, t, x[s] * w[:, None]), base + 1

    def dies(x, w, s, t):
        return (x * 2).index_add(0, t, x[s] * w[:, None]) + 1

    check(reused, x, w, s, t)
    check(dies, x, w, s, t)


def test_rows_that_are_added_to_themselves():
    x, s = values(ROWS, WIDTH), places(ROWS)

    def both(x, s):
        rows = x[s] * 2
        return rows.index_add(0, s, rows)

    def one_of_two(x, s):
        rows = x[s] * 2
        other = rows + 1
        return rows.index_add(0, s, other)

    def plain(x, s):
        rows = x * 2
        return rows.index_add(0, s, rows + 1), x[s].index_add(0, s, x[s])

    for function in (both, one_of_two, plain):
        check(function, x, s)
    check(lambda x, s: (lambda rows: rows.index_add(0, s, rows))(x[s]), x, s)
    check(lambda x, s: x[s].index_add(0, x[:, 3], x[s] * 2), minidynamo.randint(0, ROWS, (ROWS, 70)), s)


def test_other_factors():
    x, s, t = values(ROWS, WIDTH), places(COUNT), places(COUNT)
    check(lambda x, s, t: x.index_add(0, t, x[s] * 2, alpha=3), x, s, t)
    check(lambda x, s, t: x.index_add(1, t % WIDTH, (x[s] * 2).t()[:, :COUNT].reshape(WIDTH, COUNT)[:ROWS]), x, s, t)
    check(
        lambda x, s, t: x.t().index_add(0, t, x.t()[s] * 2),
        values(WIDTH, 64).t(),
        places(COUNT, rows=64),
        places(COUNT, rows=64),
    )


@pytest.mark.parametrize("wrong", [ROWS, -ROWS - 1, 2**62, -(2**63)])
@pytest.mark.parametrize("function", [scaled, differences, messages, onto_itself, copied], ids=lambda f: f.__name__)
def test_indices_out_of_range_raise_as_the_operation_does(function, wrong):
    x, w = values(ROWS, WIDTH), minidynamo.randn(COUNT)
    compiled = minidynamo.compile(function)
    for bad in (0, 1):
        indices = [places(COUNT), places(COUNT)]
        indices[bad][COUNT - 1] = wrong
        if function in (scaled,) and bad == 1:
            continue
        with pytest.raises(IndexError) as expected:
            function(x, w, *indices)
        with pytest.raises(IndexError) as raised:
            compiled(x, w, *indices)
        assert str(raised.value).splitlines()[0] == str(expected.value).splitlines()[0]
    check(function, x, w, places(COUNT), places(COUNT))


def test_negative_indices_are_wrong_for_lookups():
    x = minidynamo.randn(ROWS, 64)
    for function in (lambda x, s: x.index_select(0, s) + 1, lambda x, s: F.embedding(s, x) + 1):
        index = minidynamo.tensor([3, -1, 2])
        with pytest.raises(IndexError) as expected:
            function(x, index)
        with pytest.raises(IndexError) as raised:
            minidynamo.compile(function)(x, index)
        assert str(raised.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_without_machine_code():
    config = minidynamo._dynamo.config
    before = config.machine_code
    try:
        config.machine_code = False
        for function in FUNCTIONS:
            check(function, values(ROWS, WIDTH), minidynamo.randn(COUNT), places(COUNT), places(COUNT))
    finally:
        config.machine_code = before


def random_program(seed):
    """Steps over a list of values: (function, positions of its operands). All values have the sizes of the first two."""
    draw = random.Random(seed)
    steps = []
    for count in range(2, 14):
        unary = [lambda a: a * 2, lambda a: a + 1, minidynamo.abs, lambda a: a - a.amax(-1, keepdim=True)]
        binary = [minidynamo.add, minidynamo.sub, minidynamo.maximum]
        at = draw.randrange(3)
        rows = [
            lambda a, s, at=at: a[s[at]],
            lambda a, s, at=at: a.index_select(0, s[at]),
            lambda a, s, at=at: a[s[3]].sum(1),
            lambda a, s, at=at: a[(a[:, 0] % a.shape[0]).to(i64)],
        ]
        sums = [lambda a, b, s, at=at: a.index_add(0, s[at], b)]
        kind, functions = draw.choices([(1, unary), (2, binary), (1, rows), (2, sums)], [2, 2, 4, 3])[0]
        operands = [draw.randrange(max(0, count - 4), count) for _ in range(kind)]
        steps.append((draw.choice(functions), operands, functions is rows or functions is sums))
    return steps, [position for position in range(2, 14) if draw.random() < 0.3] + [13]


def check_drawn(seed):
    minidynamo.manual_seed(seed)
    program, seen_outside = random_program(seed)
    rows, width = 40, 64
    indices = [minidynamo.randint(0, rows, (rows,)) for _ in range(3)] + [minidynamo.randint(0, rows, (rows, 3))]

    def run(x, y, *indices):
        values = [x, y]
        for function, operands, takes_indices in program:
            result = function(*[values[position] for position in operands], *([indices] if takes_indices else []))
            values.append(result.clamp(-99, 99))
        return tuple(values[position] for position in seen_outside)

    for dtype in (f32, i64):
        x, y = (minidynamo.randint(0, 9, (rows, width)).to(dtype) for _ in range(2))
        check(run, x, y, *indices)


@pytest.mark.parametrize("seed", range(200))
def test_random_programs(seed):
    check_drawn(seed)
