"""Products whose right operand is never packed, beside torch and NumPy: python benchmarks/engine_rows/products.py

From 1 to 512 rows, matrices from 256 to 4096 each way, by rows (x @ w) and by columns (linear), in memory that NumPy
owns: float32 beside torch, float64 beside NumPy; and "packed", weights of our own after they have been seen three
times. With one thread it is the thread's processor time, with more the time that passes.
"""

import collections
import itertools
import time

from sections import OURS, Figure, Row, Section, mean_of, run_alone

HEIGHTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SIDES = (256, 512, 1024, 2048, 4096)
FORMS = ("by rows", "by columns", "packed")
PEERS = {"float32": "torch", "float64": "numpy"}
TARGET, FLOOR = 1.0, 0.95  # times as fast as the peer: the geometric mean, and each that is not packed


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
    clock = time.thread_time if threads == 1 else time.perf_counter
    for dtype, peer in PEERS.items():
        for form in FORMS if dtype == "float32" else FORMS[:2]:
            for k, n, m in itertools.product(SIDES, SIDES, HEIGHTS):
                shape = (m, k, n, form, dtype, threads)
                contenders = {OURS: _bind(our_call, shape), peer: _bind(THEIRS[peer], shape)}
                yield Row(f"{dtype} {form} {m} x {k} x {n}", contenders, clock)


def _bind(make, shape):
    return lambda: make(*shape)


def figures(row, times):
    dtype, form = row.split()[0], row.rsplit(" ", 5)[0]
    peer = PEERS[dtype]
    if times.has(OURS, peer):
        ratio = times.least(peer) / times.least(OURS)
        yield Figure("peer / ours", ratio, FLOOR if form.endswith(FORMS[:2]) else None)


def totals(found):
    groups = collections.defaultdict(list)
    for name, figures in found.items():
        if "peer / ours" not in figures:
            continue
        form, height = name.rsplit(" ", 5)[0], name.split()[-5]
        for group in (form, f"{form}, {height} rows"):
            groups[group].append(figures["peer / ours"].value)
    for group, ratios in groups.items():
        yield f"{group}, {len(ratios)} products", mean_of(ratios, TARGET)
        yield group, Figure("least", min(ratios), FLOOR if "packed" not in group else None)


SECTION = Section(rows, figures, totals, threads=(1, 2))

if __name__ == "__main__":
    run_alone(__file__)
