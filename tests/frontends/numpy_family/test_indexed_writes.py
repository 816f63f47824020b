"""x[i, j] = value in the caller's memory: what is written before something fails or warns, and for indices of varying number."""

import numpy as np
import pytest
from compared import copied, difference, mismatch

import minidynamo

PLACES = (np.array([3, 0, 3, 1]), np.array([2, 1, 2, 0]))
FAR = (np.array([3, 0, 9, 1]), np.array([2, 1, 2, 0]))
NONE = np.zeros(4)
ZERO = np.array([1.0, 0.0, 2.0, 3.0])


def write_alone(x, at, value):
    x[at] = value


def write_then_divide(x, at, value):
    x[at] = value
    return 1 / value


def divide_then_write(x, at, value):
    found = 1 / value
    x[at] = value
    return found


def write_twice(x, at, value):
    x[PLACES[::-1]] = 5
    x[at] = value
    return x.sum()


def read_then_write(x, at, value):
    found = x[at] + 1
    x[at] = value
    x[PLACES[::-1]] = value * 2
    return found


def write_what_was_read(x, at, value):
    x[at] = x[at[::-1]] + value
    return x[0]


def write_a_row_then_elements(x, at, value):
    x[1] = 7
    x[at] = value
    x[2] += 1
    return x * 2


def add(x, at, value):
    np.add.at(x, at, value)
    x[at] += value


def write_then_index(x, at, value):
    x[at] = value
    return x[FAR]


PROGRAMS = [
    write_alone,
    write_then_divide,
    divide_then_write,
    write_twice,
    read_then_write,
    write_what_was_read,
    write_a_row_then_elements,
    add,
    write_then_index,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("code", ["d", "f", "e", "D", "l"])
@pytest.mark.parametrize("at", [PLACES, FAR], ids=["inside", "outside"])
def test_what_is_written(program, code, at):
    x = np.arange(20).reshape(4, 5).astype(code)
    values = [ZERO, ZERO + 1, ZERO.astype("f"), np.array([1, 70000, 3, 4]), 2, 2.5]
    for value in values:
        with np.errstate(divide="ignore"):
            assert mismatch(program, [x, list(at) and at, value]) == "", value
        assert mismatch(program, [x, at, value], calls=4) == "", value
        assert mismatch(program, [x.copy("F"), at, value]) == "", value


def visit(counts, rows, columns, value, gone):
    counts[rows, columns] = value
    np.logical_not(gone, gone)
    return gone


@pytest.mark.parametrize("code", ["d", "D", "f", "l"])
def test_varying_numbers_of_places(code):
    compiled = minidynamo.compile(visit)
    ours, theirs = np.zeros((2, 30, 40), code)
    draw = np.random.default_rng(3)
    for count in [5, 9, 1, 0, 200, 13, 9, 77, 2, 31]:
        rows, columns = draw.integers(-30, 30, count), draw.integers(-40, 40, count)
        value, gone = draw.integers(1, 9), draw.random(count * 3) < 0.5
        given = copied([gone, gone])
        assert (
            difference(compiled(ours, rows, columns, value, given[0]), visit(theirs, rows, columns, value, given[1]))
            == ""
        )
        assert difference([ours, given[0]], [theirs, given[1]]) == ""
    with pytest.raises(IndexError):
        compiled(ours, np.array([0, 31]), np.array([0, 0]), 8, np.zeros(6, bool))
    assert difference(ours, theirs) == ""


def halved(x):
    if x.size == 0:
        return x, 0
    return x / x.size, x.nbytes


def test_sizes_do_not_specialise():
    compiled = minidynamo.compile(halved)
    for count in [10, 20, 7, 31, 0, 64, 2, 1]:
        for shape in [(count,), (count, 3)]:
            assert difference(compiled(np.ones(shape)), halved(np.ones(shape))) == ""
    before = minidynamo._C.engine_counters()["regions_run"]
    for count in range(40, 60):
        assert difference(compiled(np.ones(count)), halved(np.ones(count))) == ""
    assert minidynamo._C.engine_counters()["regions_run"] - before == 20


@pytest.mark.parametrize("to", ["d", "f", "e", "l", "i", "B", "?", "D"])
@pytest.mark.parametrize("code", ["d", "f", "e", "l", "b", "?"])
def test_other_dtypes_are_converted(code, to):
    values = [np.array([1.5, 0, -2, 3]).astype(code), np.array([1, 2, 3, 1]).astype(code)]
    if code in "df":
        values += [np.array([1e30, np.nan, np.inf, -1]).astype(code)]
    if code == "l":
        values += [np.array([70000, -1, 2**40, 3])]
    for value in values:
        x = np.arange(20).reshape(4, 5).astype(to)
        assert mismatch(read_then_write, [x, PLACES, value]) == "", value
        with np.errstate(all="ignore"):
            assert mismatch(write_alone, [x, PLACES, value]) == "", value
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(write_alone)
    assert minidynamo._C.record_breaks(lambda: compiled(x, PLACES, values[1])) == []
