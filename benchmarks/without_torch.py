"""What a program for torch needs with minidynamo in its place, and with torch: sizes, and time to a first result.

python benchmarks/without_torch.py [--wheels DIR] [--rounds N] [--json FILE]

Installed sizes are those of the package and of all that it requires, as their own records list the files. DIR holds the
wheels, as `pip download minidynamo` or `pip download torch` leave them; without it the sizes of downloads are left out.
The time is that of a fresh process which runs a small model once, the libraries' files being in the page cache.
"""

import argparse
import importlib.metadata
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from harness import environment, machine, write_json

PROGRAM = """
import {name} as torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
with torch.no_grad():
    print(model(torch.ones(8, 64)).shape)
"""
LIBRARIES = ("minidynamo", "torch")
MEGABYTE = 1e6


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(name):
    """The names of the distribution and of what it requires here, without extras; empty if it is not installed."""
    waiting, found = [name], set()
    while waiting:
        current = normal(waiting.pop())
        try:
            distribution = importlib.metadata.distribution(current)
        except importlib.metadata.PackageNotFoundError:
            continue
        if current in found:
            continue
        found.add(current)
        for each in distribution.requires or []:
            requirement, _, marker = each.partition(";")
            if "extra ==" not in marker:
                waiting.append(re.match(r"[\w.-]+", requirement).group())
    return found


def installed_bytes(names):
    return sum(
        (path.locate().stat().st_size if path.locate().exists() else 0)
        for name in names
        for path in importlib.metadata.distribution(name).files or []
        if not str(path).endswith(".pyc")
    )


def wheel_bytes(names, folder):
    """Of the wheels of these distributions; None if one is missing."""
    sizes = {normal(path.name.partition("-")[0]): path.stat().st_size for path in folder.glob("*.whl")}
    return sum(sizes[name] for name in names) if names <= sizes.keys() else None


def first_result(name, rounds):
    """Seconds, the median."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", PROGRAM.format(name=name)], check=True, capture_output=True, env=environment(1)
        )
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def measured(name, arguments):
    names = closure(name)
    if not names:
        return None
    return {
        "distributions": sorted(names),
        "downloaded": wheel_bytes(names, arguments.wheels) if arguments.wheels else None,
        "installed": installed_bytes(names),
        "seconds": first_result(name, arguments.rounds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="where the wheels are")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each, 5 by default")
    parser.add_argument("--json", type=Path, help="file to write all results to")
    arguments = parser.parse_args()
    rows = {name: measured(name, arguments) for name in LIBRARIES}
    print("| | downloaded, MB | installed, MB | first result, s |")
    print("| --- | ---: | ---: | ---: |")
    for name, row in rows.items():
        if row is None:
            print(f"| {name} | not installed, skipped | | |")
            continue
        downloaded = "" if row["downloaded"] is None else f"{row['downloaded'] / MEGABYTE:.0f}"
        print(f"| {name} | {downloaded} | {row['installed'] / MEGABYTE:.0f} | {row['seconds']:.2f} |")
    write_json(arguments.json, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
