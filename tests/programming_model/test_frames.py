"""The program's frames, as a callee, a traceback and the collector see them, are those of eager Python."""

import gc
import subprocess
import sys
import traceback
import types
import warnings
from pathlib import Path

import pytest

import minidynamo
from minidynamo._dynamo import graph_break

SEEN = []


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    SEEN.clear()


def ones():
    return minidynamo.tensor([1.0, 1.0])


@minidynamo.compiler.disable
def look(depth=1):
    """Records the stack above: code object and line relative to its function, for each frame of this file."""
    frame = sys._getframe(depth)
    stack = []
    while frame is not None:
        if frame.f_code.co_filename == __file__:
            stack.append((frame.f_code, frame.f_lineno - frame.f_code.co_firstlineno))
        frame = frame.f_back
    SEEN.append(stack)


def leaf(x):
    x = x + 1
    look()
    return x * 2


def middle(x):
    with minidynamo.no_grad():
        y = leaf(x)
    return y + 1


def root(x):
    y = x * 3
    for _ in range(2):
        y = y + 1
        look()
    return middle(y)


def stacks_of(function):
    SEEN.clear()
    result = function(ones()).tolist()
    own = [[entry for entry in stack if entry[0] in (leaf.__code__, middle.__code__, root.__code__)] for stack in SEEN]
    others = {code.co_name for stack in SEEN for code, _ in stack} - {"leaf", "middle", "root"}
    return result, own, others


def test_callees_see_the_users_frames_and_lines():
    plain = stacks_of(root)
    compiled = minidynamo.compile(root)
    for _ in range(3):
        assert stacks_of(compiled) == plain
    assert plain[1][-1] == [(leaf.__code__, 2), (middle.__code__, 2), (root.__code__, 5)]


def test_a_frame_kept_by_a_callee_stays_readable():
    kept = []

    @minidynamo.compiler.disable
    def keep():
        kept.append(sys._getframe(1))

    def function(x):
        n = 3
        y = x + 1
        keep()
        return y * n

    code = function.__code__
    minidynamo.compile(function)(ones())
    (frame,) = kept
    assert frame.f_code is code
    assert frame.f_locals["n"] == 3
    assert frame.f_locals["y"].tolist() == [2.0, 2.0]


def code_objects():
    """All code objects reachable from any object known to the collector."""
    found = {}
    todo = [o for thing in gc.get_objects() for o in gc.get_referents(thing) if type(o) is types.CodeType]
    while todo:
        code = todo.pop()
        if id(code) not in found:
            found[id(code)] = code
            todo.extend(const for const in code.co_consts if type(const) is types.CodeType)
    return found


def test_no_code_object_is_created():
    """In a process of its own: what other tests have left is not looked through."""
    command = "import test_frames; test_frames.hold_that_no_code_object_is_created()"
    done = subprocess.run([sys.executable, "-c", command], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def hold_that_no_code_object_is_created():
    compiled = minidynamo.compile(root)
    compiled(ones())  # imports the modules that the engine imports on its first capture
    minidynamo._dynamo.reset()
    before = code_objects()
    for _ in range(2):
        compiled(ones())
        minidynamo.compile(middle)(ones())
    new = [code for key, code in code_objects().items() if key not in before]
    assert new == []
    assert compiled.__wrapped__.__code__ is root.__code__


def raises_deep(x):
    y = x + 1
    graph_break()
    return raises_here(y)


def raises_here(y):
    y = y * 2
    raise ValueError(f"of {len(y)}")


def test_traceback_has_the_users_frames_only():
    compiled = minidynamo.compile(raises_deep)
    for _ in range(3):
        with pytest.raises(ValueError, match="of 2") as caught:
            compiled(ones())
        frames = traceback.extract_tb(caught.value.__traceback__)
        names = [frame.name for frame in frames]
        assert names == ["test_traceback_has_the_users_frames_only", "raises_deep", "raises_here"]
        assert [frame.line for frame in frames[1:]] == ["return raises_here(y)", 'raise ValueError(f"of {len(y)}")']


def failing_op(x):
    y = x + 1
    z = y * 2
    return z @ minidynamo.tensor([1.0, 2.0, 3.0])


def test_an_op_fails_at_its_own_line():
    with pytest.raises(RuntimeError) as plain:
        failing_op(ones())
    compiled = minidynamo.compile(failing_op)
    for _ in range(2):
        with pytest.raises(RuntimeError) as caught:
            compiled(ones())
        assert str(caught.value) == str(plain.value)
        assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "failing_op"
        assert traceback.extract_tb(caught.value.__traceback__)[-1].line.startswith("return z @")


def warns(x):
    y = x + 1
    warnings.warn("careful", stacklevel=2)
    return y * 2


def test_warnings_name_the_right_line():
    places = []
    for function in (warns, minidynamo.compile(warns)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(ones())
        places.append([(w.filename, w.lineno, str(w.message)) for w in caught])
    assert places[0] == places[1]


@pytest.mark.parametrize("kind", ["settrace", "setprofile"])
def test_tracers_see_a_compiled_function_as_plain(kind):
    install = getattr(sys, kind)

    def events_of(function):
        events = []

        def tracer(frame, event, arg):
            if frame.f_code in (root.__code__, middle.__code__, leaf.__code__) and event in ("call", "line", "return"):
                events.append((frame.f_code.co_name, event, frame.f_lineno))
            return tracer

        install(tracer)
        try:
            function(ones())
        finally:
            install(None)
        return events

    compiled = minidynamo.compile(root)
    compiled(ones())
    plain = events_of(root)
    assert len(plain) > 4
    assert events_of(compiled) == plain
    assert compiled(ones()).tolist() == root(ones()).tolist()


def test_attributes_of_a_compiled_function():
    import inspect

    def function(x: int, *, k=2) -> int:
        """Doc."""
        return x * k

    compiled = minidynamo.compile(function)
    assert compiled.__name__ == "function"
    assert compiled.__doc__ == "Doc."
    assert compiled.__wrapped__ is function
    assert inspect.signature(compiled) == inspect.signature(function)
    assert compiled.__module__ == __name__


def test_reference_counts_stay():
    x = ones()
    items = [1, 2]

    def function(x, items):
        y = x + len(items)
        graph_break()
        return y * 2

    compiled = minidynamo.compile(function)
    compiled(x, items)
    before = sys.getrefcount(x), sys.getrefcount(items)
    for _ in range(100):
        compiled(x, items)
    assert (sys.getrefcount(x), sys.getrefcount(items)) == before
