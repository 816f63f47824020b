"""RuntimeWarnings and numpy.errstate: what NumPy warns of, raises and calls, at its lines, however often."""

import warnings

import numpy as np
import pytest
from compared import mismatch, outcome

import minidynamo
from minidynamo._families.numpy_ufuncs import UFUNCS


def divides(x):
    return x / (x - 1)


def ignores(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return x / (x - 1)


def raises(x):
    with np.errstate(divide="raise"):
        return x / (x - 1)


def handles(x):
    try:
        with np.errstate(all="raise"):
            return np.log(x)
    except FloatingPointError as error:
        return str(error)


def writes_first(x):
    x += 1
    x /= x - 2
    return x


def writes_last(x):
    y = np.sqrt(x - 1)
    x[:] = y
    return x


def unused(x):
    np.log(x - 1)
    return x * 2


def twice(x):
    return np.log(x - 1) + np.log(x - 1)


def in_a_loop(x):
    for _ in range(3):
        x = x / (x - 1)
    return x


def overflows(x):
    return np.exp(x * 1000)


def casts(x):
    return (x * 1e30).astype(np.int32)


def of_scalars(x):
    return x[0] / (x[1] - 1), x.sum() / 0


def narrows(x):
    return (x * 1e300).astype(np.float32)


def divides_integers(x):
    return x.astype(np.int64) // (x.astype(np.int64) - 1)


def smallest_by(x, divisors):
    least = np.full(x.shape, np.iinfo(divisors.dtype).min, divisors.dtype)
    return least // divisors


def by_minus_one(x):
    return smallest_by(x, np.where(x > 2, 1, -1))


def bytes_by_minus_one(x):
    return smallest_by(x, np.where(x > 2, 1, -1).astype(np.int8))


def by_the_number_minus_one(x):
    return np.where(x > 2, 1, -(2**31)).astype(np.int32) // -1


def of_the_smallest_number(x):
    return -(2**63) // np.where(x > 2, 1, -1)


def unused_quotient(x):
    np.floor_divide(np.where(x > 2, 1, -(2**15)).astype(np.int16), -1)
    return x * 2


def quotient_in_place(x):
    y = np.where(x > 2, 1, -(2**63))
    y //= np.where(x > 2, 1, -1)
    x += y
    return x


def broadcast_quotients(x):
    return np.full((2, 1), -(2**31), np.int32) // np.where(x > 2, 1, -1).astype(np.int32)


def both_parts(x):
    return np.divmod(np.where(x > 2, 1, -(2**63)), -1)


def remainders(x):
    y = np.where(x > 2, 1, -(2**63))
    return y % -1, np.fmod(y, -1)


def complex_quotients(x):
    return (x + 1j) / (x - 1 + 0j)


def unused_complex_quotient(x):
    np.divide(x + 1j, x * 0j)
    return x * 2


def converts_and_adds(x):
    y = np.empty(x.shape, np.uint8)
    y[:] = x - 3
    x += y
    return x / (y + 7.0), y


def converts_later(x):
    x += 1
    y = np.empty(x.shape, np.int32)
    y[:] = x * 1e9
    x *= 2
    return y


def fills_first(x):
    x[0] = 2
    return 1 / (x[1:] - 1)


def stores_row_by_row(x):
    y = x[::-1].copy() if x.size > 9 else x * 1
    for i in range(2):
        x[i : i + 1] = i
    return np.log(y - 1), x


def integers_as_float16(x):
    y = (x * 0 + 40000).astype(np.int32)
    halves = np.empty(x.shape, np.float16)
    np.add(y, np.where(x > 2, 0, y), out=halves)
    return halves, y + 1


def integers_beside_float16(x):
    y = np.where(x > 2, 1, 70000)
    x += y
    return y.astype(np.float16), y * 2


def hidden_by_where(x):
    return np.where(x > 1, np.log(x - 1), 0)


PROGRAMS = [
    *(divides, ignores, raises, handles, writes_first, writes_last, unused, twice, in_a_loop, overflows, casts),
    *(
        of_scalars,
        narrows,
        divides_integers,
        by_minus_one,
        bytes_by_minus_one,
        by_the_number_minus_one,
        of_the_smallest_number,
        unused_quotient,
        quotient_in_place,
        broadcast_quotients,
        both_parts,
        remainders,
        complex_quotients,
        unused_complex_quotient,
        hidden_by_where,
        integers_as_float16,
        integers_beside_float16,
        converts_and_adds,
        converts_later,
        fills_first,
        stores_row_by_row,
    ),
]
QUIET = np.array([2.5, 3.5, 4.0])
LOUD = np.array([0.0, 1.0, 3.0])


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    for array in (QUIET, LOUD, LOUD[:2], np.array([np.nan, 2.0]), np.array([np.inf, 2.0]), np.tile(LOUD, 50_000)):
        assert mismatch(program, (array,), calls=5) == ""


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("action", ["warn", "ignore", "raise", "call", "log", "print"])
def test_states_around_the_call(program, action, capsys):
    compiled = minidynamo.compile(program)
    called = []

    class Log:
        def write(self, text):
            called.append(text)

    handler = Log() if action == "log" else lambda kind, flag: called.append((kind, flag))
    with np.errstate(divide=action, invalid=action, over=action, call=handler if action in ("call", "log") else None):
        for array in (QUIET, LOUD, QUIET, LOUD, LOUD):
            found = []
            for function in (program, compiled):
                called.clear()
                result = outcome(function, [array.copy()])
                found.append((repr(result), list(called), capsys.readouterr()))
            assert found[0] == found[1]


@pytest.mark.parametrize("program", PROGRAMS)
def test_warnings_that_are_errors(program):
    compiled = minidynamo.compile(program)
    for array in (QUIET, LOUD, QUIET, LOUD):
        found = []
        for function in (program, compiled):
            given = array.copy()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    result = repr(function(given))
                except (RuntimeWarning, FloatingPointError) as error:
                    result = ("raised", str(error), error.__traceback__.tb_next.tb_lineno)
            found.append((result, given.tolist()))
        assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("program", [divides, twice, in_a_loop])
def test_once_for_each_line(program):
    counts = []
    for function in (program, minidynamo.compile(program)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            program.__globals__.pop("__warningregistry__", None)
            for _ in range(4):
                function(LOUD.copy())
        counts.append([(str(each.message), each.lineno) for each in caught])
    assert counts[0] == counts[1]


def test_a_region_that_warns_again_and_again_is_left():
    compiled = minidynamo.compile(divides)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(10):
            compiled(LOUD)
    before = minidynamo._C.engine_counters()["plan_failures"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(LOUD)
    assert minidynamo._C.engine_counters()["plan_failures"] == before


def test_the_state_changes_between_calls():
    compiled = minidynamo.compile(divides)
    for action in ("warn", "ignore", "warn", "raise", "ignore"):
        with np.errstate(divide=action, invalid=action):
            assert repr(outcome(compiled, [LOUD])) == repr(outcome(divides, [LOUD]))


# Of numbers between 0.1 and 0.9, where no ufunc has exceptions but arccosh.
FUSED = {
    "quotient": lambda x, y: (x * 2) / (y * 3),
    "of ints": lambda x, y: x / (y * 10).astype(int),
    "of sums": lambda x, y: x.sum() / (y > 0).sum(),
    "logarithm": lambda x, y: np.log(x * 2) + 1,
    "root": lambda x, y: 1 / np.sqrt(x * y),
    "power": lambda x, y: (x * 2) ** -(y + 1),
    "chosen": lambda x, y: 1 / np.where(x > 0.5, x, y),
}


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 16, 31, 1001])
def test_quiet_numbers_raise_no_exception(count, code):
    x, y = np.linspace(0.1, 0.9, count).astype(code), np.linspace(0.9, 0.2, count).astype(code)
    programs = dict(FUSED)
    for name in sorted(set(UFUNCS.values()) - {"arccosh", "matmul"}):
        ufunc = getattr(np, name)
        if ufunc.nin == 1:
            programs[name] = lambda x, y, ufunc=ufunc: ufunc(x * 1.5 - x * 0.5)
        elif "shift" not in name and "bitwise" not in name:
            programs[name] = lambda x, y, ufunc=ufunc: ufunc(x * 1.0, y + 0.0)
    flagged = []
    for name, program in programs.items():
        compiled = minidynamo.compile(program)
        before = minidynamo._C.engine_counters()["plan_failures"]
        for _ in range(2):
            outcome(compiled, [x, y])
        if minidynamo._C.engine_counters()["plan_failures"] != before:
            flagged.append(name)
    assert flagged == []
