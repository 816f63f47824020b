"""What is left to Python beside plain Python: python benchmarks/engine_rows/plain.py [--rows TEXT] [--rounds N]

Each row is one function, called plainly and compiled, in turn in one process. Nothing in it is captured, or a part that
takes little time beside the rest. The first call of the compiled function is measured too: what it takes beyond a plain
call. Rows named "hook" compare with a hook that only calls CPython's own evaluator.
"""

import ctypes
import math
import mmap
import re
import statistics
import sys
import time

import numpy as np
from sections import Figure, Section, run_alone
from sections import Row as Case

import minidynamo

REPEAT_FOR = 0.02  # seconds that one measurement repeats a call for
MOST, MOST_UNDER_A_HOOK = 1.05, 1.1  # times what plain Python takes
MOST_FIRST_MS = 100  # that the first call may take over a plain one


class Row(Case):
    """The first contender is what the compiled one is compared with."""

    def begin(self, calls):
        self.times = 1
        first = {name: {"first": seconds(call)} for name, call in calls.items()}
        for call in calls.values():
            call()
        self.times = max(1, int(REPEAT_FOR / min(seconds(call) for call in calls.values())))
        return first

    def sample(self, calls):
        return {name: {"seconds": seconds(call, self.times)} for name, call in calls.items()}


def density(x, mean, spread):
    return math.exp(-((x - mean) ** 2) / (2 * spread * spread)) / math.sqrt(math.tau * spread * spread)


def overlap(count):
    total = 0.0
    for i in range(count):
        total += min(density(i / count, 0, 1), density(i / count, 0.5, 2))
    return total


def logistic(count):
    x = 0.3
    for _ in range(count):
        x = 3.7 * x * (1.0 - x)
    return x


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Point:
    def __init__(self, x):
        self.x = x

    def add(self, other):
        return Point(self.x + other.x)


def chain(count):
    point = Point(0)
    for i in range(count):
        point = point.add(Point(i))
    return point.x


def squares(count):
    for i in range(count):
        yield i * i


def sums_a_generator(count):
    return sum(squares(count))


def words(count):
    found = {}
    for i in range(count):
        word = f"w{i % 97}"
        found[word] = found.get(word, 0) + 1
    return sorted(found.items())[:3]


def imports(names):
    for name in names:
        sys.modules.pop(name, None)
    import colorsys
    import fractions
    import html.entities
    import plistlib

    return colorsys, fractions, html.entities, plistlib


IMPORTED = ("colorsys", "fractions", "html.entities", "plistlib")
LARGE = np.linspace(0, 1, 500_000)
SMALL = np.linspace(0, 1, 1000)


def expression(x):
    return ((x * 2 + 1) * 3 - 1) * 5 + 2


def hundred_expressions(x):
    for _ in range(100):
        y = expression(x)
    return y


def recurses_twenty_times(n):
    return sum(fibonacci(n) for _ in range(20))


DISABLED = minidynamo.compiler.disable(recurses_twenty_times)


def calls_disabled(n):
    return DISABLED(n)


def works_around_disabled(x, n):
    y = x * 2
    number = DISABLED(n)
    return y + number


def works_around_disabled_plainly(x, n):
    y = x * 2
    number = recurses_twenty_times(n)
    return y + number


def works_behind_a_loop(x, count):
    total = 0.0
    for i in range(count):
        total += i / (i + 1.0)
    return x * total


def letter(match):
    return "x"


def works(x):
    return x + 1


def calls_both(x, count):
    """Calls left to Python, made from C, between operations that are captured: the hook stays."""
    for _ in range(count):
        re.sub("[0-9]", letter, "0123456789" * 20)
        x = works(x)
    return x


class IdleHook:
    """A PEP 523 hook that only jumps to CPython's own evaluator (x86-64)."""

    def __init__(self):
        evaluator = ctypes.cast(ctypes.pythonapi._PyEval_EvalFrameDefault, ctypes.c_void_p).value
        code = b"\x48\xb8" + evaluator.to_bytes(8, "little") + b"\xff\xe0"  # mov rax, evaluator; jmp rax
        self.memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.memory.write(code)
        self.hook = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.evaluator = evaluator
        ctypes.pythonapi.PyInterpreterState_Get.restype = ctypes.c_void_p
        self.interpreter = ctypes.c_void_p(ctypes.pythonapi.PyInterpreterState_Get())

    def install(self, hook):
        ctypes.pythonapi._PyInterpreterState_SetEvalFrameFunc(self.interpreter, ctypes.c_void_p(hook))

    def __call__(self, call):
        def run():
            self.install(self.hook)
            try:
                return call()
            finally:
                self.install(self.evaluator)

        return run


def row(name, function, *args, plainly=None):
    compiled = minidynamo.compile(function)
    plain = plainly or function
    return Row(name, {"plain": lambda: lambda: plain(*args), "compiled": lambda: lambda: compiled(*args)})


def hook_row(name, function, *args):
    compiled = minidynamo.compile(function)
    plain = IdleHook()(lambda: function(*args))
    return Row(name, {"plain, idle hook": lambda: plain, "compiled": lambda: lambda: compiled(*args)})


ROWS = [
    row("float arithmetic and calls, 20,000", overlap, 20_000),
    row("float arithmetic, 50,000", logistic, 50_000),
    row("recursion, fibonacci(18)", fibonacci, 18),
    row("chain of 20,000 objects", chain, 20_000),
    row("generator, 20,000", sums_a_generator, 20_000),
    row("words of a dict, 20,000", words, 20_000),
    row("imports of 4 modules", imports, IMPORTED),
    row("NumPy, 6 operations on 500,000", expression, LARGE),
    row("NumPy, 6 operations on 1,000", expression, SMALL),
    row("NumPy, 100 times 6 operations on 1,000", hundred_expressions, SMALL),
    row("disabled recursion", calls_disabled, 12, plainly=recurses_twenty_times),
    row(
        "disabled, work around it", works_around_disabled, minidynamo.ones(3), 12, plainly=works_around_disabled_plainly
    ),
    row("work behind a loop, 50,000", works_behind_a_loop, minidynamo.ones(3), 50_000),
    hook_row("hook: calls left to Python between operations", calls_both, minidynamo.ones(3), 200),
]


def seconds(call, times=1):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def figures(row, times):
    base = next(iter(times.rounds[0]))
    plain, compiled = times.of(base), times.of("compiled")
    most = MOST_UNDER_A_HOOK if row.startswith("hook") else MOST
    ratio = statistics.median(ours / theirs for ours, theirs in zip(compiled, plain, strict=True))
    yield Figure(f"us, {base}", min(plain) * 1e6)
    yield Figure(f"compiled / {base}, median of rounds", ratio, most, True)
    yield Figure(f"compiled / {base}, minima", min(compiled) / min(plain))
    yield Figure(
        "first call over later ones, ms", (times.once["compiled"]["first"] - min(plain)) * 1e3, MOST_FIRST_MS, True
    )


SECTION = Section(lambda threads: ROWS, figures, ours=("compiled", "seconds"), rounds=7)

if __name__ == "__main__":
    run_alone(__file__)
