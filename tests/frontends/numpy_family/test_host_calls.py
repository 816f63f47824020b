"""NumPy's own functions called inside of regions: results, exceptions, warnings and the state of generators are NumPy's."""

import functools
import inspect
import signal
import threading
import traceback
import warnings

import numpy as np
import numpy.fft
import numpy.random
import pytest
from compared import copied, difference, is_captured, mismatch, outcome

import minidynamo

M = np.array([[4.0, 1.0, 0.5, 0.2], [1.0, 5.0, 0.3, 0.1], [0.5, 0.3, 6.0, 0.4], [0.2, 0.1, 0.4, 7.0]])
X = np.linspace(0.1, 0.9, 12).reshape(3, 4)
V = np.array([0.7, 0.2, 0.9, 0.1, 0.5, 0.3])
K = np.array([3, 1, 2, 0, 5, 4])

# Of matrices, in the order of C and of Fortran, of both widths of floats.
OF_MATRICES = {
    "inv": np.linalg.inv,
    "pinv": np.linalg.pinv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "eigh": np.linalg.eigh,
    "eigvalsh": np.linalg.eigvalsh,
    "eigvalsh upper": lambda m: np.linalg.eigvalsh(m, UPLO="U"),
    "svd": np.linalg.svd,
    "svd values": lambda m: np.linalg.svd(m, compute_uv=False),
    "svd reduced": lambda m: np.linalg.svd(m[:3], full_matrices=False),
    "qr": np.linalg.qr,
    "qr complete": lambda m: np.linalg.qr(m[:, :2], mode="complete"),
    "matrix_rank": np.linalg.matrix_rank,
    "matrix_power": lambda m: np.linalg.matrix_power(m, 3),
    "cond": np.linalg.cond,
    "solve": lambda m: np.linalg.solve(m, m[0]),
    "solve many": lambda m: np.linalg.solve(m, m[:, :2]),
    "lstsq": lambda m: np.linalg.lstsq(m[:, :2], m[:, 3], rcond=None)[0],
    "lstsq whole": lambda m: np.linalg.lstsq(m[:, :2], m[:, 3], rcond=None),
    "norm": lambda m: np.linalg.norm(m, "nuc"),
    "multi_dot": lambda m: np.linalg.multi_dot([m, m, m[:, :2]]),
    "batch": lambda m: np.linalg.inv(np.stack([m, m * 2])),
    "of a result": lambda m: np.linalg.inv(m * 2) @ m + 1,
    "a result of which more is computed": lambda m: np.linalg.inv(m).T * 2 + 1,
    "two": lambda m: np.linalg.inv(m) + np.linalg.cholesky(m),
    "written": lambda m: _written(m),
}
# Of vectors of floats.
OF_VECTORS = {
    "argsort": lambda v: np.argsort(v),
    "argsort method": lambda v: v.argsort(),
    "argpartition": lambda v: np.argpartition(v, 2),
    "partition": lambda v: np.partition(v, 2),
    "lexsort": lambda v: np.lexsort((v, v[::-1])),
    "polyfit": lambda v: np.polyfit(v, v * 2, 1),
    "polyadd": lambda v: np.polyadd(v, v[:2]),
    "polymul": lambda v: np.polymul(v, v[:2]),
    "polyder": lambda v: np.polyder(v),
    "polyint": lambda v: np.polyint(v),
    "vander": lambda v: np.vander(v, 3),
    "unwrap": lambda v: np.unwrap(v),
    "ediff1d": lambda v: np.ediff1d(v),
    "nanprod": lambda v: np.nanprod(v),
    "nancumsum": lambda v: np.nancumsum(v),
    "histogram2d": lambda v: np.histogram2d(v, v * 2, bins=3),
    "nanmedian": lambda v: np.nanmedian(v),
    "cbrt": lambda v: np.cbrt(v),
    "cbrt of more": lambda v: np.cbrt(v * 2) + 1,
    "nextafter": lambda v: np.nextafter(v, v + 1),
    "spacing": lambda v: np.spacing(v),
    "ldexp": lambda v: np.ldexp(v, 3),
    "frexp": lambda v: np.frexp(v),
    "modf": lambda v: np.modf(v),
    "float_power": lambda v: np.float_power(v, 2),
    "heaviside": lambda v: np.heaviside(v, 0.5),
    "hanning": lambda v: v * np.hanning(6),
    "fftshift": lambda v: np.fft.fftshift(v),
    "fftfreq": lambda v: v * np.fft.fftfreq(6),
    "reversed": lambda v: np.cbrt(v[::-1]),
    "every other": lambda v: np.cbrt(v[::2]) * 2,
    "strided": lambda v: np.partition(v.reshape(2, 3).T, 1, axis=0),
    "scalar": lambda v: np.cbrt(v.sum()),
    "no array": lambda v: v + np.bartlett(6),
}


def _written(m):
    m += 1
    inverse = np.linalg.inv(m)
    m *= 2
    inverse[0] = 5
    return inverse


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", OF_MATRICES)
def test_of_matrices(name, dtype, order):
    m = np.array(M, dtype, order=order)
    assert mismatch(OF_MATRICES[name], [m], calls=3) == ""
    assert is_captured(OF_MATRICES[name], [m])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", OF_VECTORS)
def test_of_vectors(name, dtype):
    v = V.astype(dtype)
    assert mismatch(OF_VECTORS[name], [v], calls=3) == ""
    assert is_captured(OF_VECTORS[name], [v])


def test_results_are_objects_of_numpys_own():
    """Bit for bit: nothing else computes them."""
    compiled = minidynamo.compile(lambda m: (np.linalg.inv(m), *np.linalg.eigh(m), np.linalg.svd(m).S))
    for _ in range(3):
        results = compiled(M)
        theirs = (np.linalg.inv(M), *np.linalg.eigh(M), np.linalg.svd(M).S)
        assert all(np.array_equal(a, b) for a, b in zip(results, theirs, strict=True))
        assert [a.flags.owndata for a in results] == [b.flags.owndata for b in theirs]
        assert [a.base is None for a in results] == [b.base is None for b in theirs]


def test_named_results():
    def names(m):
        found = np.linalg.eigh(m)
        return found.eigenvalues, found

    compiled = minidynamo.compile(names)
    for _ in range(2):
        values, found = compiled(M)
        assert type(found) is type(np.linalg.eigh(M))
        assert np.array_equal(values, found.eigenvalues)


# ---- state


# name: (what draws of `rng`, of numpy.random), with one call each.
DRAWN = {
    "random": (lambda r: r.random(3), lambda: np.random.random(3)),
    "rand": (None, lambda: np.random.rand(2, 3)),
    "randn": (None, lambda: np.random.randn(4)),
    "random_sample": (None, lambda: np.random.random_sample((2, 2))),
    "ranf": (None, lambda: np.random.ranf(3)),
    "normal": (lambda r: r.normal(1.0, 2.0, size=3), lambda: np.random.normal(1, 2, (2, 2))),
    "normal by name": (lambda r: r.normal(scale=2.0, size=(3, 1)), lambda: np.random.normal(size=3, loc=1)),
    "uniform": (lambda r: r.uniform(0, 2, 3), lambda: np.random.uniform(-1, 1, size=3)),
    "standard_normal": (lambda r: r.standard_normal(5), lambda: np.random.standard_normal(5)),
    "standard_normal of halves": (lambda r: r.standard_normal(5, np.float32), None),
    "random of floats": (lambda r: r.random(5, dtype=np.float32), None),
    "integers": (lambda r: r.integers(0, 9, 4), lambda: np.random.randint(0, 9, 4)),
    "integers of bytes": (
        lambda r: r.integers(9, size=4, dtype=np.uint8),
        lambda: np.random.randint(9, size=4, dtype="i2"),
    ),
    "exponential": (lambda r: r.exponential(2.0, 3), lambda: np.random.exponential(2.0, 3)),
    "poisson": (lambda r: r.poisson(2.0, 3), lambda: np.random.poisson(2.0, 3)),
    "binomial": (lambda r: r.binomial(5, 0.5, 3), lambda: np.random.binomial(5, 0.5, 3)),
    "gamma": (lambda r: r.gamma(2.0, 1.0, 3), lambda: np.random.gamma(2.0, 1.0, 3)),
    "choice": (lambda r: r.choice(K, 3), lambda: np.random.choice(K, 3)),
    "choice of one": (lambda r: r.choice(K), lambda: np.random.choice(K)),
    "choice of places": (lambda r: r.choice(9, size=(2, 2)), lambda: np.random.choice(9, (2, 2))),
    "permutation": (None, lambda: np.random.permutation(5)),
    "permuted vector": (None, lambda: np.random.permutation(K)),
    "seed": (None, lambda: np.random.seed(5)),
    "of nothing": (lambda r: r.random(0), lambda: np.random.rand(0, 3)),
}


def generator_and_state(seed):
    np.random.seed(seed)
    return np.random.default_rng(seed)


def states(rng):
    return rng.bit_generator.state, [str(part) for part in np.random.get_state()]


FORMS = {
    "alone": lambda draw: lambda: draw(),
    "of which more is computed": lambda draw: lambda: (draw(), X * 2, V.sum()),
    "twice": lambda draw: lambda: (draw(), draw()),
    "after": lambda draw: lambda: (X / 3, draw(), X / 7),
    "then": lambda draw: lambda: twice(draw()),
}


def twice(value):
    return value if value is None else (value * 2 + 1, value)


@pytest.mark.parametrize("action", ["ignore", "warn"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DRAWN)
def test_drawn(name, form, action):
    """While exceptions are not ignored, calls that are made once are left to Python."""
    with np.errstate(all=action, under="ignore"):
        compare_drawn(name, form)


def compare_drawn(name, form):
    for number, draw in enumerate(DRAWN[name]):
        if draw is None:
            continue
        rng = generator_and_state(3)

        def drawn(draw=draw, number=number):
            return draw(rng) if number == 0 else draw()

        function = FORMS[form](drawn)
        compiled = minidynamo.compile(function)
        for seed in (1, 2, 3):
            rng = generator_and_state(seed)
            theirs, their_states = function(), states(rng)
            rng = generator_and_state(seed)
            ours, our_states = compiled(), states(rng)
            assert difference(ours, theirs) == ""
            assert our_states == their_states


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_is_captured(name):
    rng = np.random.default_rng(1)
    for draw, given in zip(DRAWN[name], ([rng], []), strict=True):
        if draw is not None:
            minidynamo.compile(draw, fullgraph=True)(*given)


def walk(rng, steps):
    x = np.zeros(3)
    seen = []
    for step in range(steps):
        x = x + rng.normal(size=3) * 0.5
        seen.append(x.sum())
        if step % 3 == 0:
            x[0] = rng.uniform(0, 1, 2)[1]
    return x, seen


def walk_of_module(steps):
    x = np.zeros(3)
    for _ in range(steps):
        x += np.random.randn(3)
        np.random.seed(int(x.shape[0]))
        x = np.sqrt(np.abs(x)) + np.random.rand(3)
    return x


@pytest.mark.parametrize("action", ["ignore", "warn"])
def test_loops_draw_in_order(action):
    with np.errstate(all=action, under="ignore"):
        compare_loops()


def compare_loops():
    compiled, of_module = minidynamo.compile(walk), minidynamo.compile(walk_of_module)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        theirs, their_state = walk(rng, 7), rng.bit_generator.state
        rng = np.random.default_rng(seed)
        ours = compiled(rng, 7)
        assert difference(list(ours), list(theirs)) == ""
        assert rng.bit_generator.state == their_state
        np.random.seed(seed)
        theirs = walk_of_module(5), np.random.get_state()[1].tolist()
        np.random.seed(seed)
        ours = of_module(5), np.random.get_state()[1].tolist()
        assert difference(ours[0], theirs[0]) == ""
        assert ours[1] == theirs[1]


class Model:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.old = np.random.RandomState(seed)

    def step(self, x):
        return x * 2 + self.rng.normal(size=4) - self.old.rand(4)


@pytest.mark.parametrize("fullgraph", [True, False])
@np.errstate(all="ignore")
def test_generators_are_found_at_run_time(fullgraph):
    """One region serves all generators of a type."""
    compiled = minidynamo.compile(Model.step, fullgraph=fullgraph)
    for seed in range(6):
        ours, theirs = Model(seed), Model(seed)
        for _ in range(2):
            assert difference(compiled(ours, V[:4]), theirs.step(V[:4])) == ""
        if seed == 1:
            before = minidynamo._C.engine_counters()["regions_captured"]
    assert minidynamo._C.engine_counters()["regions_captured"] == before


def test_threads_draw_from_generators_of_their_own():
    def drawn(rng, x):
        return np.linalg.inv(x) @ rng.normal(size=(4, 2)) + 1

    compiled = minidynamo.compile(drawn)
    found = {}

    def work(seed):
        with np.errstate(all="ignore"):
            rng = np.random.default_rng(seed)
            found[seed] = [compiled(rng, M) for _ in range(20)]

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        assert difference(found[seed], [drawn(rng, M) for _ in range(20)]) == ""


def test_a_flagged_region_draws_once():
    """Of what is computed beside a call the flags are read before it, or in another region."""

    def drawn(x):
        return x / 0.0, np.random.rand(2), np.log(x - 5), np.random.rand(2)

    compiled = minidynamo.compile(drawn)
    for seed in range(5):
        np.random.seed(seed)
        theirs = outcome(drawn, [V]), np.random.get_state()[1].tolist(), np.random.rand()
        np.random.seed(seed)
        ours = outcome(compiled, [V]), np.random.get_state()[1].tolist(), np.random.rand()
        assert difference(ours[0][0], theirs[0][0]) == ""
        assert ours[0][1] == theirs[0][1]
        assert ours[1:] == theirs[1:]


# ---- exceptions and warnings


SINGULAR = np.ones((4, 4))
NANS = np.full((4, 4), np.nan)


def inverse_after_writes(m, log):
    log.append("before")
    m += 1
    found = np.linalg.inv(m)
    log.append("after")
    m += 1
    return found


def inverse_caught(m, log):
    m += 1
    try:
        log.append(np.linalg.inv(m).shape)
    except np.linalg.LinAlgError as error:
        log.append(str(error))
    return m * 2


def inner(m):
    return np.linalg.cholesky(m) + 1


def inverse_inside(m, log):
    m *= 2
    log.append(1)
    return inner(m)


def shapes(m, log):
    m += 1
    return np.linalg.solve(m, np.ones(7))


def axes(m, log):
    log.append("x")
    return np.partition(m, 9)


def drawn_wrongly(m, log):
    m += 1
    log.append(np.random.rand(2).shape)
    found = np.random.normal(0, -1, 3)
    log.append("never")
    return found


def drawn_of_a_negative_size(m, log):
    log.append("x")
    m[0] = np.random.rand(4)
    return np.random.rand(-1)


def drawn_caught(m, log):
    try:
        m += 1
        np.random.randint(5, 2, 3)
    except ValueError as error:
        log.append(str(error))
    return m


def drawn_of_none(m, log):
    return np.random.uniform("a", 1, 3)


WRONG = [
    inverse_after_writes,
    inverse_caught,
    inverse_inside,
    shapes,
    axes,
    drawn_wrongly,
    drawn_of_a_negative_size,
    drawn_caught,
    drawn_of_none,
]


def lines_of(error):
    """Of the traceback: functions and lines of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    return [
        (frame.name, frame.lineno)
        for frame in frames
        if frame.filename == __file__ and frame.name != "outcome_and_state"
    ]


def outcome_and_state(function, m):
    log = []
    np.random.seed(1)
    try:
        result = function(m, log)
    except Exception as error:
        result = type(error), str(error), lines_of(error)
    return result, log, np.random.get_state()[1].tolist()


@pytest.mark.parametrize("matrix", [SINGULAR, NANS, -M, M, np.zeros((0, 0)), np.ones((2, 4)), np.ones(4)], ids=str)
@pytest.mark.parametrize("function", WRONG)
@pytest.mark.parametrize("action", ["ignore", "warn"])
def test_wrong_calls(function, matrix, action):
    with np.errstate(all=action, under="ignore"):
        compare_wrong_call(function, matrix)


def compare_wrong_call(function, matrix):
    compiled = minidynamo.compile(function)
    for _ in range(5):
        ours, theirs = copied(matrix), copied(matrix)
        found, expected = outcome_and_state(compiled, ours), outcome_and_state(function, theirs)
        assert difference(found[0], expected[0]) == ""
        assert found[1:] == expected[1:]
        assert np.array_equal(ours, theirs, equal_nan=True)


def powers(v):
    return np.float_power(v, -3) + 1


def far(v):
    return np.ldexp(v, 2000), np.cbrt(v)


def of_nans(v):
    return np.nanmedian(v.reshape(2, 3), axis=1) * 2


def of_few(v):
    return np.polyfit(v, v, 5)


@pytest.mark.parametrize("values", [V, V * 0, V * np.nan, V - 0.3, V * 1e300, np.ones(6)], ids=str)
@pytest.mark.parametrize("function", [powers, far, of_nans, of_few])
def test_warnings(function, values):
    assert mismatch(function, [values], calls=5) == ""


@pytest.mark.parametrize("function", [powers, far])
@pytest.mark.parametrize("action", ["ignore", "raise", "warn"])
def test_under_errstate(function, action):
    def within(v):
        with np.errstate(all=action, under="ignore"):
            return function(v)

    for values in (V * 0, V):
        assert mismatch(within, [values], calls=5) == ""
        with np.errstate(all=action, under="ignore"):
            assert mismatch(function, [values], calls=5) == ""


def test_warnings_are_errors():
    compiled = minidynamo.compile(powers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(V)
        for _ in range(4):
            with pytest.raises(RuntimeWarning) as found:
                compiled(V * 0)
            assert lines_of(found.value)[-1][0] == "powers"


# ---- what is left to NumPy


LEFT = {
    "out": lambda v: np.cbrt(v, out=np.zeros(6)),
    "out of a function": lambda v: np.median(v, None, np.zeros(())),
    "a view": lambda v: np.linalg.matrix_power(v[:4].reshape(2, 2), 1),
    "a number": lambda v: np.random.rand(),
    "an array as a parameter": lambda v: np.random.normal(v),
    "objects": lambda v: np.frompyfunc(lambda x: x, 1, 1)(v),
    "complex": lambda v: np.fft.fft(v),
    "into an array": lambda v: np.random.shuffle(v),
}


@pytest.mark.parametrize("name", LEFT)
def test_left(name):
    compiled = minidynamo.compile(LEFT[name])
    for seed in range(3):
        np.random.seed(seed)
        ours, theirs = copied(V), copied(V)
        found = compiled(ours)
        np.random.seed(seed)
        expected = LEFT[name](theirs)
        assert np.array_equal(found, expected) or found == expected
        assert np.array_equal(ours, theirs)
        assert type(found) is type(expected)


class Interrupted(ValueError):
    pass


def interrupting(function, error):
    """Runs as one of NumPy's own functions in the place of `function`: a signal comes, whose handler raises."""

    def handler(number, frame):
        raise error("by the handler")

    signal.signal(signal.SIGUSR1, handler)
    names = {**function.__globals__, "tell": functools.partial(signal.raise_signal, signal.SIGUSR1), "own": function}
    exec("def interrupted(*args):\n    tell()\n    return own(*args)", names)
    return names["interrupted"]


@pytest.mark.parametrize("error", [ValueError, Interrupted, TypeError, ArithmeticError, MemoryError, OSError])
@pytest.mark.parametrize("is_first_call", [True, False])
def test_what_a_handler_of_a_signal_raises_is_raised(monkeypatch, error, is_first_call):
    before = signal.getsignal(signal.SIGUSR1)
    function = minidynamo.compile(lambda m: np.linalg.inv(m * 2) + 1)
    expected = np.linalg.inv(M * 2) + 1
    if not is_first_call:
        assert np.allclose(function(M), expected)
    names = inspect.unwrap(np.linalg.inv).__globals__
    with monkeypatch.context() as patched:
        patched.setitem(names, "_commonType", interrupting(names["_commonType"], error))
        with pytest.raises(error, match="by the handler"):
            function(M)
    signal.signal(signal.SIGUSR1, before)
    assert np.allclose(function(M), expected)


def test_what_numpy_raises_is_raised_by_numpy():
    def function(m):
        try:
            return np.linalg.inv(m * 2) + 1
        except np.linalg.LinAlgError as error:
            return str(error)

    for matrix in (M, M * 0, np.ones((4, 4)), np.ones((2, 3))):
        assert mismatch(function, (matrix,)) == ""
