"""Compiled beside eager, both minidynamo's: compiling must never make a program slower.

    python benchmarks/compiled_and_eager.py [--rows WORDS] [--threads N] [--batches 1] [--code DIR] [--rounds N]
                                            [--ops FILE] [--json FILE]

The rows of the table and public models (own_programs.py), both sides in turns in one process. A row below 0.95 is
measured three times more, of which the median counts. --ops reads the file that ops.py --output wrote: lone operations
in every form.
"""

import json
import statistics
import sys
import time
import warnings
from functools import partial

import own_programs
from harness import least_seconds

FLOOR = 0.95
SAMPLE_SECONDS = 0.01
ROW_SECONDS = 2.0
AGAIN = 3


def ratio_of(eager, compiled, arguments, rounds):
    """Median over the rounds of eager's time by the compiled one's, and both least times."""
    ratios, times, end = [], [], time.perf_counter() + ROW_SECONDS
    while len(ratios) < rounds and (len(ratios) < 3 or time.perf_counter() < end):
        pair = tuple(least_seconds(each, arguments, SAMPLE_SECONDS) for each in (eager, compiled))
        times.append(pair)
        ratios.append(pair[0] / pair[1])
    return statistics.median(ratios), *map(min, zip(*times))


def measure(minidynamo, name, make, rounds):
    minidynamo._dynamo.reset()
    minidynamo.empty_cache()
    function, arguments = make()
    compiled = minidynamo.compile(function)
    for _ in range(3):
        compiled(*arguments)
        function(*arguments)
    ratio, eager, ours = ratio_of(function, compiled, arguments, rounds)
    if ratio < FLOOR:
        ratio = statistics.median(ratio_of(function, compiled, arguments, rounds)[0] for _ in range(AGAIN))
    return {"row": name, "ratio": ratio, "eager": eager, "compiled": ours}


def of_operations(path):
    """{name: ratio} of the forms in the file of ops.py."""
    found = {}
    with open(path) as file:
        for line in file:
            record = json.loads(line)
            seconds = record.get("seconds", {})
            if {"eager", "compiled"} <= set(seconds):
                found[record["key"]] = seconds["eager"] / seconds["compiled"]
    return found


def summary(ratios):
    below = sum(ratio < FLOOR for ratio in ratios)
    return (
        f"{len(ratios)} rows: geometric mean {statistics.geometric_mean(ratios):.2f}, median "
        f"{statistics.median(ratios):.2f}, least {min(ratios):.2f}; {below} below {FLOOR}"
    )


def main(argv):
    parser = own_programs.parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ops", help="a file that ops.py --output wrote")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if arguments.ops:
        found = of_operations(arguments.ops)
        for name, ratio in sorted(found.items(), key=lambda pair: pair[1])[:40]:
            print(f"{ratio:.2f} {name}")
        return print(summary(list(found.values())) if found else "no form has both times")
    rows = []
    for name, row in own_programs.measured(arguments, partial(measure, rounds=arguments.rounds)):
        rows.append(row)
        times = f"eager {row['eager'] * 1e6:.1f} us, compiled {row['compiled'] * 1e6:.1f}"
        print(f"{row['ratio']:.2f} {name}: {times}", flush=True)
    if rows:
        print(summary([row["ratio"] for row in rows]))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
