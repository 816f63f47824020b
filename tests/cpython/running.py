"""Runs test modules of CPython in separate processes and compares their outcomes by test."""

import contextlib
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from .modules import known_reason, reason_of_idle

WORKER = Path(__file__).parent / "worker.py"
# mode of worker.py and instructions per region (0: no limit), by the name of the way
WAYS = {"plain": ("plain", 0), "idle": ("idle", 0), "everywhere": ("everywhere", 0), "stressed": ("everywhere", 3)}


# A test that needs more fails, instead of exhausting the machine.
BYTES = 6 << 30


def exists(module):
    """Whether the running Python has this test module."""
    return importlib.util.find_spec("test") is not None and importlib.util.find_spec(f"test.{module}") is not None


def asks_for_resources(module):
    """Whether the tests check if they may use resources such as the network, which they may not."""
    origin = Path(importlib.util.find_spec(f"test.{module}").origin)
    files = origin.parent.rglob("*.py") if origin.name == "__init__.py" else [origin]
    words = ("requires_resource", "is_resource_enabled", "support.requires(", "import requires")
    return any(word in file.read_text(errors="replace") for file in files for word in words)


def run(module, way, timeout=600):
    """Runs a module one way. Returns the result to store and the tests' messages.

    The result is {"tests": how many ran, "not_ok": {test: outcome}, "counters"}, or {"error"} if the process failed.
    """
    mode, stress = WAYS[way]
    # The tests write into the working directory and import the package that this process imported.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    # Removed by itself at the end, whatever the tests have left there.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        place, result = Path(directory, "tests"), Path(directory, "result.json")
        place.mkdir()
        command = [sys.executable, "-W", "ignore", "-X", "faulthandler", str(WORKER)]
        command += [str(result), mode, module, str(stress), "x" if asks_for_resources(module) else ""]
        with (
            open(Path(directory, "messages"), "w+", errors="replace") as messages,
            subprocess.Popen(
                command,
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
            ) as process,
        ):
            error = end_of(process, timeout)
            messages.seek(0)
            text = messages.read()
        if error or not result.exists():
            return {"error": error or "no result"}, text
        found = json.loads(result.read_text())
    not_ok = {test: outcome for test, outcome in found["outcomes"].items() if outcome != "ok"}
    return {"tests": len(found["outcomes"]), "not_ok": not_ok, "counters": without_zeros(found["counters"])}, text


def end_of(process, timeout):
    """Waits; returns what went wrong, or None."""
    try:
        status = process.wait(timeout)
        error = f"exit status {status}" if status else None
    except subprocess.TimeoutExpired:
        error = f"no end after {timeout} s"
    # With the processes that the tests have started.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return error


def without_zeros(counters):
    """Nested dicts of numbers without the zeros."""
    found = {name: without_zeros(value) if isinstance(value, dict) else value for name, value in counters.items()}
    return {name: value for name, value in found.items() if value}


def read_results(path):
    """{"python", "modules": {module: {way: result}}} from a file that write_results() wrote."""
    stored = json.loads(path.read_text())
    for ways in stored["modules"].values():
        for way, result in ways.items():
            if way != "plain" and "not_ok" in result and "not_ok" in ways.get("plain", {}):
                both = {**ways["plain"]["not_ok"], **result["not_ok"]}
                result["not_ok"] = {test: outcome for test, outcome in both.items() if outcome != "ok"}
    return stored


def write_results(path, stored):
    """One line for each module and way; of the tests that do not pass, only those with another outcome than in the
    plain way."""
    lines = []
    for module, ways in sorted(stored["modules"].items()):
        rows = [f'  "{way}": {json.dumps(compact(ways, way), sort_keys=True)}' for way in WAYS if way in ways]
        lines.append(f' "{module}": {{\n' + ",\n".join(rows) + "}")
    body = ",\n".join(lines)
    path.write_text(f'{{"python": {json.dumps(stored["python"])}, "modules": {{\n{body}}}}}\n')


def compact(ways, way):
    result, plain = ways[way], ways.get("plain", {})
    if way == "plain" or "not_ok" not in result or "not_ok" not in plain:
        return result
    tests = {**dict.fromkeys(plain["not_ok"], "ok"), **result["not_ok"]}
    other = {test: outcome for test, outcome in tests.items() if plain["not_ok"].get(test, "ok") != outcome}
    return {**result, "not_ok": other}


def failed(result):
    return {test for test, outcome in result["not_ok"].items() if outcome != "skip"}


def lost(reference, found, reason_of=known_reason):
    """Tests that pass in the reference and not here: {test: reason, or None if it is unknown}."""
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
    """The sum of the counters of all modules that were run this way."""
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
    instructions = counters.get("instructions", {})
    return 1 - instructions.get("interpreter", 0) / max(1, sum(instructions.values()))
