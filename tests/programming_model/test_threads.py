"""One compiled function in several threads, and in a process that forked."""

import subprocess
import sys
import threading
import time

import pytest
from at_once import at_once

import minidynamo
from minidynamo._dynamo import graph_break


def work(x, weight):
    y = x @ weight + 1
    graph_break()
    return minidynamo.relu(y) * 2 - x.sum()


def run_threads(function, seconds, count=8):
    """Each thread has its own shape; returns how many calls were made."""
    errors, calls = [], [0] * count
    end = time.monotonic() + seconds

    def loop(index):
        rows = [[float(i + j) for j in range(index + 2)] for i in range(index + 1)]
        x = minidynamo.tensor(rows)
        weight = minidynamo.tensor([[0.5 * (i - j) for j in range(index + 2)] for i in range(index + 2)])
        expected = work(x, weight).tolist()
        try:
            while calls[index] == 0 or time.monotonic() < end:
                result = function(x, weight).tolist()
                if not close(result, expected):
                    errors.append((index, result, expected))
                    return
                calls[index] += 1
        except BaseException as error:
            errors.append((index, error))

    at_once(loop, count)
    return calls, errors


def close(result, expected):
    if isinstance(expected, list):
        return len(result) == len(expected) and all(map(close, result, expected))
    return abs(result - expected) <= 1e-5 * max(1.0, abs(expected))


@pytest.mark.parametrize("seconds", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_eight_threads_with_different_shapes(seconds):
    minidynamo._dynamo.reset()
    calls, errors = run_threads(minidynamo.compile(work), seconds)
    assert errors == []
    assert all(calls)


def test_eight_threads_capture_at_the_same_time():
    minidynamo._dynamo.reset()
    barrier = threading.Barrier(8)
    compiled = minidynamo.compile(lambda x: (x + 1) * 3)
    results = []

    def run(index):
        x = minidynamo.tensor([float(index)])
        barrier.wait()
        results.append((index, compiled(x).tolist()))

    at_once(run, 8)
    assert sorted(results) == [(index, [(index + 1) * 3.0]) for index in range(8)]


def test_reset_while_others_run():
    compiled = minidynamo.compile(work)
    stop = threading.Event()

    def reset():
        while not stop.is_set():
            minidynamo._dynamo.reset()
            time.sleep(0.002)

    thread = threading.Thread(target=reset)
    thread.start()
    try:
        calls, errors = run_threads(compiled, 0.5, count=3)
    finally:
        stop.set()
        thread.join()
    assert errors == []


FORK = """
import os, sys
import minidynamo

def function(x):
    return minidynamo.relu(x @ x) + 1

compiled = minidynamo.compile(function)
x = minidynamo.ones(256, 256)
parent = compiled(x).tolist()[0][0]
child = os.fork()
if child == 0:
    same = compiled(x).tolist()[0][0] == parent and compiled(minidynamo.ones(300, 300)).tolist()[0][0] == 301.0
    os._exit(0 if same else 3)
_, status = os.waitpid(child, 0)
again = compiled(x).tolist()[0][0]
sys.exit(os.waitstatus_to_exitcode(status) or (parent != again))
"""


def test_a_forked_child_computes():
    done = subprocess.run(
        [sys.executable, "-c", FORK], env=dict(__import__("os").environ, OMP_NUM_THREADS="2"), timeout=60
    )
    assert done.returncode == 0
