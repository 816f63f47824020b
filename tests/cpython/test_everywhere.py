"""CPython's own tests pass in everywhere mode if they pass under an idle hook; and tests of the mode itself."""

import functools
import json
import subprocess
import sys
import threading
import unittest

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import eval_frame

from .modules import QUICK, all_modules
from .outcomes import Outcomes
from .running import exists, lost, outside, run

needs_tests = pytest.mark.skipif(not exists("test_grammar"), reason="this Python has no test package")
# Frames of pytest itself would be driven, so counters are read in separate processes.
pytestmark = pytest.mark.skipif(not _C.frame_evaluation, reason="no frame evaluator for this Python")


@functools.cache
def idle_run(module):
    return run(module, "idle")[0]


def compare(module, way):
    idle, (found, messages) = idle_run(module), run(module, way)
    assert "error" not in idle, idle
    without_reason = [test for test, reason in lost(idle, found).items() if reason is None]
    assert not without_reason, messages[-5000:]
    return found["counters"]


@needs_tests
@pytest.mark.parametrize("way", ["everywhere", "stressed"])
@pytest.mark.parametrize("module", QUICK)
def test_quick_module(module, way):
    counters = compare(module, way)
    assert outside(counters) > 0.7
    assert counters["snapshots_restored"] > 1000
    assert "internal_error" not in counters["hand_overs"]


@needs_tests
@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["everywhere", "stressed"])
@pytest.mark.parametrize("module", [module for module in all_modules() if module not in QUICK])
def test_module(module, way):
    assert "internal_error" not in compare(module, way).get("hand_overs", {})


class WithAnIdOfItsOwn(unittest.TestCase):
    __test__ = False

    def setUp(self):
        self.id = 3

    def runTest(self):
        self.assertEqual(self.id, 3)


def test_outcome_of_a_test_that_has_an_attribute_called_id():
    result = Outcomes()
    WithAnIdOfItsOwn().run(result)
    assert list(result.outcomes.values()) == ["ok"]


def in_process(program):
    """Runs a program that prints a JSON object last, and returns that."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


COUNTED = """
import json, sys
from minidynamo._dynamo.eval_frame import enable_everywhere, execution_counters

def numbers(count):
    for number in range(count):
        yield number * 2

class Thing:
    def total(self):
        return sum(numbers(10)) + len(str(self))

enable_everywhere()
result = [Thing().total() > 90 for _ in range(3)]
assert all(result)
print(json.dumps(execution_counters()))
"""


def test_counters_of_translator_driver_and_interpreter():
    counters = in_process(COUNTED)
    instructions = counters["instructions"]
    assert min(instructions.values()) > 0
    assert instructions["translator"] + instructions["driver"] > instructions["interpreter"]
    assert counters["regions_run"] >= counters["frames_driven"] > 3
    assert counters["snapshots_restored"] > 3
    assert set(counters["hand_overs"]) == set(_C.hand_over_rows())


DEEP = """
import contextlib, json, sys, threading
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere

def calls(count):
    graph_break()
    return count and 1 + calls(count - 1)

def numbers(count):
    if count:
        yield from numbers(count - 1)
    yield count

def kept(function):
    known = {}
    def wrapper(*arguments):
        if arguments not in known:
            known[arguments] = function(*arguments)
        return known[arguments]
    return wrapper

# Each call is inlined, and its frame is materialised in the middle.
@kept
def steps(count):
    return count and 1 + steps(count - 1)

result = None

def run():
    global result
    with EVALUATOR:
        try:
            result = CALL
        except RecursionError:
            result = "too deep"

sys.setrecursionlimit(200000)
if SMALL:
    threading.stack_size(1 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
else:
    run()
print(json.dumps(result))
"""


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(
    "call", ["calls(100)", "calls(150000)", "next(numbers(150000))", "steps(100)", "steps(150000)"]
)
def test_deep_recursion_ends_as_in_eager_python(call, small):
    def ended(evaluator):
        program = DEEP.replace("CALL", call).replace("SMALL", str(small)).replace("EVALUATOR", evaluator)
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    plain, driven = ended("contextlib.nullcontext()"), ended("enable_everywhere()")
    # If the C stack overflows, eager Python is killed.
    if plain.returncode == 0:
        assert (driven.returncode, driven.stdout) == (0, plain.stdout), driven.stderr[-2000:]


TRACED = """
import json, sys
from minidynamo._dynamo.eval_frame import enable_everywhere, execution_counters

lines = []

def trace(frame, event, argument):
    if frame.f_code is traced.__code__ and event == "line":
        lines.append(frame.f_lineno - traced.__code__.co_firstlineno)
    return trace

def traced(value):
    value += 1
    return value

with enable_everywhere():
    sys.settrace(trace)
    traced(1)
    sys.settrace(None)
assert lines == [1, 2], lines
print(json.dumps(execution_counters()))
"""


def test_a_tracer_gets_every_frame():
    assert in_process(TRACED)["hand_overs"]["traced"] > 0


LOGGED = """
import json
import minidynamo._logging
from minidynamo._dynamo.eval_frame import enable_everywhere

def numbers():
    try:
        yield 1
    finally:
        print("closed")

with enable_everywhere():
    iterator = numbers()
    next(iterator)
    iterator.close()
print(json.dumps({}))
"""


def test_bailouts_are_logged(monkeypatch):
    monkeypatch.setenv("MINIDYNAMO_LOGS", "handover")
    done = subprocess.run([sys.executable, "-c", LOGGED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["closed", "{}"]
    assert "HAND-OVER thrown_into: numbers (<string>:6)" in done.stderr


def test_nested_and_unmatched():
    assert not _C._everywhere_enabled()
    with eval_frame.enable_everywhere():
        eval_frame.enable_everywhere()
        assert _C._everywhere_enabled()
        eval_frame.disable_everywhere()
        assert _C._everywhere_enabled()
    assert not _C._everywhere_enabled()
    with pytest.raises(RuntimeError, match="everywhere mode is not enabled"):
        eval_frame.disable_everywhere()


def test_other_threads_are_driven():
    before = eval_frame.execution_counters()["frames_driven"]
    results = []
    with eval_frame.enable_everywhere():
        thread = threading.Thread(target=lambda: results.append(sorted([3, 1, 2], key=lambda item: -item)))
        thread.start()
        thread.join()
    assert results == [[3, 2, 1]]
    assert eval_frame.execution_counters()["frames_driven"] > before


def test_compiled_functions_are_compiled_all_the_same():
    @minidynamo.compile
    def function(x):
        return x * 2 + 1

    with eval_frame.enable_everywhere():
        assert function(minidynamo.ones(3)).tolist() == [3.0, 3.0, 3.0]
