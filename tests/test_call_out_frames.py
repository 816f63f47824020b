"""What the code of a custom operator sees of its callers, compiled and plain."""

import sys
import traceback
import warnings

import pytest

import minidynamo
from minidynamo import Tensor, library

HERE = __file__


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 2.0])


def users_stack():
    """(function, line, globals) of this file's callers, innermost first, up to the test."""
    found, frame = [], sys._getframe(1)
    while frame is not None and not frame.f_code.co_name.startswith("test_"):
        if frame.f_code.co_filename == HERE:
            found.append((frame.f_code.co_name, frame.f_lineno, frame.f_globals is globals()))
        frame = frame.f_back
    return found


SEEN = []
ACTIONS = {
    "look": lambda: SEEN.append(users_stack()),
    "warn": lambda: warnings.warn("from the kernel", stacklevel=4),
    "fail": lambda: 1 / 0,
    "nothing": lambda: None,
}


@library.custom_op("frames::call", mutates_args=())
def call(x: Tensor, what: str) -> Tensor:
    ACTIONS[what]()
    return x * 2


call.register_fake(lambda x, what: x.new_empty(x.size()))


@library.custom_op("frames::write", mutates_args=("x",))
def write(x: Tensor, what: str) -> None:
    x.add_(1)
    ACTIONS[what]()


def plain(x, what):
    y = x + 1
    z = call(y, what)
    return z * 2


def inner(x, what, *more, key=3):
    cell = x

    def use():
        return cell

    y = call(x, what)
    return y + key


def nested(x, what):
    y = x + 1
    y = inner(y, what, 1, 2)
    return inner(y, what) + 1


def in_a_loop(x, what):
    for number in range(3):
        x = call(x, what)
        x = call(
            x,
            what,
        )
    return x


class Thing:
    def __init__(self, n):
        self.n = n

    def method(self, x, what):
        return call(x, what) + self.n

    def __call__(self, x, what):
        return self.method(x, what) * 2


THING = Thing(3)


def methods(x, what):
    return THING(x, what) + 1


def a_closure(x, what):
    def local(y):
        return call(y, what) + x

    return local(x + 1)


def a_lambda(x, what):
    return (lambda y: call(y, what))(x) + 1


def recursive(x, what, depth=3):
    if depth == 0:
        return call(x, what)
    return recursive(x + 1, what, depth - 1)


def after_a_break(x, what):
    x = x + 1
    minidynamo._dynamo.graph_break()
    return nested(x, what)


def break_in_a_callee(x, what):
    def broken(y):
        y = y + 1
        minidynamo._dynamo.graph_break()
        return call(y, what)

    return broken(x) + 1


def always_raises_after(x, what):
    call(x, what)
    raise KeyError("after")


def no_return_in_the_callee(x, what):
    try:
        always_raises_after(x, what)
    except KeyError:
        return x


def writes(x, what):
    write(x, what)
    y = x + 1
    write(y, what)
    return x + y


def keyword_only(x, *, what):
    return call(x, what=what)


def keywords(x, what):
    return keyword_only(x, what=what) + 1


def with_modes(x, what):
    with minidynamo.no_grad():
        y = x + 1
    return call(y, what)


FUNCTIONS = [
    plain,
    nested,
    in_a_loop,
    methods,
    a_closure,
    a_lambda,
    recursive,
    after_a_break,
    break_in_a_callee,
    no_return_in_the_callee,
    writes,
    keywords,
    with_modes,
]
WHOLE = [each for each in FUNCTIONS if each not in (after_a_break, break_in_a_callee, no_return_in_the_callee)]


def observe(function, what):
    """What a call showed: stack, warnings with their places, or the traceback; and the result."""
    SEEN.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(ones(), what).tolist()
        except ZeroDivisionError as error:
            entries = traceback.extract_tb(error.__traceback__)
            result = [(entry.name, entry.lineno) for entry in entries if entry.filename == HERE][1:]
    return result, list(SEEN), [(str(each.message), each.filename, each.lineno) for each in caught]


@pytest.mark.parametrize("backend", ["onednn", "eager"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_stack_that_an_operator_sees(function, backend):
    expected = observe(function, "look")
    assert expected[1]
    compiled = minidynamo.compile(function, backend=backend, fullgraph=function in WHOLE)
    for _ in range(2):
        assert observe(compiled, "look") == expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_warnings_have_the_users_line(function):
    expected = observe(function, "warn")
    assert expected[2] and all(place == HERE for _, place, _ in expected[2])
    compiled = minidynamo.compile(function, fullgraph=function in WHOLE)
    for _ in range(2):
        assert observe(compiled, "warn") == expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_tracebacks(function):
    expected = observe(function, "fail")
    assert expected[0][-1] == ("<lambda>", expected[0][-1][1])
    compiled = minidynamo.compile(function, fullgraph=function in WHOLE)
    for _ in range(2):
        assert observe(compiled, "fail") == expected
    # And it goes on working.
    assert compiled(ones(), "nothing").tolist() == function(ones(), "nothing").tolist()


def test_locals_are_the_arguments_of_the_outer_frame_and_nothing_wrong():
    seen = []
    ACTIONS["locals"] = lambda: seen.append([dict(frame.f_locals) for frame in (sys._getframe(3), sys._getframe(4))])
    compiled = minidynamo.compile(nested, fullgraph=True)
    x = ones()
    compiled(x, "locals")
    for innermost, outer in seen:
        assert all(innermost[name] is not None for name in innermost)
        assert outer["x"] is x and outer["what"] == "locals"


def test_an_operator_that_calls_compiled_code():
    SEEN.clear()
    other = minidynamo.compile(lambda x: call(x + 1, "look"), fullgraph=True)

    @library.custom_op("frames::outer", mutates_args=())
    def outer(x: Tensor) -> Tensor:
        return other(x) * 2

    outer.register_fake(lambda x: x.new_empty(x.size()))
    compiled = minidynamo.compile(lambda x: outer(x) + 1, fullgraph=True)
    assert compiled(ones()).tolist() == [9.0, 13.0]
    names = [name for name, _, _ in SEEN[0]]
    assert names == ["<lambda>", "call", "<lambda>", "outer", "<lambda>"]


def test_a_graph_that_is_run_elsewhere_links_no_frames():
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    minidynamo.compile(plain, backend=keep)(ones(), "nothing")
    SEEN.clear()
    what = ACTIONS["nothing"]
    ACTIONS["nothing"] = ACTIONS["look"]
    try:
        (result,) = graphs[0](ones())
    finally:
        ACTIONS["nothing"] = what
    assert result.tolist() == plain(ones(), "nothing").tolist()
    assert [name for name, _, _ in SEEN[0]] == ["<lambda>", "call"]


def test_allow_in_graph_sees_them_too():
    SEEN.clear()

    @minidynamo.compiler.allow_in_graph
    def opaque(x):
        if x.sum is not None and not minidynamo._C._is_fake(x):
            SEEN.append(users_stack())
        return x * 2

    def caller(x):
        y = opaque(x + 1)
        return y + 1

    assert minidynamo.compile(caller, fullgraph=True)(ones()).tolist() == [5.0, 7.0]
    assert [name for name, _, _ in SEEN[0]] == ["opaque", "caller"]


def test_recursion_that_is_too_deep_is_an_error_of_the_call():
    def deep(x, depth):
        return call(x, "nothing") if depth == 0 else deep(x, depth - 1)

    compiled = minidynamo.compile(lambda x: deep(x, 20), fullgraph=True)
    assert compiled(ones()).tolist() == [2.0, 4.0]

    def down(levels):
        return compiled(ones()) if levels == 0 else down(levels - 1)

    limit = sys.getrecursionlimit()
    outcomes = set()
    for levels in range(limit - 120, limit):
        try:
            outcomes.add(tuple(down(levels).tolist()))
        except RecursionError:
            outcomes.add("too deep")
    assert outcomes == {(2.0, 4.0), "too deep"}
    assert compiled(ones()).tolist() == [2.0, 4.0]
