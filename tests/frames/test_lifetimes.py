"""Objects die when they do in eager Python, as far as the program can observe: in order with its other effects,
except in cycles."""

import gc

import pytest

import minidynamo
from minidynamo._dynamo import graph_break

LOG = []


class Noisy:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        LOG.append(self.name)


def closing(log):
    try:
        while True:
            yield 1
    finally:
        log.append("closed")


def generator_deleted(x):
    generator = closing(LOG)
    next(generator)
    graph_break()
    del generator
    LOG.append("after")
    return x + 1


def generator_overwritten(x):
    generator = closing(LOG)
    next(generator)
    graph_break()
    generator = x * 2
    LOG.append("after")
    return generator


def loop_left_early(x):
    for number in closing(LOG):
        graph_break()
        if number == 1:
            break
    LOG.append("after")
    return x


def left_with_a_generator(x):
    generator = closing(LOG)
    next(generator)
    graph_break()
    return x + 1


def generator_of_a_callee(x):
    y = left_with_a_generator(x)
    LOG.append("after")
    return y * 2


def object_deleted(x):
    noisy = Noisy("noisy")
    graph_break()
    del noisy
    LOG.append("after")
    return x


def object_overwritten(x):
    noisy = Noisy("first")
    graph_break()
    noisy = Noisy("second")
    LOG.append("after")
    graph_break()
    return x, noisy.name


@pytest.mark.parametrize("stress", [0, 1, 3])
@pytest.mark.parametrize(
    "function",
    [
        generator_deleted, generator_overwritten, loop_left_early, left_with_a_generator, generator_of_a_callee, object_deleted,
        object_overwritten,
    ],
)  # fmt: skip
def test_deaths_keep_their_place(function, stress):
    x = minidynamo.ones(3)
    LOG.clear()
    function(x)
    expected = LOG.copy()
    compiled = minidynamo.compile(function, backend="eager")
    with minidynamo._dynamo.config.patch(snapshot_stress=stress):
        for _ in range(3):
            LOG.clear()
            compiled(x)
            assert LOG == expected


def exception_handled(x):
    noisy = Noisy("died")  # noqa: F841
    graph_break()
    try:
        raise ValueError("planned")
    except ValueError as error:
        kind = type(error.__cause__)  # noqa: F841
    return x + 1


def exception_handled_after_a_break(x):
    noisy = Noisy("died")  # noqa: F841
    try:
        raise ValueError("planned")
    except ValueError as error:  # noqa: F841
        graph_break()
    return x + 1


def inner_exception(x):
    return exception_handled_after_a_break(x) * 2


@pytest.mark.parametrize("function", [exception_handled, exception_handled_after_a_break, inner_exception])
def test_a_handled_exception_leaves_no_cycle(function):
    x = minidynamo.ones(3)
    compiled = minidynamo.compile(function, backend="eager")
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            LOG.clear()
            compiled(x)
            assert LOG == ["died"]
    finally:
        gc.enable()


def kept_frame(x, frames):
    number = 1
    gone = "here"
    try:
        raise ValueError("planned")
    except ValueError as error:
        frames.append(error.__traceback__.tb_frame)
        graph_break()
    number = 2  # noqa: F841
    del gone
    return x + 1


def test_a_frame_that_was_kept_shows_the_last_locals():
    compiled = minidynamo.compile(kept_frame, backend="eager")
    for _ in range(2):
        frames = []
        compiled(minidynamo.ones(3), frames)
        assert frames[0].f_locals["number"] == 2
        assert not {"gone", "error"} & set(frames[0].f_locals)
