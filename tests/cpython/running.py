"""Runs test modules of CPython in processes of their own and compares their outcomes by test."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .modules import known_reason, reason_of_idle

WORKER = Path(__file__).parent / "worker.py"
# mode of worker.py and instructions to a region (0: as many as there are), by the name of the way to run
WAYS = {"plain": ("plain", 0), "idle": ("idle", 0), "everywhere": ("everywhere", 0), "stressed": ("everywhere", 3)}


def is_there(module):
    """Whether the running Python has this test module."""
    return importlib.util.find_spec("test") is not None and importlib.util.find_spec(f"test.{module}") is not None


def run(module, way, timeout=600):
    """Runs a module one way. Returns what the results keep and the tests' messages.

    Kept is {"tests": how many ran, "not_ok": {test: outcome}, "counters"}, or {"error"} if the process failed.
    """
    mode, stress = WAYS[way]
    command = [sys.executable, "-W", "ignore", str(WORKER), mode, module, str(stress)]
    # The tests write into the working directory and find the package where this process found it.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    with (
        tempfile.TemporaryDirectory() as directory,
        subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        try:
            output, messages = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # With the processes that the tests have started: they hold the pipes.
            os.killpg(process.pid, signal.SIGKILL)
            return {"error": f"no end after {timeout} s"}, process.communicate()[1]
    if process.returncode != 0:
        return {"error": f"exit status {process.returncode}"}, messages
    result = json.loads(output.splitlines()[-1])
    outcomes = result["outcomes"]
    not_ok = {test: outcome for test, outcome in outcomes.items() if outcome != "ok"}
    return {"tests": len(outcomes), "not_ok": not_ok, "counters": result["counters"]}, messages


def failed(result):
    return {test for test, outcome in result["not_ok"].items() if outcome != "skip"}


def lost(reference, found, reason_of=known_reason):
    """Tests that pass in the reference and not here: {test: reason, or None where no reason is known}."""
    if "error" in reference:
        return {}
    if "error" in found:
        return {f"({found['error']})": None}
    tests = {test for test, outcome in found["not_ok"].items() if reference["not_ok"].get(test, "ok") != outcome}
    missing = reference["tests"] - found["tests"]
    return {test: reason_of(test) for test in sorted(tests - failed(reference))} | (
        {f"({missing} tests that did not run)": None} if missing > 0 else {}
    )


def losses(modules, reference, way):
    """{test: reason or None} over the results of all modules that were run both ways; {module: {way: result}}."""
    reason_of = reason_of_idle if way == "idle" else known_reason
    return {
        (f"{module} {test}" if test.startswith("(") else test): reason
        for module, ways in modules.items()
        if reference in ways and way in ways
        for test, reason in lost(ways[reference], ways[way], reason_of).items()
    }


def totals(modules, way):
    """The counters of all modules that were run this way, added."""
    total = {}
    for ways in modules.values():
        add_counters(total, ways.get(way, {}).get("counters", {}))
    return total


def text_of(result):
    if result is None:
        return "-"
    return result["error"] if "error" in result else f"{result['tests'] - len(failed(result))}/{result['tests']}"


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
