"""One capture for many sizes: plans that take new sizes give what uncompiled calls give, in any order of sizes."""

import random

import pytest
from at_once import at_once

import minidynamo as md
from minidynamo import _C, _dynamo
from minidynamo._dynamo import config

F = md.nn.functional
MEGABYTE = 1 << 20


def drawn(*shape, dtype=md.float32):
    values = md.rand(*shape) * 4 - 2
    return values.to(dtype)


WEIGHT, BIAS, KERNEL, TABLE = drawn(24, 16), drawn(24), drawn(4, 3, 3, 3), drawn(40, 48)


def layer(x):
    return F.relu(F.linear(x, WEIGHT, BIAS))


def attention(q, k, v, mask):
    weights = md.softmax(q @ k.transpose(-1, -2) * 0.25 + mask, -1)
    return weights @ v


def decode(x, keys, values):
    keys, values = md.cat([keys, x], 1), md.cat([values, x * 2], 1)
    return F.scaled_dot_product_attention(x, keys, values), keys, values


def normalise(x):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (x.var(-1, keepdim=True) + 1e-5).sqrt()


def windows(x):
    return x[1:-1] * 2 - x[:-2] - x[2:]


def five_points(x):
    return x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]


def returned_twice(x):
    y = x + 1
    return y, y, y.t(), x[1:], y[:1]


def write_window(x):
    y = x * 2
    y[1:] = x[:-1]
    return y


# name: the function, and its arguments for a size.
PROGRAMS = {
    "pointwise": (lambda x: (x * 2 + 1).relu(), lambda n: (drawn(n),)),
    "one operation": (lambda x: x.exp(), lambda n: (drawn(n, 3),)),
    "row and column": (lambda x, row, column: x * row + column.tanh(), lambda n: (drawn(n, 7), drawn(7), drawn(n, 1))),
    "one element": (lambda x, y: x * y + 1, lambda n: (drawn(n, 2), drawn(1, 1))),
    "outer": (lambda x, y: x[:, None] * y[None, :], lambda n: (drawn(n), drawn(n))),
    "transposed": (lambda x: x.t() * 2 + 1, lambda n: (drawn(n, 5),)),
    "both orders": (lambda x: x.t() + x, lambda n: (drawn(n, n),)),
    "window": (windows, lambda n: (drawn(n),)),
    "stencil": (five_points, lambda n: (drawn(n, 9),)),
    "stencil of columns": (five_points, lambda n: (drawn(9, n),)),
    "steps": (lambda x: x[::2] * 3, lambda n: (drawn(n, 4),)),
    "size as a number": (lambda x: x / (x.shape[0] + 1) + x.shape[0], lambda n: (drawn(n, 3),)),
    "number": (lambda x, k: x * k + k, lambda n: (drawn(n), n)),
    "element at a place": (lambda x, k: x[k, 1] / x[1, 1] - x[k, 0] * x[k, 2], lambda n: (drawn(n + 1, 3), n)),
    "neighbours of a place": (lambda x, k: x[k] - x[k - 1] * 2 + x[0], lambda n: (drawn(n + 1, 40), n)),
    "windows up to a place": (lambda x, k: x[:k] * x[1 : k + 1] + x[0], lambda n: (drawn(n + 1, 3), n)),
    "doubles": (lambda x: (x * 2 + 1).sqrt(), lambda n: (drawn(n, 3, dtype=md.float64),)),
    "casts": (lambda x: (x * 3).to(md.int32) // 2, lambda n: (drawn(n, 3),)),
    "choice": (lambda x: md.where(x > 0, x, -x * 0.5), lambda n: (drawn(n),)),
    "sum": (lambda x: (x * 2).sum(), lambda n: (drawn(n, 3),)),
    "sums of long rows": (lambda x: (x * 2).sum(-1) + 1, lambda n: (drawn(n, 96),)),
    "sums of short rows": (lambda x: (x * x).sum(-1).sqrt(), lambda n: (drawn(n, 3),)),
    "rows of any length": (lambda x: (x * x).mean(-1, keepdim=True) + x, lambda n: (drawn(3, n),)),
    "normalised": (normalise, lambda n: (drawn(n, 80),)),
    "rows normalised": (normalise, lambda n: (drawn(2, n),)),
    "layer norm": (lambda x: F.layer_norm(x, (64,)), lambda n: (drawn(n, 64),)),
    "softmax": (lambda x: md.softmax(x * 2, -1), lambda n: (drawn(3, n),)),
    "cumulative": (lambda x: x.cumsum(0) + 1, lambda n: (drawn(n, 3),)),
    "joined": (lambda x, y: md.cat([x, y], 0) * 2, lambda n: (drawn(n, 3), drawn(2, 3))),
    "joined rows": (lambda x, y: md.cat([x + 1, y], 1), lambda n: (drawn(2, n), drawn(2, 3))),
    "reshaped": (lambda x: x.reshape(-1) + 1, lambda n: (drawn(n, 6),)),
    "heads": (lambda x: x.view(x.shape[0], 2, 3).transpose(0, 1) + 1, lambda n: (drawn(n, 6),)),
    "zeros": (lambda x: md.zeros(x.shape[0], 2) + x[:, :1], lambda n: (drawn(n, 3),)),
    "numbers in turn": (lambda x: md.arange(x.shape[0]) * x, lambda n: (drawn(n),)),
    "returned twice": (returned_twice, lambda n: (drawn(n, 3),)),
    "written window": (write_window, lambda n: (drawn(n, 3),)),
    "indexed": (lambda i: TABLE[i] * 2, lambda n: (md.arange(n) % 40,)),
    "embedding": (lambda i: F.embedding(i, TABLE).sum(-1), lambda n: (md.arange(n) % 40,)),
    "product": (lambda x: x @ x.t(), lambda n: (drawn(n, 20),)),
    "product, then more": (lambda x, y: (x @ y + 1).relu(), lambda n: (drawn(n, 40), drawn(40, n))),
    "vector": (lambda x, y: x @ y, lambda n: (drawn(n, 30), drawn(30))),
    "product of doubles": (lambda x: x @ x.t(), lambda n: (drawn(n, 20, dtype=md.float64),)),
    "product of halves": (lambda x: x @ x.t(), lambda n: (drawn(n, 20, dtype=md.bfloat16),)),
    "batch of products": (lambda x, y: x @ y, lambda n: (drawn(3, n, 17), drawn(3, 17, n))),
    "linear": (layer, lambda n: (drawn(n, 16),)),
    "linear of a batch": (layer, lambda n: (drawn(2, n, 16),)),
    "attention": (attention, lambda n: (drawn(2, 3, n, 8), drawn(2, 3, n, 8), drawn(2, 3, n, 8), drawn(n, n))),
    "decode": (decode, lambda n: (drawn(2, 1, 8), drawn(2, n, 8), drawn(2, n, 8))),
    "convolution": (lambda x: F.relu(F.conv2d(x, KERNEL, padding=1)), lambda n: (drawn(2, 3, n, 6),)),
}
SIZES = (5, 2, 3, 64, 63, 1, 65, 8, 0, 129, 4, 33, 100)


def append_to_both(keys, values, x):
    keys, values = md.cat([keys, x], 1), md.cat([values, x * 2], 1)
    return keys, values, F.scaled_dot_product_attention(x, keys[:, 1:], keys[:, 1:]) + values.sum(1, keepdim=True)


def write_scaled(x, y):
    z = x * 2
    z[1:] = x[:-1] * y.shape[0]
    return z, y[1:] - y[:-1]


# The same with two sizes.
PAIRS = {
    "apart": (lambda x, y: ((x * 2 + 1).relu(), layer(y)), lambda a, b: (drawn(a, 3), drawn(b, 16))),
    "product": (lambda x, y: (x @ y + 1).relu(), lambda a, b: (drawn(a, 6), drawn(6, b))),
    "attention": (
        attention,
        lambda a, b: (drawn(2, 3, a, 8), drawn(2, 3, b, 8), drawn(2, 3, b, 8), drawn(a, b)),
    ),
    "caches": (append_to_both, lambda a, b: (drawn(2, a, 8), drawn(2, b, 8), drawn(2, 1, 8))),
    "numbers": (lambda x, y: (x / y.shape[0] + x.shape[0], y + 1), lambda a, b: (drawn(a, 3), drawn(b))),
    "views": (lambda x, y: (x[1:] * 2 + y[-1], y[2:].exp() + x[-1, 0]), lambda a, b: (drawn(a, 3), drawn(b, 3))),
    "outer": (lambda x, y: (x[:, None] * y).sum(0), lambda a, b: (drawn(a), drawn(b))),
    "written window": (write_scaled, lambda a, b: (drawn(a, 3), drawn(b, 2))),
}
PAIRS_OF_SIZES = [
    (5, 7), (6, 7), (7, 9), (8, 9), (8, 10), (8, 11), (9, 12), (5, 12), (5, 7), (40, 7), (40, 70), (41, 71),
]  # fmt: skip


def outcome(function, arguments):
    """The results with their layouts, or the exception's type."""
    try:
        results = function(*arguments)
    except Exception as error:
        return type(error)
    return results if isinstance(results, tuple) else (results,)


def check(function, compiled, arguments):
    expected, got = outcome(function, arguments), outcome(compiled, arguments)
    if isinstance(expected, type) or isinstance(got, type):
        assert got is expected
        return
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride())
        tolerance = 3e-2 if ours.dtype == md.bfloat16 else 1e-4
        assert md.allclose(ours.to(md.float64), theirs.to(md.float64), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_in_any_order(name, seed):
    function, make = PROGRAMS[name]
    compiled = md.compile(function, dynamic=True)
    order = [*SIZES, *SIZES[::-1]]
    if seed:
        random.Random(seed).shuffle(order)
    for n in order:
        check(function, compiled, make(n))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_size_that_comes_back_often(name):
    function, make = PROGRAMS[name]
    compiled = md.compile(function, dynamic=True)
    for n in [4, 7] * 20 + [9, 4, 11]:
        check(function, compiled, make(n))


@pytest.mark.parametrize("name", PAIRS)
def test_sizes_that_change_one_at_a_time(name):
    function, make = PAIRS[name]
    compiled = md.compile(function, dynamic=True)
    for sizes in [*PAIRS_OF_SIZES, *PAIRS_OF_SIZES[::-1], (1, 7), (6, 1), (3, 4), *PAIRS_OF_SIZES[::2]]:
        check(function, compiled, make(*sizes))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pointwise", "sums of long rows", "linear", "attention"])
def test_large_sizes(name):
    function, make = PROGRAMS[name]
    compiled = md.compile(function, dynamic=True)
    for n in (3, 1500, 2, 1023, 70, 1025):
        check(function, compiled, make(n))


def check_drawn(seed):
    """Two of the programs in turn, with sizes in an order of their own, some of them often."""
    rng = random.Random(seed)
    programs = [PROGRAMS[name] for name in rng.sample(sorted(PROGRAMS), 2)]
    calls = [(function, md.compile(function, dynamic=True), make) for function, make in programs]
    sizes = [rng.choice((0, 1, 2, 3, rng.randrange(4, 90))) for _ in range(rng.randrange(2, 25))]
    for n in rng.choices(sizes, k=60):
        function, compiled, make = rng.choice(calls)
        check(function, compiled, make(n))


@pytest.mark.parametrize("seed", range(10))
def test_drawn_orders(seed):
    check_drawn(seed)


def test_threads_with_sizes_of_their_own():
    function, make = PROGRAMS["linear of a batch"]
    compiled = md.compile(function, dynamic=True)

    def work(seed):
        rng = random.Random(seed)
        for _ in range(150):
            check(function, compiled, make(rng.randrange(2, 60)))

    at_once(work, 4)


def test_products_of_new_sizes_make_no_primitive():
    compiled = [md.compile(PROGRAMS[name][0], dynamic=True) for name in ("product", "linear", "attention")]
    makers = [PROGRAMS[name][1] for name in ("product", "linear", "attention")]
    for n in (40, 50):
        for call, make in zip(compiled, makers, strict=True):
            call(*make(n))
    before = _C.cached_primitives_bytes()
    for n in range(60, 110):
        for call, make in zip(compiled, makers, strict=True):
            call(*make(n))
    assert _C.cached_primitives_bytes() == before


def test_all_plans_together_stay_within_their_bytes():
    _dynamo.reset()
    with config.patch(sized_plans_nbytes=MEGABYTE):
        for name in ("pointwise", "linear", "convolution", "softmax", "stencil"):
            function, make = PROGRAMS[name]
            compiled = md.compile(function, dynamic=True)
            for n in range(3, 40):
                check(function, compiled, make(n))
                assert _C.sized_plans_bytes() <= MEGABYTE // 2 or n == 3
                assert _C.cached_primitives_bytes() <= MEGABYTE // 2
        _dynamo.reset()
        assert _C.cached_primitives_bytes() == 0


def parts_of_rows(x, count):
    y = md.zeros(2, 400)
    for k in range(2):
        for i in range(count):
            part = md.tanh(x[k, i : i + 5] * 2 + 1)
            y[k, i : i + 5] = md.exp(part - part.mean()) + y[k, i : i + 5] * 0.5
    return y


# A place of zero is no size of zero.
def test_places_that_begin_at_zero_need_no_plan_each():
    x, sizes = drawn(2, 400), {}
    for count in (150, 390):
        _dynamo.reset()
        compiled = md.compile(parts_of_rows)
        for _ in range(2):
            assert md.allclose(compiled(x, count), parts_of_rows(x, count))
        sizes[count] = _C.sized_plans_bytes()
    assert 0 < sizes[390] < 1.1 * sizes[150]
