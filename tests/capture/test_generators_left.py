"""A generator that has not started is what a captured function returns or keeps over a break; one that has started ends
the region before it."""

import sys

import pytest

import minidynamo
from minidynamo import ones


def with_arguments(x):
    def scaled(a, b=5, *rest, k=2, **more):
        yield a
        yield a * k, b, rest, more

    return x + 1, scaled(x, 3, 4, k=3, last=x)


def expression(x):
    return (v * x for v in [1, 2, 3])


def over_a_list_that_grows(x):
    values = [1]
    products = (v * x for v in values)
    values.append(2)
    return products, values


def of_a_generator(x):
    numbers = (v for v in range(3))
    return numbers, (v * x for v in numbers)


def twice_the_same(x):
    products = (v * x for v in [1, 2])
    return products, products


def in_a_dict_over_a_break(x):
    held = {"sum": (v for v in range(3))}
    y = x + 1
    minidynamo._dynamo.graph_break()
    return y + sum(held["sum"])


def a_method(x):
    class Box:
        def each(self):
            yield self.value

    box = Box()
    box.value = x * 2
    return box.each()


def started(x):
    products = (v * x for v in [1, 2, 3])
    next(products)
    return products


def started_with_a_handler(x):
    seen = []

    def noting():
        try:
            yield x
            yield x + 1
        finally:
            seen.append("end")

    generator = noting()
    next(generator)
    return generator, seen


def exhausted(x):
    products = (v * x for v in [1])
    list(products)
    return x, products


def wrong_arguments(x):
    def one(a):
        yield a

    return x + 1, one()


def with_effects_of_its_body(x):
    seen = []

    def noting():
        seen.append("begun")
        yield x

    return noting(), seen


WHOLE = [
    with_arguments,
    expression,
    over_a_list_that_grows,
    of_a_generator,
    twice_the_same,
    a_method,
    with_effects_of_its_body,
]
FUNCTIONS = [
    *WHOLE,
    in_a_dict_over_a_break,
    started,
    started_with_a_handler,
    exhausted,
    wrong_arguments,
]


def _shown(value):
    if isinstance(value, (tuple, list)):
        return [_shown(item) for item in value]
    if hasattr(value, "gi_frame"):
        left = _shown(list(value))
        return value.__qualname__, left, value.gi_frame is None
    return repr(value)


def _observed(function):
    try:
        result = function(ones(2))
    except Exception as error:
        return type(error), str(error)
    same = len({id(item) for item in result}) if isinstance(result, tuple) else None
    return _shown(result), same


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_as_plain_code(function):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, fullgraph=function in WHOLE)
    for _ in range(3):
        assert _observed(compiled) == _observed(function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_captures_are_checked(function):
    minidynamo._dynamo.reset()
    with minidynamo._dynamo.config.patch(check_captures=10):
        compiled = minidynamo.compile(function)
        for _ in range(3):
            assert _observed(compiled) == _observed(function)


def dropped(body):
    """A function that leaves a generator suspended in a `try` whose `finally` runs `body`."""

    def function(x, log):
        def guarded():
            try:
                yield 1
            finally:
                yield from body(log)

        generator = guarded()
        y = x * next(generator)
        log.append("end")
        return y

    return function


def ends(log):
    log.append("closed")
    yield from ()


def raises(log):
    log.append("raises")
    yield from ()
    raise KeyError("not seen")


def yields(log):
    log.append("yields")
    yield 2


def breaks(log):
    minidynamo._dynamo.graph_break()
    log.append("broken")
    yield from ()


@pytest.mark.parametrize("body", [ends, raises, yields, breaks])
def test_generators_that_die_suspended(body, monkeypatch):
    """What closing them raises goes to sys.unraisablehook, as in eager Python."""
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append((report.exc_type, str(report.exc_value))))
    function = dropped(body)

    def seen(callee):
        reported.clear()
        log = []
        return callee(ones(2), log).tolist(), log, list(reported)

    for checked in (0, 10):
        minidynamo._dynamo.reset()
        with minidynamo._dynamo.config.patch(check_captures=checked):
            compiled = minidynamo.compile(function)
            for _ in range(3):
                assert seen(compiled) == seen(function)
