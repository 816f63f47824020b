"""How often a function is traced until its region ends: a break below pending calls costs two traces, however many
calls there are."""

import logging
import time

import pytest

import minidynamo as torch


def leaf(value):
    time.sleep(0)  # a C function that capture does not know
    return value


def through_max(value, inner):
    return max([value], key=inner)


def through_sorted(value, inner):
    return sorted([value], key=inner)[0]


def through_a_call(value, inner):
    return inner(value)


def through_a_class(value, inner):
    class Holder:
        def __init__(self):
            self.value = inner(value)

    return Holder().value


def through_an_operator(value, inner):
    class Number:
        def __add__(self, other):
            return inner(other)

    return Number() + value


def program(step, depth):
    inner = leaf
    for _ in range(depth):

        def inner(value, below=inner):
            return step(value, below)

    def whole(x):
        y = x + 1
        inner(1)
        return y * 2

    return whole


class Traces(logging.Handler):
    """Counts the traces that pass a line."""

    def __init__(self, line):
        super().__init__()
        self.place = f":{line} in whole "
        self.count = 0

    def emit(self, record):
        self.count += "starts_line" in record.getMessage() and self.place in record.getMessage()


@pytest.mark.parametrize("step", [through_max, through_sorted, through_a_call, through_a_class, through_an_operator])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_a_break_below_pending_calls_costs_two_traces(step, depth):
    torch._dynamo.reset()
    whole = program(step, depth)
    logger = logging.getLogger("minidynamo")
    traces = Traces(whole.__code__.co_firstlineno + 1)
    torch._logging.set_logs(trace_source=True)
    logger.addHandler(traces)
    try:
        result = torch.compile(whole)(torch.ones(3))
    finally:
        logger.removeHandler(traces)
        torch._logging.set_logs()
    assert result.tolist() == [4.0, 4.0, 4.0]
    assert 1 <= traces.count <= 2
