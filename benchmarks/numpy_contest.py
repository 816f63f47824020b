"""Contests of functions over arrays: NumPy, minidynamo.compile and others take turns on copies of the same arguments.

Each function runs in a process of its own with one thread. A ratio is the median over the rounds of NumPy's least time
by the contender's. "first" is the first call less NumPy's best, in a process that has made one product. NumPy runs with
MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ at 200 MB.
"""

import argparse
import copy
import json
import random
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

from harness import environment, machine, write_json

MALLOC = {"MALLOC_TRIM_THRESHOLD_": "209715200", "MALLOC_MMAP_THRESHOLD_": "209715200"}
ROUNDS = 3

# Relative tolerances of 16, 32 and 64 bits.
TOLERANCES = {2: 1e-3, 4: 1e-4, 8: 1e-9}


class State:
    """Arrays that a function changes although they are no arguments: each call begins with what they held at first."""

    def __init__(self, arrays):
        self.arrays = arrays
        self.first = copy.deepcopy(arrays)

    def restore(self):
        for array, first in zip(self.arrays, self.first, strict=True):
            array[...] = first


NO_STATE = State([])


class Contender:
    """run: called with what `prepare` makes of the arguments; `ready` waits for its result."""

    def __init__(self, name, run, prepare=None, ready=None):
        self.name, self.run = name, run
        self.prepare = prepare or (lambda arguments: arguments)
        self.ready = ready or (lambda result: result)


def same(ours, theirs, least=0.0, strict=True):
    """strict: types and dtypes are the same too."""
    import numpy

    if isinstance(theirs, (tuple, list)):
        return len(ours) == len(theirs) and all(same(a, b, least, strict) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key], least, strict) for key in theirs)
    if strict and type(ours) is not type(theirs):
        return False
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        ours = ours if strict else numpy.asarray(ours)
        if strict and ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return False
        if theirs.dtype.kind not in "fc":
            return bool((ours == theirs).all())
        wide = max(least, TOLERANCES[theirs.dtype.itemsize // (2 if theirs.dtype.kind == "c" else 1)])
        scale = numpy.nanmax(numpy.abs(numpy.where(numpy.isfinite(theirs), theirs, 0)), initial=0)
        return bool(numpy.allclose(ours, theirs, rtol=wide, atol=wide * scale, equal_nan=True))
    if hasattr(theirs, "__dict__") and not callable(theirs):
        return same(vars(ours), vars(theirs), least, strict)
    return callable(theirs) or theirs is None or ours == theirs


def timed(contender, arguments, state=NO_STATE):
    """Seconds of one call, what it returned, its arguments and the state afterwards. Random numbers begin anew."""
    import numpy

    given = contender.prepare(copy.deepcopy(arguments))
    state.restore()
    numpy.random.seed(0)
    random.seed(0)
    start = time.perf_counter()
    result = contender.ready(contender.run(*given))
    return time.perf_counter() - start, result, given, copy.deepcopy(state.arrays)


def compete(function, arguments, seconds, least=0.0, peers=(), state=NO_STATE):
    """peers: more contenders; who fails or is wrong is left out."""
    import numpy

    import minidynamo

    warnings.simplefilter("ignore")
    square = numpy.eye(16)
    minidynamo.compile(lambda a: a @ a)(square)
    plain = Contender("numpy", function)
    ours = Contender("minidynamo", minidynamo.compile(function))
    best, *expected = timed(plain, arguments, state)
    first, *found = timed(ours, arguments, state)
    is_right = same(found, expected, least)
    others = [each for each in peers if is_able(each, arguments, expected, least)]
    times, stays_right = race([plain, ours, *others], arguments, expected, seconds, least, state)
    is_right = is_right and stays_right
    state.restore()
    report = minidynamo._dynamo.explain(function)(*copy.deepcopy(arguments))
    ratios = {
        name: statistics.median(a / b for a, b in zip(times["numpy"], mine, strict=True))
        for name, mine in times.items()
    }
    return {
        "right": is_right,
        "ratio": ratios.pop("minidynamo"),
        "peers": {name: ratio for name, ratio in ratios.items() if name != "numpy"},
        "first_ms": 1e3 * (first - min(best, *times["numpy"])),
        "numpy_ms": 1e3 * min(times["numpy"]),
        "minidynamo_ms": 1e3 * min(times["minidynamo"]),
        "graphs": report.graph_count,
        "breaks": report.graph_break_count,
        "reasons": sorted({str(each.reason) for each in report.break_reasons}),
    }


def race(contenders, arguments, expected, seconds, least, state):
    """The least times of each in each round, in turn with the others; and whether each of our calls was right."""
    times = {each.name: [] for each in contenders}
    is_right = True
    for _ in range(ROUNDS):
        taken = {each.name: [] for each in contenders}
        end = time.perf_counter() + seconds * len(contenders) / 2
        while not taken["minidynamo"] or time.perf_counter() < end:
            for each in contenders:
                needed, *outcome = timed(each, arguments, state)
                taken[each.name].append(needed)
                if each.name == "minidynamo":
                    is_right = is_right and same(outcome, expected, least)
        for name, needed in taken.items():
            times[name].append(min(needed))
    return times, is_right


def is_able(peer, arguments, expected, least):
    """expected: NumPy's result and its arguments afterwards. Who writes to none returns what NumPy writes there."""
    least = max(least, 1e-6)
    result, given, _ = expected
    written = [after for before, after in zip(arguments, given, strict=True) if not same(after, before)]
    try:
        _, found, left, _ = timed(peer, arguments)
        if written and same(left, given, least, strict=False):
            return result is None or same(found, result, least, strict=False)
        wanted = written if result is None else [result]
        returned = found if result is None and isinstance(found, (tuple, list)) else [found]
        return same(list(returned), wanted, least, strict=False)
    except Exception as error:
        print(f"{peer.name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return False


def parse(description, *folders):
    """folders: names of flags that give a directory."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for folder in folders:
        parser.add_argument(f"--{folder}", type=Path, metavar="DIR")
    parser.add_argument("--kernels", default="", help="names, separated by commas; all by default")
    parser.add_argument("--seconds", type=float, default=0.3, help="of each contender in each of the rounds")
    parser.add_argument("--peers", action="store_true", help="others that are installed as well")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="file to write all results to")
    return parser.parse_args()


def in_process(name):
    """The row of a kernel from this script in a process of its own."""
    command = [sys.executable, *sys.argv, "--one", name]
    settings = environment(1, **MALLOC)
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=900, check=False)
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else {"failed": done.stderr.strip()[-400:]}


def contest(names, json_file=None):
    """Prints a table with a row for each name."""
    rows = {}
    print("| kernel | right | NumPy ms | minidynamo ms | ratio | first ms | graphs | breaks | peers |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        rows[name] = row = in_process(name)
        if "failed" in row:
            last = row["failed"].splitlines()[-1] if row["failed"] else ""
            print(f"| {name} | failed: {last} | | | | | | | |", flush=True)
            continue
        peers = ", ".join(f"{peer} {ratio:.2f}" for peer, ratio in row["peers"].items())
        print(
            f"| {name} | {row['right']} | {row['numpy_ms']:.3f} | {row['minidynamo_ms']:.3f} | {row['ratio']:.2f} "
            f"| {row['first_ms']:.0f} | {row['graphs']} | {row['breaks']} | {peers} |",
            flush=True,
        )
    print_summary([row for row in rows.values() if "ratio" in row])
    if json_file:
        write_json(json_file, {"machine": machine(), "rows": rows})


def print_summary(rows):
    if not rows:
        return
    ratios = [row["ratio"] for row in rows]
    slow = sum(ratio < 0.95 for ratio in ratios)
    print(f"\ngeometric mean {statistics.geometric_mean(ratios):.2f}, {slow} of {len(ratios)} below 0.95")
    for peer in sorted({peer for row in rows for peer in row["peers"]}):
        both = [(row["ratio"], row["peers"][peer]) for row in rows if peer in row["peers"]]
        ours, theirs = (statistics.geometric_mean(each) for each in zip(*both, strict=True))
        print(f"on the {len(both)} that {peer} has: minidynamo {ours:.2f}, {peer} {theirs:.2f}")
