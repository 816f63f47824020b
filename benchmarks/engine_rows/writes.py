"""Writes in place beside NumPy and torch: python benchmarks/engine_rows/writes.py [--rows TEXT]

The same statement for each library's own arrays, and compiled; one thread.
"""

from dataclasses import dataclass

from sections import Figure, Section, run_alone
from sections import Row as Case

LENGTH, SIDE = 100_000, 512
TARGET = 1.0  # times as fast as NumPy
SECONDS = 0.01  # of calls of one contender in a round


@dataclass(frozen=True)
class Statement:
    """Over out, x and y, all of one shape, and an index i."""

    name: str
    body: str
    shape: tuple = (LENGTH,)
    torch_only: bool = False  # methods that arrays do not have


STATEMENTS = [
    Statement("three-point stencil", "out[1:-1] = 0.5 * (x[:-2] + x[2:])"),
    Statement("the same, then a sum", "out[1:-1] = 0.5 * (x[:-2] + x[2:])\n    return out.sum()"),
    Statement("stencil of itself", "out[1:-1] = 0.5 * (out[:-2] + out[2:])"),
    Statement("in-place operator on a window", "out[10:] *= 0.999"),
    Statement("in-place operator", "out += x"),
    Statement("every other element", "out[::2] = x[1::2] + 1"),
    Statement("two disjoint windows", "out[:40000] = x[:40000] * 2\n    out[60000:] = x[60000:] * 3"),
    Statement("two overlapping windows", "out[:60000] = x[:60000] * 2\n    out[40000:] = x[40000:] * 3"),
    Statement("fill of a window", "out[100:-100] = 3.0"),
    Statement("copy of a window", "out[1:] = x[:-1]"),
    Statement("chain of views", "v = out[100:]\n    v = v[:-100]\n    v += 1\n    v *= 0.5"),
    Statement(
        "five-point stencil",
        "out[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])",
        (SIDE, SIDE),
    ),
    Statement("columns", "out[:, :200] = x[:, 200:400] * 2", (SIDE, SIDE)),
    Statement("row by row", "for n in range(64):\n        out[n] = x[n] * y[n]", (64, 2048)),
    Statement("mask", "out.masked_fill_(x > 0.5, 0.0)", torch_only=True),
    Statement("mask by key", "out[x > 0.5] = 0.0"),
    Statement("index", "out[i] = 1.0"),
    Statement("base of its own", "t = zeros(out.shape[0])\n    t[1:-1] = x[1:-1] * 2\n    t[0] = 1.0\n    return t"),
]


def call_of(statement, library, convert, compiles=False):
    import numpy

    if library.__name__ != "numpy":
        library.set_num_threads(1)
    rng = numpy.random.default_rng(0)
    arrays = [rng.random(statement.shape) for _ in range(3)] + [numpy.arange(0, statement.shape[0], 7)]
    scope = {"zeros": lambda n: library.zeros(n, dtype=library.float64)}
    exec(compile(f"def f(out, x, y, i):\n    {statement.body}\n", f"<{statement.name}>", "exec"), scope)
    function, arguments = scope["f"], [convert(array) for array in arrays]
    if compiles:
        function = library.compile(function)
    for _ in range(5):
        function(*arguments)
    return lambda: function(*arguments)


def of_numpy(statement):
    import numpy

    return call_of(statement, numpy, lambda array: array.copy())


def of_torch(statement):
    import torch

    return call_of(statement, torch, lambda array: torch.from_numpy(array.copy()))


def ours(statement, compiles):
    import minidynamo

    return call_of(statement, minidynamo, lambda array: minidynamo.from_numpy(array.copy()).clone(), compiles)


def rows(threads):
    for each in STATEMENTS:
        contenders = {
            "numpy": lambda each=each: of_numpy(each),
            "torch": lambda each=each: of_torch(each),
            "eager": lambda each=each: ours(each, False),
            "compiled": lambda each=each: ours(each, True),
        }
        if each.torch_only:
            del contenders["numpy"]
        yield Case(each.name, contenders, seconds=SECONDS)


def figures(row, times):
    compiled = times.least("compiled")
    yield Figure("us, compiled", compiled * 1e6)
    for peer, target in (("numpy", TARGET), ("torch", None), ("eager", None)):
        if times.has(peer):
            yield Figure(f"{peer} / compiled", times.least(peer) / compiled, target)


SECTION = Section(rows, figures, ours=("compiled", "seconds"), rounds=20)

if __name__ == "__main__":
    run_alone(__file__)
