"""How long it takes until a compiled function gives its first result: python benchmarks/compile_time.py

Every measurement is a fresh process. It is timed from its start to its first result; then a second function and one of
200 operations are compiled in it, and that one is called with two more sizes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from harness import available, environment, parse_arguments, print_table, summarise_all, write_json

STEPS = {
    "start": "fresh process to its first result",
    "second": "first call of a second function",
    "long": "first call of a function of 200 operations",
    "size": "its first call with a second size",
    "sizes": "its first call with a third size",
}


def first(x):
    return (x + 1) * 2


def second(x):
    return (x - 3) * x + 1


def long(x):
    for i in range(100):
        x = x * 0.5 + i
    return x


def run_plain(started):
    def tensor(values):
        return values[0]

    return _measure(started, lambda function: function, tensor, lambda result: result)


def run_numpy(started):
    import numpy

    return _measure(started, lambda function: function, numpy.array, lambda result: result[0])


def run_minidynamo(started):
    import minidynamo

    return _measure(started, minidynamo.compile, minidynamo.tensor, _first_element)


def run_torch_eager_backend(started):
    import torch

    return _measure(
        started,
        lambda function: torch.compile(function, backend="eager"),
        torch.tensor,
        lambda result: result.tolist()[0],
    )


def run_torch(started):
    import torch

    return _measure(started, torch.compile, torch.tensor, _first_element)


def _first_element(result):
    return result.tolist()[0]


def _measure(started, compile, tensor, read):
    x = tensor([1.0, 2.0, 3.0])
    result = read(compile(first)(x))
    times = {"start": time.monotonic() - started}
    _hold(result, 4.0)
    for step, function, expected in (("second", second, -1.0), ("long", long, long(1.0))):
        compiled = compile(function)
        start = time.perf_counter()
        result = read(compiled(x))
        times[step] = time.perf_counter() - start
        _hold(result, expected)
    for step, count in (("size", 4), ("sizes", 5)):
        x = tensor([1.0] * count)
        start = time.perf_counter()
        result = read(compiled(x))
        times[step] = time.perf_counter() - start
        _hold(result, long(1.0))
    return times


def _hold(result, expected):
    if abs(result - expected) > 1e-4 * max(1.0, abs(expected)):
        raise AssertionError(f"the result is {result}, not {expected}")


# The module that is needed, what the process runs, and whether it starts with an empty cache of compiled code.
CONTENDERS = {
    "plain Python": (None, run_plain, False),
    "NumPy": ("numpy", run_numpy, False),
    "minidynamo.compile": ("minidynamo", run_minidynamo, False),
    "torch.compile, backend eager": ("torch", run_torch_eager_backend, False),
    "torch.compile, warm cache": ("torch", run_torch, False),
    "torch.compile, cold cache": ("torch", run_torch, True),
}
BASE = "minidynamo.compile"  # the others are compared with it


def run_once(name, threads, cache):
    """Starts a process and returns its times."""
    with tempfile.TemporaryDirectory() as empty:
        directory = empty if CONTENDERS[name][2] else cache
        done = subprocess.run(
            [sys.executable, __file__, "--worker", name, str(time.monotonic())],
            env=environment(threads, TORCHINDUCTOR_CACHE_DIR=directory),
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def main():
    arguments = parse_arguments(__doc__, rounds=5)
    if arguments.worker:
        name, started = arguments.worker
        print(json.dumps(CONTENDERS[name][1](float(started))))
        return
    results = {}
    names = available({name: row[0] for name, row in CONTENDERS.items()}, arguments.only)
    with tempfile.TemporaryDirectory() as cache:
        for threads in map(int, arguments.threads.split(",")):
            for name in names:  # files in the page cache, byte code written, caches filled
                run_once(name, threads, cache)
            samples = {name: [] for name in names}
            for _ in range(arguments.rounds):
                for name in names:
                    samples[name].append(run_once(name, threads, cache))
            for step, title in STEPS.items():
                rows = summarise_all({name: [times[step] for times in samples[name]] for name in names}, BASE)
                title = f"{title}, {threads} thread{'s'[: threads > 1]}"
                print_table(title, rows, BASE, "ms", 1e3)
                results[title] = rows
    write_json(arguments.json, results)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
