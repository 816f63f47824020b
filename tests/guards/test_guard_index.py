"""Many captures of one place: the index finds the same capture as a linear search, whatever the captures differ in."""

import gc
import itertools
import random
import weakref

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions

DTYPES = (minidynamo.float32, minidynamo.float64, minidynamo.int32, minidynamo.int64)


def add_length(x, text):
    return x + len(text)


def kinds():
    for rank, dtype, text in itertools.product((1, 2, 3, 4), DTYPES, ("a", "bc", "def", "ghij")):
        yield minidynamo.ones(*[2] * rank, dtype=dtype), text


def played(function, calls, seed, **arguments):
    """Calls in three orders; every result is that of eager Python, and nothing is captured twice."""
    count = CompileCounter()
    captured = minidynamo.compile(function, backend=count, **arguments)
    for args in calls:
        assert captured(*args).tolist() == function(*args).tolist()
    made = count.frame_count
    for order in (calls, calls[::-1], random.Random(seed).sample(calls, len(calls))):
        for args in order:
            result = captured(*args)
            assert result.tolist() == function(*args).tolist()
            assert result.dtype == function(*args).dtype
    assert count.frame_count == made
    return made


def test_rank_dtype_and_constant():
    assert played(add_length, list(kinds()), 1, recompile_limit=64) == 64


def test_sizes():
    calls = [(minidynamo.ones(rows, columns),) for rows in range(1, 9) for columns in range(1, 9)]
    assert played(lambda x: x * 2, calls, 2, recompile_limit=64, dynamic=False) == 64


def test_sizes_and_symbolic_sizes():
    """If a capture has symbolic sizes, sizes do not discriminate."""
    calls = [(minidynamo.ones(size, dtype=dtype),) for dtype in DTYPES for size in (5, 6, 7, 9, 1)]
    made = played(lambda x: x * 2, calls, 3, recompile_limit=64)
    assert made <= 16


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None, "a", "b", b"a", 3.5, -3.5, 0.0, -0.0, (1, 2), (1, 3), ..., range(3), range(4)],
        ["", "a", "A", "\N{GREEK SMALL LETTER ALPHA}", "aa"],
    ],
)
def test_constants_of_many_types(values):
    def choose(x, value):
        return x + len(repr(value)) if value is not None else x

    played(choose, [(minidynamo.ones(2), value) for value in values], 4, recompile_limit=64, dynamic=False)


def test_classes_and_functions():
    classes = [type(f"Class{number}", (), {"value": number}) for number in range(12)]

    def by_class(x, kind):
        return x + kind.value

    assert played(by_class, [(minidynamo.ones(2), kind) for kind in classes], 5, recompile_limit=64) == 12
    functions = [eval(f"lambda x: x + {number}") for number in range(12)]

    def by_function(x, function):
        return function(x)

    assert played(by_function, [(minidynamo.ones(2), each) for each in functions], 6, recompile_limit=64) == 12


def test_objects_reached_through_an_argument():
    class Settings:
        def __init__(self, mode):
            self.mode = mode

    def by_mode(x, settings):
        return x + len(settings.mode)

    calls = [(minidynamo.ones(2), Settings("m" * number)) for number in range(20)]
    assert played(by_mode, calls, 7, recompile_limit=64) == 20


def test_an_argument_that_only_some_captures_read():
    def maybe(x, how, text):
        return x + len(text) if how == "length" else x * 2

    calls = [(minidynamo.ones(2), "length", "t" * number) for number in range(8)]
    calls += [(minidynamo.ones(2), "double", "t" * number) for number in range(8)]
    assert played(maybe, calls, 8, recompile_limit=64) == 9


def test_another_type_is_still_captured():
    count = CompileCounter()
    captured = minidynamo.compile(add_length, backend=count, recompile_limit=64)
    for x, text in itertools.islice(kinds(), 20):
        captured(x, text)
    with pytest.raises(TypeError):
        captured(minidynamo.ones(2), 3)
    assert captured(minidynamo.ones(2), ["a", "b"]).tolist() == [3.0, 3.0]
    assert captured(2.0, "abc") == 5.0


def test_captures_that_die_leave_the_others():
    class Plain:
        pass

    def make():
        return type("Short", (), {"value": 1})

    def by_class(x, kind):
        return x + kind.value

    count = CompileCounter()
    captured = minidynamo.compile(by_class, backend=count, recompile_limit=64)
    kept = [make() for _ in range(6)]
    for kind in kept:
        captured(minidynamo.ones(1), kind)
    for _ in range(30):
        gone = make()
        captured(minidynamo.ones(1), gone)
        alive = weakref.ref(gone)
        del gone
        gc.collect()
        assert alive() is None
    for kind in kept:
        assert captured(minidynamo.ones(1), kind).tolist() == [2.0]
    assert count.frame_count == 36
    _C.reset()
    assert captured(minidynamo.ones(1), kept[0]).tolist() == [2.0]


def test_no_tensor_is_kept_alive():
    captured = minidynamo.compile(add_length, recompile_limit=64)
    references = []
    for x, text in kinds():
        captured(x, text)
        references.append(weakref.ref(x))
        del x
    gc.collect()
    assert [reference() for reference in references if reference() is not None] == []
