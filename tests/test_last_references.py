"""What an object does when it dies happens where plain Python lets it die, also when it was made before a break."""

import pytest

import minidynamo
from minidynamo._dynamo import graph_break

LOG = []


class Dying:
    def __init__(self):
        self.count = 0

    def __del__(self):
        LOG.append("died")

    def method(self, value):
        return value

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__

    def __add__(self, other):
        return other

    def __getitem__(self, key):
        return key

    def __call__(self, value):
        return value

    def __enter__(self):
        return 1

    def __exit__(self, *error):
        return True

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > 2:
            raise StopIteration
        return self.count


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def paused(value):
    graph_break()
    return value


def second(first, value):
    return value


def closing(stop):
    try:
        yield from range(stop)
    finally:
        LOG.append("closed")


def argument(x):
    y = second(Dying(), paused(x))
    LOG.append("after")
    return y + 1


def element_of_tuple(x):
    y = (Dying(), paused(x))[1]
    LOG.append("after")
    return y + 1


def method(x):
    y = Dying().method(paused(x))
    LOG.append("after")
    return y + 1


def comparison(x):
    y = Dying() == paused(x)
    LOG.append("after")
    return x + y


def addition(x):
    y = Dying() + paused(x)
    LOG.append("after")
    return y + 1


def subscript(x):
    y = Dying()[paused(1)]
    LOG.append("after")
    return x + y


def call(x):
    y = Dying()(paused(x))
    LOG.append("after")
    return x + y


def manager(x):
    with Dying():
        x = paused(x) + 1
    LOG.append("after")
    return x + 1


def manager_that_swallows(x):
    with Dying():
        x = paused(x) + 1
        raise ValueError
    LOG.append("after")
    return x + 1


def iterator(x):
    for number in Dying():
        x = paused(x) + number
    LOG.append("after")
    return x + 1


def unpacked(x):
    a, b = Dying() if paused(True) else (1, 2)
    LOG.append("after")
    return x + a


def overwritten_list(x):
    y = [Dying(), paused(x)]
    y = y[1]
    LOG.append("after")
    return x + y


def unset_container(x):
    y = {"a": [(Dying(), 2)]}
    paused(x)
    y = None
    LOG.append("after")
    return x + 1 if y is None else x


def popped(x):
    y = [Dying()]
    paused(x)
    y.pop()
    LOG.append("after")
    return x + 1


def cleared(x):
    y = {"a": Dying()}
    paused(x)
    y.clear()
    LOG.append("after")
    return x + 1


def left_by_exception(x):
    with Swallowing():
        for number in closing(3):
            x = paused(x) * number
            raise ValueError
    LOG.append("after")
    return x + 1


def left_by_exception_of_a_call(x):
    try:
        for number in closing(3):
            paused(x)
            second(int("no"), number)
    except ValueError:
        pass
    LOG.append("after")
    return x + 1


def left_by_break(x):
    for number in closing(3):
        x = paused(x) + number
        break
    LOG.append("after")
    return x + 1


def returned_from(x):
    for number in closing(3):
        return paused(x) + number


FUNCTIONS = [
    argument,
    element_of_tuple,
    method,
    comparison,
    addition,
    subscript,
    call,
    manager,
    manager_that_swallows,
    iterator,
    unpacked,
    overwritten_list,
    unset_container,
    popped,
    cleared,
    left_by_exception,
    left_by_exception_of_a_call,
    left_by_break,
    returned_from,
]


def outcome(function):
    LOG.clear()
    return function(minidynamo.ones(3)).tolist(), LOG[:]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_dies_in_its_place(function):
    expected = outcome(function)
    assert expected[1]
    compiled = minidynamo.compile(function)
    for _ in range(3):
        assert outcome(compiled) == expected
