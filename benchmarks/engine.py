"""What the engine owes everybody's programs, with its targets: python benchmarks/engine.py [--before DIR]

The sections are the files of engine_rows/. Each runs in a process of its own, whose contenders (NumPy, torch eager,
plain Python, minidynamo) take turns; with --before DIR a second process has the minidynamo of that directory and is
measured in turn with the first. A row that misses a target is measured again alone, three times: its best counts.
"""

import argparse
import importlib
import os
import random
import sys

from harness import Worker, environment, path_of_build, serve, write_json

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "engine_rows"))
from sections import FLOOR_OF_BEFORE, FOLDER, Bench, Figure, Times  # noqa: E402

SECTIONS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "sections")
NOW, BEFORE = "now", "before"


def parse_arguments(sections, argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", default=",".join(sections), help=f"of {','.join(SECTIONS)}")
    parser.add_argument("--rows", default="", help="only rows whose name contains all of these words")
    parser.add_argument("--sample", type=int, help="only so many rows of each section, drawn alike in each run")
    parser.add_argument("--rounds", type=int, help="of each row; otherwise what the section has")
    parser.add_argument("--threads", default="1,2", help="numbers of threads; most sections are measured with one")
    parser.add_argument("--again", type=int, default=3, help="how often a row that misses a target is measured again")
    parser.add_argument("--before", help="a directory with an earlier build of minidynamo")
    parser.add_argument("--json", help="file to write all results to")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def section_of(name):
    return importlib.import_module(name).SECTION


def work(name, threads, only):
    output, sys.stdout = sys.stdout, sys.stderr
    serve(Bench(section_of(name), int(threads), only).answer, output)


def starters(name, section, threads, before):
    """Of one section and number of threads: {build: a function that starts its Worker}."""
    found = {NOW: lambda: Worker(__file__, [name, str(threads), ""], environment(threads))}
    if before:
        arguments = [name, str(threads), section.ours[0]]
        found[BEFORE] = lambda: Worker(__file__, arguments, environment(threads, PYTHONPATH=path_of_build(before)))
    return found


class Builds:
    """A worker for each; one that dies is started again for the next row."""

    def __init__(self, starters):
        self.starters = starters
        self.workers = {build: start() for build, start in starters.items()}

    def rows(self):
        return self.workers[NOW].ask("?")

    def ask(self, build, question):
        try:
            return self.workers[build].ask(question)
        except (RuntimeError, BrokenPipeError) as error:
            self.workers[build] = self.starters[build]()
            return {"failed": str(error)}

    def measure(self, row, rounds):
        """{build: Times}, and what was left out: {contender: why}."""
        begun = {build: self.ask(build, f"+{row}") for build in self.workers}
        absent = {build: facts["failed"] for build, facts in begun.items() if "failed" in facts}
        times = {}
        for build, facts in begun.items():
            if "failed" not in facts:
                absent |= facts["absent"]
                times[build] = Times(facts["once"], [])
        for _ in range(rounds):
            for build, found in list(times.items()):
                answer = self.ask(build, row)
                if "failed" in answer:
                    absent[build] = answer["failed"]
                    del times[build]
                else:
                    found.rounds.append(answer)
        return times, absent

    def close(self):
        for worker in self.workers.values():
            worker.close()


def figures_of(section, row, times):
    """{what: Figure} of one measurement."""
    if NOW not in times or not times[NOW].has(section.ours[0]):
        return {}
    found = list(section.figures(row, times[NOW]))
    if BEFORE in times and times[BEFORE].has(section.ours[0]):
        ratio = times[BEFORE].least(*section.ours) / times[NOW].least(*section.ours)
        found.append(Figure("before / now", ratio, FLOOR_OF_BEFORE))
    return {figure.what: figure for figure in found}


def measure_row(builds, section, row, rounds, again):
    """Its figures, the least of what was measured, what was left out."""
    times, absent = builds.measure(row, rounds)
    best, first = figures_of(section, row, times), times
    for _ in range(again):
        if all(figure.is_met for figure in best.values()):
            break
        times, _ = builds.measure(row, rounds)
        for what, figure in figures_of(section, row, times).items():
            best[what] = best[what].better(figure)
    return {"figures": best, "least": {build: least_of(found) for build, found in first.items()}, "absent": absent}


def least_of(times):
    contenders = {name: each for one in times.rounds for name, each in one.items()}
    return {name: {what: times.least(name, what) for what in found} for name, found in contenders.items()}


def wanted_rows(names, arguments):
    words = arguments.rows.split()
    wanted = [name for name in names if all(word in name for word in words)]
    if arguments.sample is None or arguments.sample >= len(wanted):
        return wanted
    return [wanted[place] for place in sorted(random.Random(0).sample(range(len(wanted)), arguments.sample))]


def measure_section(name, threads, arguments):
    """{row: what measure_row() gives}."""
    section = section_of(name)
    builds = Builds(starters(name, section, threads, arguments.before))
    found = {}
    for row in wanted_rows(builds.rows(), arguments):
        found[row] = measure_row(builds, section, row, arguments.rounds or section.rounds, arguments.again)
        figures = found[row]["figures"].values()
        line = ", ".join(f"{figure.what} {figure.value:.3g}{mark(figure)}" for figure in figures)
        print(f"{name} [{threads}] {row}: {line or found[row]['absent']}", file=sys.stderr, flush=True)
    builds.close()
    return found


def mark(figure):
    return "" if figure.is_met else " **missed**"


def lines_of(section, found):
    """(row, Figure) to be printed: all, or the totals and what is missed."""
    rows = [(row, figure) for row, each in found.items() for figure in each["figures"].values()]
    if section.totals is None:
        return rows
    totals = list(section.totals({row: each["figures"] for row, each in found.items() if each["figures"]}))
    missed = [(row, figure) for row, figure in rows if not figure.is_met]
    return totals + sorted(missed, key=lambda pair: (pair[1].what, pair[1].value))


def print_section(name, section, threads, found):
    print(f"\n## {name}, {threads} thread{'s'[: threads != 1]}\n\n| | | | target | |\n| --- | --- | ---: | --- | --- |")
    for row, figure in lines_of(section, found):
        is_met = "" if figure.limit is None else "met" if figure.is_met else "**missed**"
        print(f"| {row} | {figure.what} | {figure.value:.3g} | {figure.target} | {is_met} |")
    figures = [figure for each in found.values() for figure in each["figures"].values() if figure.limit is not None]
    print(f"\n{len(found)} rows, {len(figures)} figures with a target, {sum(not f.is_met for f in figures)} missed.")
    skipped = {}
    for row, each in found.items():
        for contender, why in each["absent"].items():
            skipped.setdefault(f"{contender}: skipped, {why}", []).append(row)
    for why, rows in skipped.items():
        print(f"- {why} ({len(rows)} rows)")
    sys.stdout.flush()


def as_json(found):
    values = {row: {what: figure.value for what, figure in each["figures"].items()} for row, each in found.items()}
    return {row: {**each, "figures": values[row]} for row, each in found.items()}


def main(sections=SECTIONS, argv=None):
    arguments = parse_arguments(sections, argv)
    if arguments.worker:
        work(*arguments.worker)
        return
    results = {}
    for name in arguments.sections.split(","):
        try:
            section = section_of(name)
        except ImportError as error:
            print(f"{name}: skipped, {error.name} is not installed")
            continue
        for threads in section.threads:
            if str(threads) not in arguments.threads.split(","):
                continue
            found = measure_section(name, threads, arguments)
            print_section(name, section, threads, found)
            results[f"{name}, {threads}"] = as_json(found)
            write_json(arguments.json, results)


if __name__ == "__main__":
    main()
