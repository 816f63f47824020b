"""Recursion reaches the same depth as in eager Python, and ends there with the same exception."""

import subprocess
import sys
import textwrap

import pytest

# Each takes (x, n) and calls itself n deep.
KINDS = {
    "function": """
def f(x, n):
    return x if n == 0 else f(x + 1, n - 1)
""",
    "numbers alone": """
def count(n):
    return 0 if n == 0 else 1 + count(n - 1)
def f(x, n):
    return x + count(n)
""",
    "two functions": """
def f(x, n):
    return x if n == 0 else g(x + 1, n - 1)
def g(x, n):
    return x if n == 0 else f(x + 1, n - 1)
""",
    "method": """
class C:
    def f(self, x, n):
        return x if n == 0 else self.f(x + 1, n - 1)
f = C().f
""",
    "closure": """
def make():
    def f(x, n):
        return x if n == 0 else f(x + 1, n - 1)
    return f
f = make()
""",
    "keyword arguments and defaults": """
def f(x, n, *, step=1, **rest):
    return x if n == 0 else f(x + step, n=n - 1, step=step, **rest)
""",
    "a break at each level": """
def f(x, n):
    if n == 0:
        return x
    breaks()
    return f(x + 1, n - 1) * 1
""",
    "handlers": """
def f(x, n):
    try:
        return x if n == 0 else f(x + 1, n - 1)
    finally:
        x = None
""",
    "raised from the bottom": """
def down(x, n):
    if n == 0:
        raise KeyError("bottom")
    return down(x + 1, n - 1)
def f(x, n):
    try:
        return down(x, n)
    except KeyError:
        return x + n
""",
    "limit caught": """
def down(x, n):
    return x if n == 0 else down(x + 1, n - 1)
def f(x, n):
    try:
        return down(x, n)
    except RecursionError as error:
        return x + len(str(error))
""",
    "decorated": """
import functools
def same(g):
    @functools.wraps(g)
    def call(*args):
        return g(*args)
    return call
@same
def f(x, n):
    return x if n == 0 else f(x + 1, n - 1)
""",
}

PROGRAM = """
import sys, threading
import minidynamo as md

@md._dynamo.disable
def breaks():
    pass

{source}

plain, compiled = f, md.compile(f{options})
{after}

def outcome(g, n):
    try:
        return g(md.zeros(1), n).item()
    except RecursionError as error:
        return repr(error)

def work():
    sys.setrecursionlimit({limit})
    for n in {depths}:
        wanted, got = outcome(plain, n), outcome(compiled, n)
        again = outcome(compiled, n)
        print("same" if wanted == got == again else (n, wanted, got, again))
    print("done")

if {stack} == 0:
    work()
else:
    threading.stack_size({stack})
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


def run(source, depths, limit, stack=0, after="", options=""):
    program = PROGRAM.format(source=source, depths=depths, limit=limit, stack=stack, after=after, options=options)
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=560
    )
    assert ended.returncode == 0 and "Traceback" not in ended.stderr, (ended.returncode, ended.stderr)
    return ended.stdout.splitlines()


MIB = 1 << 20


# Calls with *args and **kwargs go through C code in eager Python as well: 20,000 of them overflow the main thread's
# stack.
USES_C_STACK = {"keyword arguments and defaults", "decorated"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_raised_limit(kind):
    assert run(KINDS[kind], (5000, 4000 if kind in USES_C_STACK else 20000), 10**6) == ["same"] * 2 + ["done"]


# CPython 3.13 frees a traceback entry by entry, each in a C call within the last, up to 10,000 deep: on 256 KiB more
# than some 8,000 entries crash eager Python too.
def deepest(kind, stack):
    overflows = sys.version_info[:2] == (3, 13) and kind == "raised from the bottom" and stack < MIB
    return 5000 if overflows else 20000


@pytest.mark.parametrize("stack", [256 * 1024, MIB, 64 * MIB])
@pytest.mark.parametrize("kind", ["function", "numbers alone", "a break at each level", "raised from the bottom"])
def test_threads_with_stacks_of_all_sizes(kind, stack):
    assert run(KINDS[kind], (10, 1000, deepest(kind, stack)), 10**6, stack) == ["same"] * 3 + ["done"]


# From well below the limit to well above; which depths are near it depends on how many frames the program itself has.
@pytest.mark.parametrize("kind", KINDS)
def test_ordinary_limit(kind):
    assert run(KINDS[kind], (10, 400, 800, 1100, 3000, 50), 1000) == ["same"] * 6 + ["done"]


@pytest.mark.parametrize("limit", [60, 200, pytest.param(3000, marks=pytest.mark.slow)])
def test_other_limits(limit):
    depths = (limit // 4, limit // 2, limit - 30, limit, 2 * limit, limit // 4)
    assert run(KINDS["function"], depths, limit) == ["same"] * 6 + ["done"]


def test_exactly_the_limit():
    """The deepest call that does not raise is exactly the same one."""
    assert run(KINDS["function"], tuple(range(80, 101)), 100) == ["same"] * 21 + ["done"]
    assert run(KINDS["numbers alone"], tuple(range(80, 101)), 100) == ["same"] * 21 + ["done"]


FEW_LEFT = """
import sys
import minidynamo as md
from minidynamo._dynamo.eval_frame import enable_everywhere

def down(n):
    return 1 + down(n - 1) if n else 0

class C:
    def down(self, n):
        return n and down(n - 1)

def method_down(n):
    return C().down(n)

def depth():
    frame, count = sys._getframe(1), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count

def outcome(call, room, n):
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(depth() + room)
        return call(n)
    except RecursionError as error:
        # Its text depends on what the interpreter has specialised: a comparison is not always a call.
        return type(error)
    finally:
        sys.setrecursionlimit(limit)

def outcomes(call):
    return [(room, n, outcome(call, room, n)) for room in range(3, 24) for n in range(24)]

for plain in (down, method_down):
    wanted = outcomes(plain)
    for _ in range(2):
        with enable_everywhere():
            got = outcomes(plain)
        print([pair for pair in zip(wanted, got) if pair[0] != pair[1]])
"""


def test_few_calls_left():
    """Inlined calls of a region, few or many, do not exceed the limit."""
    ended = subprocess.run([sys.executable, "-c", FEW_LEFT], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["[]"] * 4


# The recursion goes through the compiled function itself: C code at each level, which fits on a large stack.
def test_compiled_at_each_level():
    source = """
def f(x, n):
    return x if n == 0 else g(x + 1, n - 1)
g = f
"""
    twin = """
plain_source = plain
def twin(x, n):
    return x if n == 0 else twin(x + 1, n - 1)
plain, g = twin, compiled
"""
    assert run(source, (1000, 3000, 8000, 20000), 50000, 512 * MIB, twin) == ["same"] * 4 + ["done"]


def test_the_hook_is_restored():
    """After a recursion that paused the hook, frames are captured as before."""
    after = """
import atexit
def later(x):
    breaks()
    return inner(x) + 1
def inner(x):
    breaks()
    return x * 2
def report():
    md._dynamo.reset()
    md.compile(later)(md.ones(1))
    print(md._dynamo.explain(later)(md.ones(1)).graph_count)
    sys.stdout.flush()
atexit.register(report)
"""
    lines = run(KINDS["function"], (20000,), 10**6, 0, after)
    assert lines[:2] == ["same", "done"] and lines[2:] == run(KINDS["function"], (), 10**6, 0, after)[1:]
