"""How long it takes until a compiled function gives its first result: python benchmarks/compile_time.py

Every measurement is a fresh process. It is timed from its start to its first result; then a second function and one of
200 operations are compiled in it, and that one is called with two more sizes. Larger graphs have a process for each:
one small function is compiled first, then the graph's first and second call are timed.
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
GRAPH_SECONDS = 60  # a process that has not ended by then gets no more rounds


def first(x):
    return (x + 1) * 2


def second(x):
    return (x - 3) * x + 1


def long(x):
    for i in range(100):
        x = x * 0.5 + i
    return x


class PlainPython:
    """The same functions on one float."""

    module: str | None = None
    has_cold_cache = False  # of compiled code, on disk
    peer: str | None = None  # which of peers.py compiles the larger graphs

    def import_library(self):
        pass

    def compile(self, function):
        return function

    def tensor(self, values):
        return values[0]

    def read(self, result):
        return result


class NumPy(PlainPython):
    module = "numpy"
    peer = "NumPy"

    def import_library(self):
        import numpy

        self.library = numpy

    def tensor(self, values):
        return self.library.array(values, dtype=self.library.float32)

    def read(self, result):
        return float(result[0])


class Numba(NumPy):
    module = "numba"
    peer = None

    def import_library(self):
        super().import_library()
        import numba

        self.compile = numba.njit

    def tensor(self, values):
        return self.library.array(values)  # in float64, which the functions' numbers make of all


class Jax(NumPy):
    module = "jax"
    peer = "JAX"

    def import_library(self):
        import jax
        import jax.numpy

        self.library = jax.numpy
        self.compile = jax.jit

    def read(self, result):
        return result.tolist()[0]


class Mlx(Jax):
    """Its kernels are kept on disk, and found there."""

    module = "mlx"
    peer = "MLX"

    def import_library(self):
        import mlx.core

        mlx.core.set_default_device(mlx.core.cpu)
        self.compile = mlx.core.compile
        self.tensor = mlx.core.array


class Minidynamo(Jax):
    module = "minidynamo"
    peer = "minidynamo"

    def import_library(self):
        import minidynamo

        self.compile = minidynamo.compile
        self.tensor = minidynamo.tensor


class Torch(Jax):
    module = "torch"
    peer = "torch.compile"

    def import_library(self):
        import torch

        self.compile = torch.compile
        self.tensor = torch.tensor


class TorchCold(Torch):
    has_cold_cache = True


class TorchEagerBackend(Torch):
    peer = None

    def import_library(self):
        import torch

        super().import_library()
        self.compile = lambda function: torch.compile(function, backend="eager")


CONTENDERS = {
    "Python": PlainPython(),
    "NumPy": NumPy(),
    "minidynamo.compile": Minidynamo(),
    "Numba": Numba(),
    "JAX": Jax(),
    "MLX": Mlx(),
    "torch.compile, backend eager": TorchEagerBackend(),
    "torch.compile, warm cache": Torch(),
    "torch.compile, cold cache": TorchCold(),
}
BASE = "minidynamo.compile"  # the others are compared with it


def measure_steps(contender, started):
    """{step: seconds}."""
    contender.import_library()
    x = contender.tensor([1.0, 2.0, 3.0])
    result = contender.read(contender.compile(first)(x))
    times = {"start": time.monotonic() - started}
    hold(result, 4.0)
    for step, function, expected in (("second", second, -1.0), ("long", long, long(1.0))):
        compiled = contender.compile(function)
        start = time.perf_counter()
        result = contender.read(compiled(x))
        times[step] = time.perf_counter() - start
        hold(result, expected)
    for step, count in (("size", 4), ("sizes", 5)):
        x = contender.tensor([1.0] * count)
        start = time.perf_counter()
        result = contender.read(compiled(x))
        times[step] = time.perf_counter() - start
        hold(result, long(1.0))
    return times


def hold(result, expected):
    if abs(result - expected) > 1e-4 * max(1.0, abs(expected)):
        raise AssertionError(f"the result is {result}, not {expected}")


def measure_graph(name, graph, path, threads):
    """Seconds of the first and of a later call of a row of workloads.graphs.

    A compiler in a process of its own is not in the processor time.
    """
    from peers import PEERS
    from steady import Case
    from workloads import graphs

    peer = PEERS[name]
    peer.start(int(threads))
    peer.ready(peer.compile(first)(peer.array(graphs.three_values(), "float32")))
    row = next(row for row in graphs.ROWS if row.name == graph)
    case = Case(peer, row, path)
    if case.error > row.largest_error:
        raise AssertionError(f"the largest error is {case.error:.2g} of the largest magnitude")
    return {"first call": case.first, "its processor time": case.first_used, "a later call": case.once}


def run_once(name, threads, cache, arguments, seconds=None):
    """Starts a process and returns its times, or None when they took longer than `seconds`."""
    with tempfile.TemporaryDirectory() as empty:
        directory = empty if CONTENDERS[name].has_cold_cache else cache
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--worker", name, *arguments],
                env=environment(threads, TORCHINDUCTOR_CACHE_DIR=directory),
                stdout=subprocess.PIPE,
                check=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return None
    return json.loads(done.stdout.splitlines()[-1])


def steps_of_all(names, threads, cache, rounds):
    """{step: {name: seconds by round}}."""
    samples = {step: {name: [] for name in names} for step in STEPS}
    for measured in range(-1, rounds):
        for name in names:
            times = run_once(name, threads, cache, [str(time.monotonic())])
            for step, seconds in times.items():
                if measured >= 0:  # the first process brings files into the page cache and fills the caches on disk
                    samples[step][name].append(seconds)
    return {title: samples[step] for step, title in STEPS.items()}


def graphs_of_all(names, threads, cache, rounds, rows):
    """{title: {name: seconds by round}}; who takes longer than GRAPH_SECONDS has none."""
    from steady import write_case
    from workloads import graphs

    samples = {}
    for row in graphs.ROWS:
        if rows not in row.name:
            continue
        path = os.path.join(cache, "case.npy")
        write_case(row, path)
        slow = set()
        for measured in range(-1, rounds):
            for name in names:
                peer = CONTENDERS[name].peer
                if peer is None or name in slow or measured < 0 and CONTENDERS[name].has_cold_cache:
                    continue
                times = run_once(name, threads, cache, ["graph", peer, row.name, path, str(threads)], GRAPH_SECONDS)
                if times is None:
                    print(f"{name}: {row.name}: no result after {GRAPH_SECONDS} s", file=sys.stderr)
                    slow.add(name)
                elif measured >= 0:
                    for call, seconds in times.items():
                        samples.setdefault(f"{row.name}, {call}", {}).setdefault(name, []).append(seconds)
    return samples


def main():
    arguments = parse_arguments(__doc__, rounds=5, graphs="only the larger graphs")
    if arguments.worker:
        name, *question = arguments.worker
        if question[0] == "graph":
            print(json.dumps(measure_graph(*question[1:])))
        else:
            print(json.dumps(measure_steps(CONTENDERS[name], float(question[0]))))
        return
    results = {}
    names = available({name: contender.module for name, contender in CONTENDERS.items()}, arguments.only)
    with tempfile.TemporaryDirectory() as cache:
        for threads in map(int, arguments.threads.split(",")):
            samples = {} if arguments.graphs else steps_of_all(names, threads, cache, arguments.rounds)
            samples |= graphs_of_all(names, threads, cache, arguments.rounds, arguments.rows)
            for title, times in samples.items():
                rows = summarise_all(times, BASE)
                title = f"{title}, {threads} thread{'s'[: threads > 1]}"
                print_table(title, rows, BASE, "ms", 1e3)
                results[title] = rows
    write_json(arguments.json, results)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main()
