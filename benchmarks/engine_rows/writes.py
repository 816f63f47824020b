"""Writes in place beside NumPy and torch: python benchmarks/engine_rows/writes.py [--rows TEXT]

The same statement for each library's own arrays, and compiled; minima of rounds that take turns, one thread.
"""

import argparse
import sys
import time
from dataclasses import dataclass

LENGTH, SIDE = 100_000, 512


@dataclass(frozen=True)
class Row:
    """A statement over out, x and y, all of one shape, and an index i."""

    name: str
    body: str
    shape: tuple = (LENGTH,)
    torch_only: bool = False  # methods that arrays do not have


ROWS = [
    Row("three-point stencil", "out[1:-1] = 0.5 * (x[:-2] + x[2:])"),
    Row("the same, then a sum", "out[1:-1] = 0.5 * (x[:-2] + x[2:])\n    return out.sum()"),
    Row("stencil of itself", "out[1:-1] = 0.5 * (out[:-2] + out[2:])"),
    Row("in-place operator on a window", "out[10:] *= 0.999"),
    Row("in-place operator", "out += x"),
    Row("every other element", "out[::2] = x[1::2] + 1"),
    Row("two disjoint windows", "out[:40000] = x[:40000] * 2\n    out[60000:] = x[60000:] * 3"),
    Row("two overlapping windows", "out[:60000] = x[:60000] * 2\n    out[40000:] = x[40000:] * 3"),
    Row("fill of a window", "out[100:-100] = 3.0"),
    Row("copy of a window", "out[1:] = x[:-1]"),
    Row("chain of views", "v = out[100:]\n    v = v[:-100]\n    v += 1\n    v *= 0.5"),
    Row(
        "five-point stencil",
        "out[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])",
        (SIDE, SIDE),
    ),
    Row("columns", "out[:, :200] = x[:, 200:400] * 2", (SIDE, SIDE)),
    Row("row by row", "for n in range(64):\n        out[n] = x[n] * y[n]", (64, 2048)),
    Row("mask", "out.masked_fill_(x > 0.5, 0.0)", torch_only=True),
    Row("mask by key", "out[x > 0.5] = 0.0"),
    Row("index", "out[i] = 1.0"),
    Row("base of its own", "t = zeros(out.shape[0])\n    t[1:-1] = x[1:-1] * 2\n    t[0] = 1.0\n    return t"),
]


def functions(row):
    """By contender: a callable without arguments."""
    import numpy
    import torch

    import minidynamo as md

    md.set_num_threads(1)
    torch.set_num_threads(1)
    rng = numpy.random.default_rng(0)
    arrays = [rng.random(row.shape) for _ in range(3)] + [numpy.arange(0, row.shape[0], 7)]
    source = f"def f(out, x, y, i):\n    {row.body}\n"
    made = {}
    for name, library, convert in (
        ("numpy", numpy, lambda a: a.copy()),
        ("torch", torch, lambda a: torch.from_numpy(a.copy())),
        ("eager", md, lambda a: md.from_numpy(a.copy()).clone()),
        ("compiled", md, lambda a: md.from_numpy(a.copy()).clone()),
    ):
        if row.torch_only and name == "numpy":
            continue
        kind = {"dtype": library.float64}
        scope = {"zeros": lambda n, library=library, kind=kind: library.zeros(n, **kind)}
        exec(compile(source, f"<{row.name}>", "exec"), scope)
        function = md.compile(scope["f"]) if name == "compiled" else scope["f"]
        args = [convert(array) for array in arrays]
        made[name] = lambda function=function, args=args: function(*args)
    return made


def measure(contenders, rounds, seconds):
    """The least time of one call, by contender, in microseconds: rounds take turns."""
    best = dict.fromkeys(contenders, float("inf"))
    for call in contenders.values():
        for _ in range(5):
            call()
    for _ in range(rounds):
        for name, call in contenders.items():
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return {name: 1e6 * least for name, least in best.items()}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.01, help="of a round and contender")
    options = parser.parse_args(argv)
    print(f"{'':32} {'numpy us':>9} {'torch us':>9} {'eager us':>9} {'compiled':>9}  numpy/c  torch/c")
    for row in ROWS:
        if options.rows not in row.name:
            continue
        times = measure(functions(row), options.rounds, options.seconds)
        cells = "".join(
            f"{times[name]:>10.1f}" if name in times else f"{'-':>10}"
            for name in ("numpy", "torch", "eager", "compiled")
        )
        ratios = "".join(
            f"{times[name] / times['compiled']:>9.2f}" if name in times else f"{'-':>9}" for name in ("numpy", "torch")
        )
        print(f"{row.name:32}{cells}{ratios}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
