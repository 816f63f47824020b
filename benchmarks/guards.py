"""What guards cost, in calls of functions that assume more and more: python benchmarks/guards.py

"call" is a whole call. "check" is what the library's own log says of checking the guards of the last capture, where it
says so: torch right after the capture, with cold caches; minidynamo the middle one of five checks.
"""

import itertools
import logging
import re
import timeit

from harness import (
    SAMPLE_SECONDS,
    Worker,
    available,
    environment,
    interleave,
    parse_arguments,
    print_table,
    serve,
    summarise_all,
    title_of,
    write_json,
)

COUNTS = (1, 10, 50, 200)
ENTRIES = (1, 8, 64)


def with_arguments(library, count):
    """`count` strings, each of which decides something."""
    names = [f"a{number}" for number in range(count)]
    checks = "".join(f"    if {name} != {name!r}: x = x * 2\n" for name in names)
    namespace = {}
    exec(f"def f(x, {', '.join(names)}):\n{checks}    return x + 1", namespace)
    x = library.ones(3)
    return [(namespace["f"], (x, *names), x + 1)]


class Settings:
    pass


def with_attributes(library, count):
    """`count` attributes of one object, each of which decides something."""
    settings = Settings()
    names = [f"a{number}" for number in range(count)]
    for name in names:
        setattr(settings, name, name)
    checks = "".join(f"    if settings.{name} != {name!r}: x = x * 2\n" for name in names)
    namespace = {}
    exec(f"def f(x, settings):\n{checks}    return x + 1", namespace)
    x = library.ones(3)
    return [(namespace["f"], (x, settings), x + 1)]


def with_layers(library, count):
    """A module of `count` layers of 4 by 4."""
    layers = [library.nn.Linear(4, 4) for _ in range(count)]

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = library.nn.ModuleList(layers)

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    x = library.ones(1, 4)
    return [(net, (x,), net(x))]


def variants(library):
    """64 kinds of arguments: 4 ranks, 4 dtypes, 4 constants."""
    dtypes = (library.float32, library.float64, library.int32, library.int64)
    for rank, dtype, text in itertools.product((1, 2, 3, 4), dtypes, ("a", "bc", "def", "ghij")):
        yield library.ones(*[2] * rank, dtype=dtype), text


def add_length(x, text):
    return x + len(text)


def with_entries(library, count):
    """One function with captures for `count` kinds of arguments, each called in turn."""
    return [(add_length, args, add_length(*args)) for args in itertools.islice(variants(library), count)]


def alone(library, count):
    """The same calls of `count` functions, with one capture each."""
    cases = []
    for args in itertools.islice(variants(library), count):
        namespace = {}
        exec("def f(x, text):\n    return x + len(text)", namespace)
        cases.append((namespace["f"], args, add_length(*args)))
    return cases


CASES = {
    **{f"{count} arguments": (with_arguments, count) for count in COUNTS},
    **{f"{count} attributes": (with_attributes, count) for count in COUNTS},
    **{f"{count} layers": (with_layers, count) for count in COUNTS},
    **{f"{count} captures in turn": (with_entries, count) for count in ENTRIES},
    "64 functions in turn": (alone, 64),
}


class Minidynamo:
    module = "minidynamo"
    log = "minidynamo.verbose_guards"

    def library(self):
        import minidynamo

        return minidynamo

    def compile(self, function):
        return self.library().compile(function, recompile_limit=64)

    def start_log(self):
        self.library()._logging.set_logs(verbose_guards=True)

    def stop_log(self):
        self.library()._logging.set_logs()

    def reset(self):
        self.library()._dynamo.reset()


class Torch(Minidynamo):
    """With the backend that runs the graph as it is: guards do not depend on it."""

    module = "torch"
    log = "torch._dynamo.guards.__guards"

    def library(self):
        import torch

        return torch

    def compile(self, function):
        library = self.library()
        library._dynamo.config.recompile_limit = 64
        return library.compile(function, backend="eager")

    def start_log(self):
        self.library()._logging.set_logs(guards=True)


class Eager(Minidynamo):
    """Not compiled: what the operations cost alone."""

    log = None

    def compile(self, function):
        return function


CONTENDERS = {"minidynamo.compile": Minidynamo(), "minidynamo eager": Eager(), "torch.compile": Torch()}


class KeepLatency(logging.Handler):
    def __init__(self):
        super().__init__()
        self.seconds = None

    def emit(self, record):
        found = re.search(r"Guard eval latency = ([\d.e+-]+) us", record.getMessage())
        if found:
            self.seconds = float(found[1]) * 1e-6


class Case:
    """A round of calls, checked, and the guard latency that the log gave for the last capture."""

    def __init__(self, contender, build, count):
        calls = build(contender.library(), count)
        compiled = {}
        self.calls = []
        handler = KeepLatency()
        logger = logging.getLogger(contender.log) if contender.log else None
        if logger:
            contender.start_log()
            logger.handlers[:] = [handler]
            logger.propagate = False
        for function, args, expected in calls:
            if id(function) not in compiled:
                compiled[id(function)] = contender.compile(function)
            callee = compiled[id(function)]
            for _ in range(3):
                result = callee(*args)
            if (result - expected).abs().max().item() > 1e-5 * expected.abs().max().item():
                raise AssertionError(f"{function}: {result} is not {expected}")
            self.calls.append((callee, args))
        if logger:
            logger.removeHandler(handler)
            contender.stop_log()
        self.latency = handler.seconds
        run = self.run
        once = min(timeit.repeat(run, number=1, repeat=20))
        self.rounds = max(1, round(SAMPLE_SECONDS / once))

    def run(self):
        for callee, args in self.calls:
            callee(*args)

    def sample(self):
        return timeit.timeit(self.run, number=self.rounds) / self.rounds / len(self.calls)


def work(name):
    contender = CONTENDERS[name]
    with contender.library().no_grad():
        cases = {case: Case(contender, *build) for case, build in CASES.items()}
        serve(lambda case: [cases[case].sample(), cases[case].latency])


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
            rows = summarise_all({name: [call for call, _ in pairs] for name, pairs in samples.items()}, names[0])
            checks = {name: pairs[0][1] for name, pairs in samples.items() if pairs[0][1] is not None}
            title = title_of(case, threads)
            print_table(title, rows, names[0], "us", 1e6)
            print("check, us: " + ", ".join(f"{name} {seconds * 1e6:.3g}" for name, seconds in checks.items()))
            results[title] = {"call": rows, "check": checks}
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
