"""A process ends cleanly whatever its daemon threads are doing, and however it ends."""

import subprocess
import sys
import textwrap

import pytest

RUNS = 4

# The loop of a daemon thread: each releases and takes the GIL at another point below this library's frames.
STAGES = {
    "plan without the GIL": "f(md.ones(200_000))",
    "plan with the GIL": "f(md.ones(3))",
    "capture": "md.compile(lambda x: x * i)(md.ones(i % 50 + 1))",
    "capture of one function by several threads": "md._dynamo.reset() if i % 7 == 0 else f(md.ones(i % 9 + 1))",
    "eager op": "(md.ones(200_000) * 2).relu().sum()",
    "product": "md.ones(64, 64) @ md.ones(64, 64)",
    "sleep at a break": "sleeps(md.ones(3))",
    "sleep below inlined calls": "outer_of_sleep(md.ones(3))",
    "sleep in Python that C calls": "sorted_by_sleep(md.ones(3))",
    "sleep in a custom operator": "calls_operator(md.ones(3))",
    "sleep in a backend": "md.compile(lambda x: x + i, backend=slow_backend)(md.ones(3))",
    "sleep in what a backend made": "slow_plan(md.ones(3))",
    "exception through compiled frames": "raises(md.ones(3))",
    "array that a tensor holds": "md.from_dlpack(md.ones(1000)) * 2",
    "Python alone": "time.sleep(0)",
}

ENDINGS = {
    "end of the main thread": "",
    "sys.exit": "sys.exit(0)",
    "os._exit": "os._exit(0)",
    "atexit handler that calls compiled code": "atexit.register(lambda: f(md.ones(200_000)))",
    "atexit handler that captures": "atexit.register(lambda: md.compile(lambda x: x - 1)(md.ones(5)))",
    "finalizer that calls compiled code": "keep = Last()",
    "child of a fork": """
pid = os.fork()
if pid == 0:
    f(md.ones(200_000))
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
""",
    "child of a fork by os._exit": """
pid = os.fork()
if pid == 0:
    f(md.ones(200_000))
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
""",
}

PROGRAM = """
import atexit, os, sys, threading, time
import minidynamo as md

f = md.compile(lambda x: (x * 2).relu().sum())

@md.compile
def sleeps(x):
    x = x + 1
    time.sleep(0.0005)
    return x * 2

def inner(x):
    x = x + 1
    time.sleep(0.0005)
    return x

@md.compile
def outer_of_sleep(x):
    return inner(x * 2) + 1

def slow_key(n):
    time.sleep(0.0001)
    return -n

@md.compile
def sorted_by_sleep(x):
    return x + sorted([3, 1, 2], key=slow_key)[0]

@md.library.custom_op("exit::sleep", mutates_args=())
def operator(x: md.Tensor) -> md.Tensor:
    time.sleep(0.0005)
    return x + 1

@operator.register_fake
def _(x):
    return md.empty_like(x)

@md.compile
def calls_operator(x):
    return operator(x * 2) + 1

def slow_backend(gm, inputs):
    time.sleep(0.0005)
    return gm.forward

def backend_of_slow_plans(gm, inputs):
    def run(*args):
        time.sleep(0.0005)
        return gm.forward(*args)
    return run

slow_plan = md.compile(lambda x: x + 1, backend=backend_of_slow_plans)

@md.compile
def fails(x):
    time.sleep(0.0005)
    raise KeyError(x.shape)

def raises(x):
    try:
        fails(x)
    except KeyError:
        pass

class Last:
    def __del__(self, f=f, md=md):
        f(md.ones(4))

f(md.ones(3))
begun = []
def work():
    i = 0
    while True:
        i += 1
        {stage}
        begun.append(None)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
while len(begun) < 20:
    time.sleep(0.001)
{ending}
"""


def run_program(stage, ending):
    program = PROGRAM.format(stage=stage, ending=textwrap.dedent(ending))
    # From 3.12 on fork() warns if there are threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def check(stage, ending):
    for _ in range(RUNS):
        ended = run_program(stage, ending)
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("stage", STAGES)
def test_stages(stage):
    check(STAGES[stage], ENDINGS["end of the main thread"])


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("stage", ["plan without the GIL", "sleep at a break", "capture"])
def test_endings(stage, ending):
    check(STAGES[stage], ENDINGS[ending])


def test_an_exception_in_the_thread_would_be_noticed():
    assert "ZeroDivisionError" in run_program("begun.extend([None] * 20); 1 / 0", "time.sleep(0.1)").stderr
