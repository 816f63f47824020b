"""Programs of NumPy, unchanged: NumPy and minidynamo.compile.

python benchmarks/numpy_programs.py [--rounds N] [--rows WORDS] [--json FILE]

A process for each program, with one thread, in which the contenders take turns; the ratio is the median over the rounds
of NumPy's time by ours. "first" is the first call in a process that has made one product, less NumPy's. Each process
runs with MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ at 200 MB, and again without ("plain malloc").
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from harness import seconds_of_a_call, write_json
from npbench import MALLOC, THREADS


def six_operations(numpy, count):
    x, y = numpy.linspace(0.5, 1.5, count), numpy.linspace(1.0, 2.0, count)
    return lambda x, y: ((x * 2 + y) * 3 - x) / (y + 1), (x, y)


def diffusion_step(numpy):
    u, v = numpy.random.rand(128, 128), numpy.zeros((128, 128))

    def step(u, v):
        lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        v[1:-1, 1:-1] += 0.001 * lap
        u += 0.001 * v

    return step, (u, v)


def columns(numpy):
    return lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9), (numpy.random.rand(1000, 16),)


def distances(numpy):
    def pairs(x):
        d = x[:, None, :] - x[None, :, :]
        return numpy.sqrt((d * d).sum(axis=-1))

    return pairs, (numpy.random.rand(100, 3),)


def softmax(numpy):
    def rows(x):
        e = numpy.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    return rows, (numpy.random.rand(64, 64),)


def option_prices(numpy):
    def prices(spot, strike, years):
        rate, spread = 0.02, 0.3
        root = spread * numpy.sqrt(years)
        d = (numpy.log(spot / strike) + (rate + 0.5 * spread * spread) * years) / root
        likely, exercised = 1 / (1 + numpy.exp(-1.702 * d)), 1 / (1 + numpy.exp(-1.702 * (d - root)))
        return spot * likely - strike * numpy.exp(-rate * years) * exercised

    rng = numpy.random.default_rng(0)
    return prices, tuple(rng.uniform(low, high, 10_000) for low, high in ((80, 120), (80, 120), (0.1, 2)))


def rank_one_updates(numpy):
    def update(c, a):
        for i in range(c.shape[0]):
            for k in range(a.shape[1]):
                c[i, : i + 1] += 0.001 * a[i, k] * a[: i + 1, k]

    return update, (numpy.random.rand(40, 40), numpy.random.rand(40, 20))


# The least ratio to NumPy that each is meant to have; None: a row without one.
PROGRAMS = {
    "6 operations on 3": (lambda numpy: six_operations(numpy, 3), 3.5),
    "6 operations on 1,000": (lambda numpy: six_operations(numpy, 1000), 4.5),
    "6 operations on 100,000": (lambda numpy: six_operations(numpy, 100_000), 4.5),
    "diffusion step, 128 x 128": (diffusion_step, None),
    "standardised columns": (columns, None),
    "distances of 100 points": (distances, None),
    "softmax, 64 x 64": (softmax, None),
    "option prices, 10,000": (option_prices, None),
    "rank-one updates": (rank_one_updates, None),
}


def copies(arguments):
    return [each.copy() for each in arguments]


def measure(name, rounds):
    import numpy

    import minidynamo

    minidynamo.set_num_threads(1)
    warm = numpy.random.rand(8, 8)
    minidynamo.compile(lambda x: x @ x)(warm)
    program, arguments = PROGRAMS[name][0](numpy)
    contenders = {"NumPy": program, "minidynamo": minidynamo.compile(program)}
    first, results, given = {}, {}, {}
    for contender, function in contenders.items():
        given[contender] = copies(arguments)
        start = time.perf_counter()
        results[contender] = function(*given[contender])
        first[contender] = time.perf_counter() - start
    if results["NumPy"] is not None:
        numpy.testing.assert_allclose(results["minidynamo"], results["NumPy"], rtol=1e-9)
    for ours, theirs in zip(given["minidynamo"], given["NumPy"], strict=True):
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-9)
    times = {contender: [] for contender in contenders}
    for _ in range(rounds):
        for contender, function in contenders.items():
            times[contender].append(seconds_of_a_call(function, given[contender]))
    ratio = statistics.median(theirs / ours for theirs, ours in zip(times["NumPy"], times["minidynamo"], strict=True))
    return {
        "NumPy us": min(times["NumPy"]) * 1e6,
        "minidynamo us": min(times["minidynamo"]) * 1e6,
        "ratio": ratio,
        "first ms": (first["minidynamo"] - first["NumPy"]) * 1e3,
    }


def in_a_process(name, rounds, variables):
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), **variables}
    command = [sys.executable, __file__, "--measure", name, "--rounds", str(rounds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", default="")
    parser.add_argument("--json", help="file to write all results to")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.rounds)))
        return
    print("| program | NumPy us | minidynamo us | ratio | plain malloc | first ms | target |")
    print("|---|---|---|---|---|---|---|")
    found = {}
    for name, (_, target) in PROGRAMS.items():
        if arguments.rows not in name:
            continue
        tuned, plain = (in_a_process(name, arguments.rounds, variables) for variables in (MALLOC, {}))
        found[name] = {"tuned": tuned, "plain": plain}
        met = "" if target is None else f"{target}, {'met' if tuned['ratio'] >= target else '**missed**'}"
        print(
            f"| {name} | {tuned['NumPy us']:.2f} | {tuned['minidynamo us']:.2f} | {tuned['ratio']:.2f} "
            f"| {plain['ratio']:.2f} | {tuned['first ms']:.1f} | {met} |",
            flush=True,
        )
    if arguments.json:
        write_json(arguments.json, found)


if __name__ == "__main__":
    main()
