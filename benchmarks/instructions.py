"""Instructions that a call of a compiled function takes: python benchmarks/instructions.py [--update]

Counted by valgrind's callgrind, so that a busy machine changes nothing: one process makes N calls of each workload, and
what lies between two calls of a marker counts. instructions.json has the counts of each version of Python; more than 3%
above them is an exit status of 1, and a machine without valgrind one of 77. valgrind knows no AVX-512: the kernels are
those of AVX2.
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
from pathlib import Path

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


def mark():
    """Where callgrind ends a section of its counts: before a function of the C library that nothing else calls."""
    os.getpgid(0)


def work(name):
    """Makes the calls of a workload between two marks."""
    import numpy

    row = ROWS[name]
    peer = PEERS[OURS_EAGER if row.is_eager else OURS]
    peer.start(1)
    rng = numpy.random.default_rng(0)
    callee, arguments = peer.prepare(row, row.inputs(rng), row.weights and row.weights(rng))
    for _ in range(WARM):
        callee(*arguments)
    gc.collect()
    gc.disable()
    numbers = range(CALLS)
    mark()
    for _ in numbers:
        callee(*arguments)
    mark()
    gc.enable()


def sections_of(command):
    """The instructions before the first mark, between it and the second, and so on."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--dump-before=getpgid",
                f"--callgrind-out-file={directory}/out",
                *command,
            ],
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        numbered = [path for path in Path(directory).iterdir() if path.suffix[1:].isdigit()]
        texts = [path.read_text() for path in sorted(numbered, key=lambda path: int(path.suffix[1:]))]
    if done.returncode:
        sys.exit(f"valgrind gave no counts:\n{done.stderr[-2000:]}")
    return [int(re.search(r"^totals: (\d+)", text, re.MULTILINE)[1]) for text in texts]


def per_call(names):
    """Instructions of a call of each workload; all are run in one process, most of whose time is its start."""
    sections = sections_of([sys.executable, __file__, "--worker", *names])
    if len(sections) != 2 * len(names):
        sys.exit(f"{len(sections)} marks were counted, not {2 * len(names)}")
    return {name: section / CALLS for name, section in zip(names, sections[1::2])}


def read_known():
    if not os.path.exists(PATH):
        return {}
    with open(PATH) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the counts to instructions.json")
    parser.add_argument("--rows", default="", help="only workloads whose name contains this")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        for name in arguments.worker:
            work(name)
        return
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    version = ".".join(platform.python_version_tuple()[:2])
    every = read_known()
    known = every.setdefault(version, {})
    print(f"Instructions of a call, Python {version}:\n\n| call | now | known | change |\n| --- | ---: | ---: | ---: |")
    grown = []
    for name, now in per_call([name for name in ROWS if arguments.rows in name]).items():
        before = known.get(name)
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
