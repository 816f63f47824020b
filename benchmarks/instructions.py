"""Instructions that a call of a compiled function takes: python benchmarks/instructions.py [--update]

Counted by valgrind's callgrind, so that a busy machine changes nothing: each workload is run in a process for N and in
another for 2 N calls, and the difference counts. instructions.json has the counts of each version of Python; more than
3 % above them is a status of 1. valgrind knows no AVX-512: the kernels are those of AVX2.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

CALLS = 2000
WARM = 50
TOLERANCE = 0.03
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")


def two_ops(torch):
    return (lambda x: (x + 1) * 2), [torch.tensor([1.0, 2.0, 3.0])]


def ten_and_dict(torch):
    def f(a, b, c, d, e, f, g, h, i, j, settings):
        return (a + b + c + d + e + f + g + h + i + j) * settings["scale"] + settings["shift"]

    return f, [*(torch.tensor([1.0, 2.0, 3.0]) for _ in range(10)), {"scale": 2.0, "shift": 0.5}]


def one_break(torch):
    def f(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    return f, [torch.tensor([1.0, 2.0, 3.0])]


def scalar_argument(torch):
    return (lambda x, scale: x * scale + 1), [torch.tensor([1.0, 2.0, 3.0]), 2.5]


def module_of_layers(torch):
    """Ten small linear layers: guards of modules and parameters."""
    layers = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(10))).eval()
    return layers, [torch.ones(1, 4)]


def eager_add(torch):
    return (lambda x: x + x), [torch.tensor([1.0, 2.0, 3.0])]


# Of each: the function with its arguments, and whether it is compiled.
WORKLOADS = {
    "(x + 1) * 2": (two_ops, True),
    "10 tensors and a dict": (ten_and_dict, True),
    "one graph break": (one_break, True),
    "a float argument": (scalar_argument, True),
    "10 linear layers": (module_of_layers, True),
    "x + x, not compiled": (eager_add, False),
}


def work(name, calls):
    """Runs so many calls after the first ones, in the process that valgrind watches."""
    import gc

    import minidynamo as torch
    import minidynamo._dynamo  # noqa: F401

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    build, is_compiled = WORKLOADS[name]
    function, arguments = build(torch)
    callee = torch.compile(function) if is_compiled else function
    for _ in range(WARM):
        callee(*arguments)
    gc.disable()
    for _ in range(int(calls)):
        callee(*arguments)


def count(name, calls):
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
                str(calls),
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
    for name in WORKLOADS:
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
