"""The table of workloads in this build beside an earlier one: python benchmarks/steady_before.py DIR [--threads 2,1]

DIR is a directory in which the earlier build of minidynamo can be imported. Both have a process of their own and are
timed in turn. A row below FLOOR is measured again alone, RUNS times: the median of its ratios counts.
"""

import argparse
import os
import statistics
import tempfile

import steady
from engine_rows.sections import FLOOR_OF_BEFORE as FLOOR
from harness import SPIN_SECONDS, Worker, environment, interleave, path_of_build
from peers import OURS, OURS_EAGER, PEERS

RUNS = 3
BUILDS = NOW, BEFORE = "now", "before"


class Builds:
    """The workers of both builds for one of our contenders and one number of threads."""

    def __init__(self, contender, threads, directory):
        paths = {NOW: {}, BEFORE: {"PYTHONPATH": path_of_build(directory)}}
        self.pause = SPIN_SECONDS if threads > 1 else 0.0
        self.workers = []
        for build, path in paths.items():
            worker = Worker(steady.__file__, [contender, str(threads)], environment(threads, **path))
            worker.name = build
            self.workers.append(worker)

    def ratio(self, row, path, rounds):
        """before / now in the median of the rounds; raises RuntimeError with what failed."""
        facts = {worker.name: worker.ask(f"+{row.name}={path}") for worker in self.workers}
        failed = [f"{build}: {found['failed']}" for build, found in facts.items() if "failed" in found]
        samples = {} if failed else interleave(self.workers, [row.name], rounds, self.pause)[row.name]
        for worker in self.workers:
            worker.ask(f"-{row.name}")
        if failed:
            raise RuntimeError("; ".join(failed))
        means = [[mean for _, mean, _ in samples[build]] for build in BUILDS]
        return statistics.median(before / now for now, before in zip(*means, strict=False))

    def close(self):
        for worker in self.workers:
            worker.close()


def contender_of(row):
    return OURS if PEERS[OURS].takes(row) else OURS_EAGER


def measure(row, path, threads, arguments):
    """before / now of the row, measured again where it is below FLOOR."""
    ratios = []
    for _ in range(1 + RUNS):
        builds = Builds(contender_of(row), threads, arguments.directory)
        try:
            ratios.append(builds.ratio(row, path, arguments.rounds))
        finally:
            builds.close()
        if ratios[0] >= FLOOR:
            return ratios[0]
    return statistics.median(ratios[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--rows", default="", help="only rows whose name or group contains one of these, between semicolons"
    )
    arguments = parser.parse_args()
    arguments.headline = arguments.curves = False
    for threads in map(int, arguments.threads.split(",")):
        ratios = {}
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "case.npy")
            for row in steady.wanted_rows(arguments):
                steady.write_case(row, path)
                try:
                    ratios[row.name] = measure(row, path, threads, arguments)
                    print(f"{ratios[row.name]:.3f} {row.name}", flush=True)
                except RuntimeError as error:
                    print(f"failed {row.name}: {error}", flush=True)
        low = sorted(name for name, ratio in ratios.items() if ratio < FLOOR)
        mean = statistics.geometric_mean(ratios.values())
        print(
            f"{threads} threads: {len(ratios)} rows, before / now {mean:.3f}, below {FLOOR}: {', '.join(low) or 'none'}"
        )


if __name__ == "__main__":
    main()
