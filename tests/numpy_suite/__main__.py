"""NumPy's own tests under everywhere mode: python -m tests.numpy_suite [--ways ...] [--messages DIRECTORY] [MODULE ...]

Runs each module plainly, in everywhere mode, and in everywhere mode with regions of at most three instructions. Prints how many
tests pass in each way, and those that pass plainly only, with the reason. Exits with 1 if a test was lost for an unknown reason.
"""

import argparse
import sys
from pathlib import Path

from .running import WAYS, all_modules, are_there, lost, run


def passed(outcomes):
    return sum(outcome == "passed" for outcome in outcomes.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=all_modules())
    parser.add_argument("--ways", nargs="+", choices=WAYS[1:], default=list(WAYS[1:]))
    parser.add_argument("--messages", type=Path, help="a directory for what the runs print")
    arguments = parser.parse_args()
    if not are_there():
        sys.exit("NumPy's tests are not installed")
    print(f"{'module':44}", *(f"{way:>12}" for way in ("plain", *arguments.ways)), flush=True)
    reasons = {}
    for module in arguments.modules:
        plain, _, _ = run(module, "plain")
        counts = [passed(plain)]
        for way in arguments.ways:
            found, _, messages = run(module, way)
            counts.append(passed(found))
            reasons.update({(way, module, test): reason for test, reason in lost(plain, found).items()})
            if arguments.messages:
                arguments.messages.mkdir(parents=True, exist_ok=True)
                (arguments.messages / f"{module}.{way}").write_text(messages)
        print(f"{module:44}", *(f"{count:12,}" for count in counts), flush=True)
    for (way, module, test), reason in reasons.items():
        print(f"{way}: lost {module}::{test}: {reason or 'NO REASON KNOWN'}")
    sys.exit(1 if None in reasons.values() else 0)


if __name__ == "__main__":
    main()
