"""Programs as people write them, each with arguments that are drawn anew for a test."""

import numpy as np

PROGRAMS = {}


def program(*arguments):
    """arguments: functions that draw them from a generator."""

    def enter(function):
        PROGRAMS[function.__name__] = (function, arguments)
        return function

    return enter


def drawn(name):
    """The program and its arguments."""
    function, arguments = PROGRAMS[name]
    return function, [draw(np.random.default_rng(place)) for place, draw in enumerate(arguments)]


def normal(*shape, dtype="f8"):
    return lambda generator: generator.standard_normal(shape).astype(dtype)


def uniform(*shape, dtype="f8"):
    return lambda generator: generator.random(shape).astype(dtype)


def ints(low, high, *shape, dtype="i8"):
    return lambda generator: generator.integers(low, high, shape).astype(dtype)


def constant(value):
    return lambda generator: value
