"""Machine code of fused loops against the loops over tiles: bit-identical results."""

import random

import numpy
import pytest

import minidynamo

f32, f64, i32, i64 = minidynamo.float32, minidynamo.float64, minidynamo.int32, minidynamo.int64
config = minidynamo._dynamo.config


@pytest.fixture(autouse=True)
def restored():
    before = config.machine_code
    minidynamo.manual_seed(5)
    yield
    config.machine_code = before
    minidynamo._dynamo.reset()


def run(function, args, machine_code):
    config.machine_code = machine_code
    minidynamo._dynamo.reset()
    results = minidynamo.compile(function, fullgraph=True)(*args)
    return results if isinstance(results, tuple) else (results,)


def assert_same_bits(result, other):
    """NaNs may differ in sign and payload."""
    if result.dtype.kind == "f":
        numbers = ~numpy.isnan(result)
        assert (numpy.isnan(other) == ~numbers).all()
        result, other = result[numbers], other[numbers]
    assert result.tobytes() == other.tobytes()


def check(function, *args):
    for result, other in zip(run(function, args, True), run(function, args, False), strict=True):
        assert result.dtype == other.dtype and result.stride() == other.stride()
        assert_same_bits(result.numpy(), other.numpy())


def unusual(*sizes, dtype):
    x = minidynamo.randn(*sizes, dtype=dtype)
    flat = x.reshape(-1)
    for at, value in enumerate([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-42, 2.5, -0.5]):
        if at < flat.numel():
            flat[at] = value
    return x


FLOATS = [
    minidynamo.neg,
    minidynamo.abs,
    minidynamo.square,
    minidynamo.rsqrt,
    minidynamo.floor,
    minidynamo.round,
    minidynamo.sign,
    minidynamo.frac,
    minidynamo.exp,
    lambda a: a * 0.5 - 1,
    lambda a: 2 / a,
    lambda a: a.clamp(-1, 2),
    lambda a: minidynamo.nn.functional.leaky_relu(a, 0.1),
]
PAIRS = [
    minidynamo.add,
    minidynamo.sub,
    minidynamo.mul,
    minidynamo.div,
    minidynamo.maximum,
    minidynamo.fmin,
    lambda a, b: minidynamo.add(a, b, alpha=0.3),
    lambda a, b: minidynamo.where(a > b, a, b),
    lambda a, b: minidynamo.where((a <= 0) | minidynamo.isfinite(b), b, 1.5),
    lambda a, b: (a != b).to(a.dtype) - (a < b).to(a.dtype),
    lambda a, b: minidynamo.lerp(a, b, 0.25),
]
WHOLE = [minidynamo.neg, minidynamo.abs, minidynamo.bitwise_not, lambda a: a * 3 + 1, lambda a: a.clamp(-5, 5)]
WHOLE_PAIRS = [
    minidynamo.add,
    minidynamo.sub,
    minidynamo.mul,
    minidynamo.bitwise_xor,
    minidynamo.maximum,
    lambda a, b: minidynamo.where(a >= b, a - b, b),
    lambda a, b: (a == b).to(a.dtype) + a,
]


def random_program(seed, one, two):
    """(function, positions of its operands) over a list of values that begins with the arguments; and which are
    returned."""
    draw = random.Random(seed)
    program = []
    for count in range(3, draw.choice([5, 12, 40])):
        functions, operands = draw.choice([(one, 1), (two, 2), (two, 2)])
        program.append((draw.choice(functions), [draw.randrange(max(0, count - 8), count) for _ in range(operands)]))
    return program, sorted(draw.sample(range(len(program)), min(3, len(program))))


def as_function(program, returned):
    def function(*args):
        values = list(args)
        for step, operands in program:
            values.append(step(*[values[position] for position in operands]))
        return tuple(values[len(args) + at] for at in returned) + (values[-1],)

    return function


def check_floats(seed):
    function = as_function(*random_program(seed, FLOATS, PAIRS))
    for dtype in (f32, f64):
        check(function, *(unusual(37, dtype=dtype) for _ in range(3)))
        check(function, unusual(9, 130, dtype=dtype), unusual(130, dtype=dtype), unusual(9, 1, dtype=dtype))
        large = unusual(150, 140, dtype=dtype)
        check(function, large[1:-1, 1:-1], large[2:, :-2], large[:-2, 2:])
        check(function, large.t()[:140, :99], large[:140, ::2][:, :1], unusual(1, dtype=dtype))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    check_floats(seed)


def check_integers(seed):
    function = as_function(*random_program(seed, WHOLE, WHOLE_PAIRS))
    for dtype in (i32, i64):
        check(function, *(minidynamo.randint(-50, 50, (7, 75), dtype=dtype) for _ in range(3)))


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_of_integers(seed):
    check_integers(seed)


def check_drawn(seed):
    minidynamo.manual_seed(seed)
    before = config.machine_code
    try:
        (check_floats if seed % 3 else check_integers)(seed)
    finally:
        config.machine_code = before


def test_stencils():
    def jacobi(u):
        return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])

    def heat(u):
        inner = slice(1, -1)
        around = [u[:-2, inner, inner], u[2:, inner, inner], u[inner, :-2, inner], u[inner, 2:, inner]]
        around += [u[inner, inner, :-2], u[inner, inner, 2:]]
        return u[inner, inner, inner] + 0.1 * (sum(around) - 6 * u[inner, inner, inner])

    for sizes in ((20, 90), (90, 20), (3, 3), (130, 300)):
        check(jacobi, unusual(*sizes, dtype=f32))
    check(heat, unusual(20, 30, 80, dtype=f64))


def diffusion(u, v):
    """Many neighbours from two buffers, two results."""

    def around(x):
        return x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]

    a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
    return a + 2 * around(u) - a * b * b, b + around(v) + a * b * b - 3 * b


@pytest.mark.parametrize("dtype", [f32, f64, i32, i64], ids=str)
@pytest.mark.parametrize("width", [66, 67, 80, 127, 250, 258, 513, 514, 1026, 1400])
def test_neighbours(width, dtype):
    def some():
        return (
            unusual(21, width, dtype=dtype)
            if dtype.is_floating_point
            else minidynamo.randint(-9, 9, (21, width)).to(dtype)
        )

    u, v = some(), some()
    check(diffusion, u, v)
    check(diffusion, u, u)
    # Other offsets from the start of a cache line, other row strides, one buffer for both.
    both = minidynamo.cat([u, v, u, v]).reshape(84, width)
    check(diffusion, both[3:40, 1:], both[40:77, 1:])
    check(diffusion, both[3:63:3, :-1], both[4:64:3, 1:])
    check(lambda x: diffusion(x[:21], x[1:22]) + (x[1:] > x[:-1], x[:, 1:] * x[:, :-1] + x[:, :1]), both)
    check(lambda x: diffusion(x.t()[:40], x.t()[1:41]), both)


def test_neighbours_in_memory_of_the_graph_itself():
    x = unusual(40, 400, dtype=f32)
    check(lambda x: diffusion(x * 2 + 1, (x * 2 + 1).abs()), x)
    check(lambda x: (lambda y: y[1:] * 2 - y[:-1] + y[1:] * y[:-1])((x + 1) * 2), x)
    check(lambda x: (lambda y: (y[:, :200] + y[:, 200:]) * y[:, :200] - 1)(x @ x.t() @ x), x.nan_to_num(0.0, 1.0, 1.0))


def test_results_over_their_operands():
    def step(x, v):
        for _ in range(4):
            v = v * 0.9 - x * 0.1
            x = (x + v).clamp(-3, 3)
        return x, v

    check(step, unusual(1000, dtype=f32), unusual(1000, dtype=f32))
    x, v = unusual(5000, dtype=f64), unusual(5000, dtype=f64)
    check(lambda x, v: step(*step(x.square(), v)), x, v)


def drawn(rng, dtype, count, kind):
    """Floats of every bit pattern, near 1, zeros of both signs, of very different magnitudes, next to powers of two."""
    whole = {"f": numpy.uint32, "d": numpy.uint64}[dtype.char]
    if kind == "bits":
        return rng.integers(0, numpy.iinfo(whole).max, count, dtype=whole, endpoint=True).view(dtype)
    values = rng.standard_normal(count)
    if kind == "zeros":
        values[rng.random(count) < 0.3] *= 0.0
    if kind == "magnitudes":
        most = 70 if dtype.char == "f" else 600
        values = numpy.ldexp(values, rng.integers(-most, most, count))
    if kind == "powers":
        powers = numpy.ldexp(1.0, rng.integers(-3, 4, count)).astype(dtype).view(whole)
        return (powers + rng.integers(-4, 5, count).astype(whole)).view(dtype)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("kind", ["bits", "normal", "zeros", "magnitudes", "powers"])
def test_quotients_by_one_number_are_rounded_once(dtype, kind):
    """The code multiplies where the result is certain to be exact, and divides elsewhere."""
    dtype = numpy.dtype(dtype)
    rng = numpy.random.default_rng(11)
    alone = minidynamo.compile(lambda x, d: x / d, fullgraph=True)
    chain = minidynamo.compile(lambda x, d, e: (x - 0.5) / d / e + 1, fullgraph=True)
    by_rows = minidynamo.compile(lambda x, d: x / d[:, None], fullgraph=True)

    with numpy.errstate(all="ignore"):
        for divisors_kind in ["bits", "normal", "zeros", "magnitudes", "powers"]:
            x, divisors = drawn(rng, dtype, 2003, kind), drawn(rng, dtype, 20, divisors_kind)
            for d, e in zip(divisors, divisors[::-1], strict=True):
                t, u, v = (minidynamo.from_numpy(numpy.atleast_1d(part).copy()) for part in (x, d, e))
                assert_same_bits(alone(t, u).numpy(), x / d)
                assert_same_bits(chain(t, u, v).numpy(), (x - dtype.type(0.5)) / d / e + dtype.type(1))
            rows = x[:2000].reshape(20, 100).copy()
            quotients = by_rows(minidynamo.from_numpy(rows), minidynamo.from_numpy(divisors))
            assert_same_bits(quotients.numpy(), rows / divisors[:, None])


def test_many_divisors():
    """More than there are registers for."""

    def function(x, *divisors):
        for divisor in divisors:
            x = x / divisor
        return x

    check(function, unusual(300, dtype=f32), *(minidynamo.tensor([0.5 + n]) for n in range(14)))


def test_more_values_than_registers():
    def function(*args):
        products = [a * b for a, b in zip(args, args[1:])]
        total = products[0]
        for product in products[1:]:
            total = total - product
        return [total + product for product in products][-5:][0], *products[:4]

    check(function, *(unusual(70, dtype=f32) for _ in range(45)))


def test_existing_code_is_kept():
    """Unaligned rows, after the flag has been turned off: the plan keeps its code."""
    minidynamo.set_num_threads(1)
    try:
        config.machine_code = True
        for offset in range(1, 16):
            function = lambda x: x[:, offset : offset + 980] * 2 + x[:, offset + 16 : offset + 996]  # noqa: B023, E731
            minidynamo._dynamo.reset()
            compiled = minidynamo.compile(function, fullgraph=True)
            for machine_code in (True, True, False):
                config.machine_code = machine_code
                x = minidynamo.randn(32, 1024)
                assert_same_bits(compiled(x).numpy(), function(x).numpy())
            config.machine_code = True
    finally:
        minidynamo.set_num_threads(2)


def test_the_log_shows_what_is_machine_code(caplog):
    def function(x):
        return (x * 2 + 1).abs()

    def log_of(machine_code):
        caplog.clear()
        run(function, (minidynamo.randn(100),), machine_code)
        return caplog.text

    minidynamo._logging.set_logs(kernels=True)
    try:
        text = log_of(True)
        assert "one pass" in text
        has_vectors = "(avx2)" in text or "(avx512)" in text
        assert ("machine code of 3 operations" in text) == has_vectors
        assert "one pass" in log_of(False) and "machine code" not in caplog.text
    finally:
        minidynamo._logging.set_logs()
