"""Captured once, right for every size: against eager Python."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidynamo
from minidynamo.nn import functional as F


def make(*shape):
    count = 1
    for size in shape:
        count *= size
    return minidynamo.arange(count).reshape(shape).float() * 0.5 - 3 if count else minidynamo.zeros(*shape)


def views(x):
    n, m = x.shape
    flat = x.reshape(n * m)
    return flat.view(m, n).t().contiguous(), x.unsqueeze(1).expand(n, 2, m), x.transpose(0, 1).flatten(), x.T + 1


def products(x):
    weight = minidynamo.ones(x.shape[1], 4)
    y = x @ weight
    return y, x @ x.t(), F.linear(x, weight.t()), (y.unsqueeze(0) @ y.t().unsqueeze(0)).squeeze(0)


def joins(x):
    return minidynamo.cat([x, x * 2], 1), minidynamo.cat([x, minidynamo.zeros(2, x.shape[1])]), minidynamo.stack([x, x])


def reductions(x):
    return x.sum(0), x.mean(1), x.sum(), x.softmax(-1), (x - x.sum(-1, keepdim=True)), x.amax(1), x.var(1)


def slices(x):
    n = x.shape[0]
    return x[: n // 2], x[n // 2 :], x[:, :2], x[1:-1], x[::2], x[-1], x[:, 0] * n, x[n - 1 :]


def writes(x):
    y = x.clone()
    y[: x.shape[0] // 2] += 1
    y[:, 0] = 5
    y.mul_(2)
    y[-1].add_(x[0])
    z = y.view(-1)
    z[: y.numel() // 2] = 0
    return y, z


def write_to_the_argument(x):
    x.add_(1)
    x[0] = x.shape[1]
    return x * 2


def numbers(x):
    n, m = x.shape
    return (
        n * m,
        n // 2,
        n % 3,
        -n,
        max(n, m),
        min(n, 4),
        (n, m),
        [n + 1],
        x.shape,
        x.numel(),
        f"{n}x{m}",
        x.shape[1:],
        n > m,
    )


def shapes(x):
    shape = x.shape
    return (
        [shape * 2, shape + (1,), (1,) + shape, shape[-1:], tuple(shape), list(shape), len(shape), x.size(), x.size(-1)],
        [f"{shape} {shape[0]}", str(shape), repr(shape), "%s" % (shape,), shape.numel(), shape.count(3), hash(shape)],
        [shape == x.shape, shape == (3, 4), shape != [1], 4 in shape, isinstance(shape, tuple), type(shape).__name__],
        [sorted(shape), sum(shape), list(reversed(shape)), max(shape), min(shape), {shape: 1}, {shape[0]: 2}],
        [next(iter({shape: 1})) is shape, *{shape: 1}],
        [n * 2 for n in shape], {"a": shape}, (lambda *a: a)(*shape), divmod(shape[0], 3), shape[0] ** 2, shape[0] / 2,
        bool(shape[0]), not shape[0], shape[0] and 5, shape[0] == shape[1], shape[0] is None, abs(-shape[0]), shape[0] & 3,
        x.stride(), x.nbytes, x.ndim, x.element_size(), float(shape[0]), int(shape[1]), round(shape[0]),
        shape < (5, 5), [*range(shape[0])], "a" * shape[0], [1] * shape[1], shape[0].bit_length(), x.new_zeros(shape).shape,
    )  # fmt: skip


def created(x):
    n, m = x.shape
    grid = minidynamo.arange(n).unsqueeze(1) * m + minidynamo.arange(0, m)
    return (
        grid,
        minidynamo.zeros(n, m + 1),
        minidynamo.full((m,), 2.0),
        x.new_ones(n),
        minidynamo.eye(n),
        minidynamo.tril(x),
    )


def attention(x):
    n, m = x.shape
    q = (x + 1).view(n, 1, m).transpose(0, 1)
    k = (x * 2).view(n, 1, m).transpose(0, 1)
    scores = q @ k.transpose(-2, -1) / m**0.5
    mask = minidynamo.tril(minidynamo.ones(n, n)) == 0
    return (scores.masked_fill(mask, float("-inf")).softmax(-1) @ k).transpose(0, 1).reshape(n, m)


def pointwise(x):
    y = x * 2 + x.relu()
    return y + y.t().t(), minidynamo.where(x > 0, x, x * 0.1), (x.t() + 1).t(), x.to(minidynamo.float64) + x


FUNCTIONS = [
    views,
    products,
    joins,
    reductions,
    slices,
    writes,
    write_to_the_argument,
    numbers,
    shapes,
    created,
    attention,
    pointwise,
]
# The compiled function lives through all examples of one test: most sizes meet a capture from earlier ones.
MODES = [None, True]


def outcome(function, shape):
    """Results and the state of the argument afterwards, or the exception."""
    x = make(*shape)
    try:
        return plain(function(x)), plain(x)
    except Exception as error:
        return type(error), str(error)


def plain(value):
    if isinstance(value, minidynamo.Tensor):
        return tuple(value.shape), value.stride() if value.numel() > 0 else None, str(value.dtype), repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value), [plain(item) for item in value]
    return type(value), repr(value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_as_in_eager_python(function, mode):
    compiled = minidynamo.compile(function, dynamic=mode, recompile_limit=64)
    size = st.integers(0, 9)

    @settings(max_examples=100, deadline=None, database=None)
    @given(size, size)
    def check(n, m):
        assert outcome(compiled, (n, m)) == outcome(function, (n, m))

    check()


def check_drawn(number):
    """One function over drawn sizes, compiled for other sizes before."""
    draw = random.Random(number)
    function = draw.choice(FUNCTIONS)
    compiled = minidynamo.compile(function, dynamic=draw.choice(MODES), recompile_limit=64)
    for _ in range(8):
        shape = draw.randint(0, 9), draw.randint(0, 9)
        assert outcome(compiled, shape) == outcome(function, shape), (function.__name__, shape)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_drawn_calls(start):
    for number in range(start, start + 20):
        minidynamo._dynamo.reset()
        check_drawn(number)


@pytest.mark.parametrize("mode", MODES)
def test_numbers_together_with_sizes(mode):
    def function(x, n):
        head = x[:n] * n
        return head, minidynamo.zeros(n) if n >= 0 else n, x.shape[0] - n

    compiled = minidynamo.compile(function, dynamic=mode, recompile_limit=64)

    @settings(max_examples=100, deadline=None, database=None)
    @given(st.integers(0, 9), st.integers(-4, 12))
    def check(size, n):
        assert plain(compiled(make(size), n)) == plain(function(make(size), n))

    check()


@pytest.mark.parametrize("mode", MODES)
def test_two_tensors(mode):
    def function(x, y):
        return x + y, x * y.sum(), minidynamo.cat([x, y], 0)

    compiled = minidynamo.compile(function, dynamic=mode, recompile_limit=64)
    size = st.integers(0, 5)

    @settings(max_examples=100, deadline=None, database=None)
    @given(size, size, size, size)
    def check(a, b, c, d):
        def run(f):
            try:
                return plain(f(make(a, b), make(c, d)))
            except Exception as error:
                return type(error), str(error)

        assert run(compiled) == run(function)

    check()


@pytest.mark.parametrize("fact", [lambda x: x.is_contiguous(), lambda x: x.stride(), lambda x: x.t().is_contiguous()])
def test_one_fact(fact):
    compiled = minidynamo.compile(lambda x: (fact(x), x + 1), dynamic=True, recompile_limit=64)
    for shape in [(2, 3), (3, 2), (0, 3), (3, 0), (1, 3), (3, 1), (1, 1), (0, 0), (4, 5)]:
        for x in (make(*shape), make(*shape).t(), make(*shape)[:, ::2]):
            assert compiled(x)[0] == fact(x), (shape, x.stride())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "arrange", [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[1:], lambda x: x.expand(3, -1, -1)]
)
def test_other_layouts(arrange, mode):
    def function(x):
        y = x + 1
        return y, y.reshape(-1), x.transpose(0, 1) * 2, x.is_contiguous(), x.stride(), x.contiguous().sum(0)

    compiled = minidynamo.compile(function, dynamic=mode, recompile_limit=64)

    @settings(max_examples=100, deadline=None, database=None)
    @given(st.integers(1, 6), st.integers(0, 6))
    def check(n, m):
        assert plain(compiled(arrange(make(n, m)))) == plain(function(arrange(make(n, m))))

    check()


def test_a_custom_operator_returns_tensors_of_the_sizes_it_sees():
    @minidynamo.library.custom_op("symbolic_sizes::copied", mutates_args=())
    def copied(x: minidynamo.Tensor) -> minidynamo.Tensor:
        return x.clone()

    @copied.register_fake
    def _(x):
        return minidynamo.empty_like(x)

    compiled = minidynamo.compile(lambda x: copied(x) + 1, dynamic=True)
    for size in (3, 5, 1, 0):
        assert compiled(minidynamo.ones(size)).tolist() == [2.0] * size
