"""Random tests of any length: python -m tests.drawn [GENERATOR ...] [--count N] [--seed S] [--checked] [--jobs J]

Each generator of the table, or each named one, makes N programs from the seeds S, S + 1 ... in separate processes of some hundreds
each, so that a crash of the process is found too. Prints a row for each, with the first failure; exits with 1 if there was one.
--checked compares the first ten hits of each capture with eager Python (config.check_captures), for those that can be compared.
"""

import argparse
import sys

from .generators import GENERATORS
from .running import run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generators", nargs="*", metavar="GENERATOR", help=", ".join(GENERATORS))
    parser.add_argument("--count", type=int, default=20_000, help="programs of each generator")
    parser.add_argument("--seed", type=int, default=1_000_000, help="of the first one; the suite's own are below 1,000")
    parser.add_argument("--checked", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    arguments = parser.parse_args()
    names = arguments.generators or [name for name, row in GENERATORS.items() if row.checked or not arguments.checked]
    unknown = [name for name in names if name not in GENERATORS]
    if unknown:
        parser.error(f"no such generator: {', '.join(unknown)}")
    failed = []
    for name in names:
        result = run(name, arguments.count, arguments.seed, arguments.checked, arguments.jobs)
        print(result, flush=True)
        if result.failures:
            failed.append(name)
    return 1 if failed else 0


sys.exit(main())
