"""Lists and tuples in the place of arrays: operands of operators and ufuncs, what is stored; and max() and min() of scalars."""

import operator

import numpy as np
import pytest
from compared import mismatch

import minidynamo

CODES = ["?", "i1", "u1", "i4", "i8", "f2", "f4", "f8"]
SEQUENCES = {
    "ints": [1, 2, 3],
    "tuple": (3, 2, 1),
    "floats": [0.5, -1.0, 2.5],
    "bools": (True, False, True),
    "mixed": [1, 0.5, True],
    "nested": [[1], [2]],
    "rows": ((1, 2, 3), (4, 5, 6)),
    "one": [2],
    "nothing": [],
}
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne, operator.lt, operator.ge,
]  # fmt: skip


def array_of(code, shape=(2, 3)):
    return (np.arange(int(np.prod(shape))).reshape(shape) % 3 + 1).astype(code)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators_take_sequences_on_either_side(op, name, code):
    sequence = SEQUENCES[name]
    assert not mismatch(lambda x: op(x, sequence), [array_of(code)])
    assert not mismatch(lambda x: op(sequence, x), [array_of(code)])


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", SEQUENCES)
def test_ufuncs_and_assignments_take_sequences(name, code):
    sequence = SEQUENCES[name]

    def in_place(x):
        x += sequence
        return x

    def added_to_sequence(x):
        total = list(sequence)
        total += x
        return total

    def stored(x):
        x[:] = sequence
        return x

    def stored_in_rows(x):
        x[0] = x[-1] = sequence
        return x

    def stored_by_index(x, places):
        x[places] = sequence
        return x

    assert not mismatch(lambda x: np.maximum(x, sequence), [array_of(code)])
    assert not mismatch(lambda x: np.hypot(sequence, x), [array_of(code)])
    assert not mismatch(in_place, [array_of(code)])
    assert not mismatch(added_to_sequence, [array_of(code)])
    assert not mismatch(stored, [array_of(code)])
    assert not mismatch(stored_in_rows, [array_of(code, (3, 3))])
    assert not mismatch(stored_by_index, [array_of(code, (4, 3)), np.array([2, 0])])


def test_they_are_captured_whole():
    x = array_of("f8")
    compiled = minidynamo.compile(lambda x, a, b: np.maximum(x, [a, b, 2]) * (1, 2, 3) == [0, 1, 4], fullgraph=True)
    assert np.array_equal(compiled(x, 3, 5), np.maximum(x, [3, 5, 2]) * (1, 2, 3) == [0, 1, 4])

    def stored(x):
        x[0] = x[1] = x[0, 0] * 2, 0, x[1, 1]
        return x

    def added_to_list(x):
        total = [1, 2, 3]
        total += x
        return total

    found = minidynamo.compile(added_to_list, fullgraph=True)(x)
    assert np.array_equal(found, x + [1, 2, 3])
    found = minidynamo.compile(stored, fullgraph=True)(x.copy())
    assert np.array_equal(found, stored(x.copy()))


WRONG = {
    "ragged": lambda x: x + [[1], [1, 2]],
    "texts": lambda x: x + ["a", "b", "c"],
    "none": lambda x: x * [None, 1, 2],
    "other_size": lambda x: x + [1, 2],
    "dict": lambda x: x + {1: 2},
    "set": lambda x: x == {1},
    "stored_size": lambda x: x.__setitem__(0, [1, 2]),
    "stored_text": lambda x: x.__setitem__(0, ["a", 1, 2]),
    "stored_nan": lambda x: x.__setitem__(0, [float("nan"), 1, 2]),
    "stored_large": lambda x: x.__setitem__(0, [2**40, 1, 2]),
    "stored_larger": lambda x: x.__setitem__(0, [2**70, 1, 2]),
    "stored_ragged": lambda x: x.__setitem__(0, [[1, 2], 3]),
    "stored_object": lambda x: x.__setitem__(0, (object(), 1, 2)),
}


@pytest.mark.parametrize("code", ["i4", "i8", "u1", "f4", "f8"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_sequences_are_numpys_errors(name, code):
    function = WRONG[name]
    assert not mismatch(function, [array_of(code)])


@pytest.mark.parametrize("code", ["i8", "f4", "f8"])
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_sequences_beside_elements(op, code):
    for sequence in ([1], (2, 3)):
        assert not mismatch(lambda x, sequence=sequence: op(x[0, 1], sequence), [array_of(code)])
        assert not mismatch(lambda x, sequence=sequence: op(sequence, x[0, 1]), [array_of(code)])


class Reflecting(list):
    """A subclass, which may define operators."""

    def __radd__(self, other):
        return "reflected"


def test_subclasses_keep_their_operators():
    given = Reflecting([1, 2, 3])
    x = array_of("f8")
    assert not mismatch(lambda x: x * given, [x])
    assert minidynamo.compile(lambda x: x + given)(x) is not None
    assert type(minidynamo.compile(lambda x: x + given)(x)) is type(x + given)


EXTREMES = {
    "max": lambda x: max(x[0], x[1]),
    "min": lambda x: min(x[0], x[1]),
    "three": lambda x: (max(x[2], x[0], x[1]), min(x[2], x[0], x[1])),
    "of_list": lambda x: max([x[0], x[1], x[2]]),
    "of_array": lambda x: (max(x), min(x)),
    "no_key": lambda x: max(x[0], x[1], key=None),
    "key": lambda x: max(x[0], x[1], key=lambda value: -value),
    "with_number": lambda x: max(x[0], 1),
    "other_dtype": lambda x: max(x[0], x.astype("f8")[1]),
    "computed": lambda x: max(x[0] * 2, x[1] - 1) + 1,
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("values", [(1, 2, 0), (2, 1, 1), (1, 1, 1), (0, 0, 2)])
def test_extremes_of_elements(name, code, values):
    assert not mismatch(EXTREMES[name], [np.array(values).astype(code)])


@pytest.mark.parametrize("name", ["max", "min", "three", "of_list", "of_array"])
@pytest.mark.parametrize(
    "values", [(np.nan, 1, 2), (1, np.nan, 2), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0), (np.inf, 1, np.nan)]
)
def test_extremes_of_special_values(name, values):
    for code in ("f2", "f4", "f8"):
        assert not mismatch(EXTREMES[name], [np.array(values).astype(code)])


def test_extremes_of_elements_are_captured():
    compiled = minidynamo.compile(lambda x: max(x[0], x[1], x[2]) * x, fullgraph=True)
    x = array_of("f8", (3,))
    assert np.array_equal(compiled(x), x.max() * x)
