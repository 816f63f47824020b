"""Runs test modules of CPython in processes of their own and compares their outcomes by test."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .modules import known_reason

WORKER = Path(__file__).parent / "worker.py"
PASSED = ("ok", "skip")
# mode of worker.py and instructions to a region (0: as many as there are), by the name of the way to run
WAYS = {"plain": ("plain", 0), "idle": ("idle", 0), "everywhere": ("everywhere", 0), "stressed": ("everywhere", 3)}


def is_there(module):
    """Whether the running Python has this test module."""
    return importlib.util.find_spec("test") is not None and importlib.util.find_spec(f"test.{module}") is not None


def run(module, way, timeout=600):
    """Runs a module one way. Returns {"outcomes", "counters", "messages"}; {"error", "messages"} if the process failed."""
    mode, stress = WAYS[way]
    command = [sys.executable, "-W", "ignore", str(WORKER), mode, module, str(stress)]
    # The tests write into the working directory and find the package where this process found it.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    with tempfile.TemporaryDirectory() as directory:
        try:
            done = subprocess.run(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"no end after {timeout} s", "messages": ""}
    if done.returncode != 0:
        return {"error": f"exit status {done.returncode}", "messages": done.stderr[-5000:]}
    return json.loads(done.stdout.splitlines()[-1]) | {"messages": done.stderr}


def lost(reference, found):
    """Tests that pass in the reference and not here: {test: reason, or None where no reason is known}."""
    tests = [
        test
        for test, outcome in reference["outcomes"].items()
        if outcome in PASSED and found["outcomes"].get(test) != outcome
    ]
    return {test: known_reason(test) for test in tests}


def passes(result):
    return sum(outcome in PASSED for outcome in result["outcomes"].values())


def add_counters(total, counters):
    """Adds nested dicts of numbers."""
    for name, value in counters.items():
        if isinstance(value, dict):
            add_counters(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
    return total


def outside(counters):
    """The share of the counted instructions that the interpreter did not execute."""
    instructions = counters["instructions"]
    return 1 - instructions["interpreter"] / max(1, sum(instructions.values()))
