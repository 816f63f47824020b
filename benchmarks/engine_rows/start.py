"""What the first product of a process costs over the second: python benchmarks/engine_rows/start.py

Each round is a process of its own; at load 4 so many processes that compute nothing of use run beside it. Processor
time of the process counts; the time that passes is shown beside it.
"""

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

from sections import OURS, Figure, Section, run_alone
from sections import Row as Case

MOST_MS = 5  # that the first product may cost over the second
MOST_IMPORT_MS = 25
CALLS = 6  # weights are packed from the third one on
LOADS = (0, 4)
CLOCKS = ("passing", "processor")

PROGRAM = """
import sys, time
clocks = (time.perf_counter, time.process_time)
begin = [clock() for clock in clocks]
import minidynamo as md
imported = [clock() - since for clock, since in zip(clocks, begin)]
import minidynamo.nn.functional  # loaded on first use: not what is measured
x, w = md.ones({m}, {k}), md.ones({n}, {k})
call = {call}
print(*(1e3 * seconds for seconds in imported))
for _ in range({calls}):
    begin = [clock() for clock in clocks]
    call(x, w)
    print(*(1e3 * (clock() - since) for clock, since in zip(clocks, begin)))
"""

CALLABLES = {
    "x @ w.t(), eager": "lambda x, w: x @ w.t()",
    "linear, eager": "md.nn.functional.linear",
    "linear, compiled": "md.compile(lambda x, w: md.nn.functional.linear(x, w))",
}
SHAPES = {"few": (8, 64, 64), "some": (32, 256, 256)}


@dataclass
class Row(Case):
    """contenders: name -> a function that returns the call that runs a process."""

    load: int = 0

    def begin(self, calls):
        for call in calls.values():
            call()  # writes bytecode, which an installed package has
        return {}

    def sample(self, calls):
        beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(self.load)]
        try:
            return {name: milliseconds(call()) for name, call in calls.items()}
        finally:
            for process in beside:
                process.kill()
                process.wait()


def run(call, shape):
    m, k, n = shape
    program = PROGRAM.format(call=call, m=m, k=k, n=n, calls=CALLS)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    output = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    return [[float(number) for number in line.split()] for line in output.splitlines()]


def milliseconds(lines):
    """lines: by each clock, of the import and of each call."""
    found = {}
    for clock, (loading, first, second, *later) in zip(CLOCKS, zip(*lines, strict=True), strict=True):
        found |= {f"{clock}, import": loading, f"{clock}, more": first - second, f"{clock}, later": max(later)}
    return found


def _bind(call, shape):
    return lambda: lambda: run(call, shape)


ROWS = [
    Row(f"{name}, {size} elements, load {load}", {OURS: _bind(call, shape)}, load=load)
    for load in LOADS
    for name, call in CALLABLES.items()
    for size, shape in SHAPES.items()
]


def figures(row, times):
    for clock, most, most_import in zip(CLOCKS, (None, MOST_MS), (None, MOST_IMPORT_MS), strict=True):
        more, loading = times.of(OURS, f"{clock}, more"), times.of(OURS, f"{clock}, import")
        yield Figure(f"{clock}: first over second, median, ms", statistics.median(more), most, True)
        yield Figure(f"{clock}: import, ms", min(loading), most_import, True)
        yield Figure(f"{clock}: slowest later call, ms", times.least(OURS, f"{clock}, later"))


SECTION = Section(lambda threads: ROWS, figures, ours=(OURS, "processor, import"))

if __name__ == "__main__":
    run_alone(__file__)
