"""What the first product of a process costs over the second: python benchmarks/engine_rows/start.py [--load 4]

Each round is a process of its own. Both the time that passes and the processor time of the process count. --load: so
many processes that compute nothing of use run beside it.
"""

import argparse
import multiprocessing
import statistics
import subprocess
import sys
from dataclasses import dataclass

MOST_MS = 5  # that the first product may cost over the second
MOST_IMPORT_MS = 25
CALLS = 6  # weights are packed from the third one on

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
class Row:
    """contenders: name -> a function that runs a process and returns [milliseconds, of the processor] of the import and
    of each call."""

    name: str
    contenders: dict


def run(call, shape):
    m, k, n = shape
    program = PROGRAM.format(call=call, m=m, k=k, n=n, calls=CALLS)
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return [[float(number) for number in line.split()] for line in output.splitlines()]


def _bind(call, shape):
    return lambda: run(call, shape)


ROWS = [
    Row(f"{name}, {size} elements", {"minidynamo": _bind(call, shape)})
    for name, call in CALLABLES.items()
    for size, shape in SHAPES.items()
]


def spin():
    while True:
        pass


def report(row, rounds):
    runs = [row.contenders["minidynamo"]() for _ in range(rounds)]
    cells = []
    for clock in (0, 1):
        loading = min(each[0][clock] for each in runs)
        first, second, *later = [[each[call][clock] for each in runs] for call in range(1, CALLS + 1)]
        more = [one - other for one, other in zip(first, second, strict=True)]
        cells += [f"{loading:.1f}", f"{min(more):.1f}", f"{statistics.median(more):.1f}"]
        cells.append(f"{max(min(call) for call in later):.1f}")
    print(f"| {row.name} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", type=int, default=0)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    arguments = parser.parse_args()
    beside = [multiprocessing.Process(target=spin, daemon=True) for _ in range(arguments.load)]
    for process in beside:
        process.start()
    titles = ("import", "first over second, least", "median", "slowest later call")
    print(f"| ms (at most {MOST_IMPORT_MS} and {MOST_MS}) | {' | '.join(titles)} | processor: {' | '.join(titles)} |")
    print("| --- |" + " ---: |" * 8)
    for row in ROWS:
        if arguments.rows in row.name:
            report(row, arguments.rounds)
    for process in beside:
        process.terminate()


if __name__ == "__main__":
    main()
