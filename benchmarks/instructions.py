"""Instructions that a call of a compiled function takes: python benchmarks/instructions.py [--update]

Counted by valgrind's callgrind, so that a busy machine changes nothing: each workload is run in a process for N and in
another for 2 N calls, and the difference counts. instructions.json has the counts of each version of Python; more than
3 % above them is a status of 1. valgrind knows no AVX-512: the kernels are those of AVX2.
"""

import argparse
import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from peers import OURS, OURS_EAGER, PEERS
from workloads import calls
from workloads.table import Row

CALLS = 2000
WARM = 50
TOLERANCE = 0.03
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")


def scalar_argument(library):
    return lambda x, scale: x * scale + 1


def layers(torch):
    """Guards of modules and parameters, besides small products."""
    return torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(10)))


def layer_weights(rng):
    shapes = {"weight": (4, 4), "bias": (4,)}
    return {f"{i}.{name}": rng.random(shape) for i in range(10) for name, shape in shapes.items()}


def row(name, inputs, build, weights=None):
    return Row(name, "", "float32", "calls", inputs, None, {"torch": build}, weights)


ROWS = {
    row.name: row
    for row in (
        *calls.ROWS,
        row("call with a float argument", lambda rng: [rng.random(3), 2.5], scalar_argument),
        row("call of 10 linear layers", lambda rng: [rng.random((1, 4))], layers, layer_weights),
    )
}


def work(name, count):
    """Runs so many calls after the first ones, in the process that valgrind watches."""
    import numpy

    row = ROWS[name]
    peer = PEERS[OURS_EAGER if row.is_eager else OURS]
    peer.start(1)
    rng = numpy.random.default_rng(0)
    callee, arguments = peer.prepare(row, row.inputs(rng), row.weights and row.weights(rng))
    for _ in range(WARM):
        callee(*arguments)
    gc.disable()
    for _ in range(int(count)):
        callee(*arguments)


def count(name, repeats):
    """Instructions of the whole process."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={directory}/out",
                sys.executable,
                __file__,
                "--worker",
                name,
                str(repeats),
            ],
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"{name}: valgrind gave no count:\n{done.stderr[-2000:]}")
    return int(found[1])


def per_call(name):
    return (count(name, 2 * CALLS) - count(name, CALLS)) / CALLS


def read_known():
    if not os.path.exists(PATH):
        return {}
    with open(PATH) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the counts to instructions.json")
    parser.add_argument("--rows", default="", help="only workloads whose name contains this")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(*arguments.worker)
        return
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed")
    version = ".".join(platform.python_version_tuple()[:2])
    every = read_known()
    known = every.setdefault(version, {})
    print(f"Instructions of a call, Python {version}:\n\n| call | now | known | change |\n| --- | ---: | ---: | ---: |")
    grown = []
    for name in ROWS:
        if arguments.rows not in name:
            continue
        now, before = per_call(name), known.get(name)
        change = f"{100 * (now / before - 1):+.1f} %" if before else ""
        print(f"| {name} | {now:.0f} | {before or ''} | {change} |", flush=True)
        if before and now > before * (1 + TOLERANCE):
            grown.append(name)
        known[name] = round(now)
    if arguments.update:
        with open(PATH, "w") as file:
            json.dump(every, file, indent=1, sort_keys=True)
            file.write("\n")
    elif grown:
        sys.exit(f"more than {TOLERANCE:.0%} above what is known: {', '.join(grown)}")


if __name__ == "__main__":
    main()
