"""What a call costs when there is next to nothing to compute: python benchmarks/overhead.py

Three elements, so that the time is that of the call: entry, guards, dispatch, allocation of the result.
"""

import timeit

from harness import (
    Worker,
    available,
    environment,
    interleave,
    parse_arguments,
    print_table,
    serve,
    summarise_all,
    write_json,
)


def two_ops(x):
    return (x + 1) * 2


def one_break(x):
    y = x + 1
    break_here()
    return y * 2


def one_add(x):
    return x + x


def break_here():
    """What the graph breaks on; a contender puts its own in this place."""


# What is called, the result for [1, 2, 3], and the contender that the others are compared with.
CASES = {
    "(x + 1) * 2": (two_ops, [4.0, 6.0, 8.0], "minidynamo.compile"),
    "x + 1, a graph break, * 2": (one_break, [4.0, 6.0, 8.0], "minidynamo.compile"),
    "x + x": (one_add, [2.0, 4.0, 6.0], "minidynamo eager"),
}
SAMPLE_SECONDS = 1e-3  # the same for all: a longer sample would meet more of the machine's noise
VALUES = [1.0, 2.0, 3.0]


class PlainPython:
    """The cost of the call alone: the same function on one float."""

    module = None
    compiles = False

    def make(self, values):
        return values[0]

    def wrap(self, function):
        return function

    def read(self, result):
        # All cases are elementwise: the other elements by the same function.
        return result


class NumPy(PlainPython):
    module = "numpy"

    def make(self, values):
        import numpy

        return numpy.array(values, dtype=numpy.float32)

    def read(self, result):
        return result.tolist()


class Eager(NumPy):
    module = "minidynamo"

    def make(self, values):
        self.use_break()
        return self.library().tensor(values)

    def library(self):
        import minidynamo

        return minidynamo

    def use_break(self):
        globals()["break_here"] = self.library()._dynamo.graph_break


class Compiled(Eager):
    compiles = True

    def wrap(self, function):
        return self.library().compile(function)


class TorchEager(Eager):
    module = "torch"

    def library(self):
        import torch

        return torch

    def use_break(self):
        import torch._dynamo

        globals()["break_here"] = torch._dynamo.graph_break


class TorchCompiled(TorchEager):
    compiles = True

    def wrap(self, function):
        return self.library().compile(function)


CONTENDERS = {
    "plain Python, a float": PlainPython(),
    "minidynamo.compile": Compiled(),
    "minidynamo eager": Eager(),
    "NumPy": NumPy(),
    "torch eager": TorchEager(),
    "torch.compile": TorchCompiled(),
}
NO_COMPILING = ("x + x",)


def work(name):
    contender = CONTENDERS[name]
    x = contender.make(VALUES)
    timers = {}
    for case, (function, expected, _) in CASES.items():
        if contender.compiles and case in NO_COMPILING:
            continue
        callee = contender.wrap(function)
        for _ in range(20):
            result = contender.read(callee(x))
        if result != (expected if contender.module else expected[0]):
            raise AssertionError(f"{name}: {case} of {VALUES} is {result}, not {expected}")
        timer = timeit.Timer("callee(x)", globals={"callee": callee, "x": x})
        calls = max(10, round(SAMPLE_SECONDS / min(timer.repeat(10, 100)) * 100))
        timers[case] = (timer, calls)
    serve(lambda case: sample(*timers[case]) if case in timers else None)


def sample(timer, calls):
    return timer.timeit(calls) / calls


def main():
    arguments = parse_arguments(__doc__, rounds=40)
    if arguments.worker:
        work(*arguments.worker)
        return
    results = {}
    names = available({name: contender.module for name, contender in CONTENDERS.items()}, arguments.only)
    for threads in map(int, arguments.threads.split(",")):
        workers = [Worker(__file__, [name], environment(threads)) for name in names]
        answers = interleave(workers, list(CASES), arguments.rounds)
        for worker in workers:
            worker.close()
        for case, samples in answers.items():
            base = CASES[case][2]
            rows = summarise_all({name: times for name, times in samples.items() if times}, base)
            title = f"{case} on {len(VALUES)} elements, {threads} thread{'s'[: threads > 1]}"
            print_table(title, rows, base, "us", 1e6)
            results[title] = rows
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
