"""Arrays are iterated over by index: each element is what it is when it is asked for, before and after graph breaks."""

import itertools
import os

import numpy as np
import pytest
from compared import mismatch

import minidynamo


def broken():
    """A graph break."""
    open(os.devnull).close()


def written_meanwhile(x):
    total = []
    for value in x:
        total.append(value * 2)
        x[:] = x + 1
    return total


def written_after_a_break(x):
    total = []
    for value in x:
        total.append(value * 2)
        broken()
        x[:] = x + 1
    return total


def written_before_the_next(x):
    iterator = iter(x)
    first = next(iterator) * 2
    x[1] = 50
    second = next(iterator)
    broken()
    x *= 3
    return first, second, list(iterator), list(iterator)


def other_array_of_the_name(x):
    total = []
    for value in x:
        total.append(value)
        x = x + 1
    return total, x


def enumerated(x):
    found = []
    for place, (left, right) in enumerate(zip(x, x[::-1], strict=True)):
        x[-1 - place] = left + 10
        found.append(left - right)
        if place == 1:
            broken()
    return found, x


def unpacked(x):
    first, *others = x
    x[:] = 7
    return first, others


def iterator_of_its_type(x):
    iterator = iter(x)
    next(iterator)
    broken()
    return type(iterator).__name__, iterator.__length_hint__(), x + 1


def ended(x):
    iterator = iter(x)
    found = list(iterator)
    broken()
    return found, next(iterator, None), x + 1


def in_a_comprehension(x):
    return [value + 1 for value in x], sum(x), max(x.ravel())


def by_map(x):
    iterator = map(lambda value: value * 2, x)
    first = next(iterator)
    x += 1
    return first, list(iterator)


def by_generator(x):
    iterator = (value for value in x)
    first = next(iterator)
    x += 1
    return first, list(iterator)


def chained(x):
    iterator = itertools.chain(x, x)
    first = next(iterator)
    x += 1
    return first, list(iterator)


def nothing_to_iterate_over(x):
    return [value for value in x.sum()]


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]
PROGRAMS.remove(broken)
ARRAYS = {
    "vector": np.arange(4.0),
    "integers": np.arange(5),
    "steps": np.arange(8.0)[::2],
    "backwards": np.arange(5.0)[::-1],
    "matrix": np.arange(12.0).reshape(4, 3),
    "long": np.arange(200.0),
}


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("checked", [0, 10])
def test_elements_are_what_they_then_are(program, array, checked):
    with minidynamo._dynamo.config.patch(check_captures=checked):
        assert mismatch(program, [ARRAYS[array]], calls=3) == ""
