"""Measures the processor time of a build: the clean core and extension, and what a touched header compiles again.

    tools/build_times.py -DPython_EXECUTABLE=... -Ddnnl_DIR=... [--touch HEADER ...]

Builds both once with the options of `make demo`, without ccache, and records the user and system time of each compiler
process, children included. A touch costs what the files that include the header cost, by the dependencies that the
compiler wrote; the link comes on top. --report prints the tables of a build that is there; a second run compiles what
has changed since and keeps the other times.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = "build_times.txt"


def launch(command):
    """Runs a compiler as its launcher; appends its time and its output file to the record in the build directory."""
    status = subprocess.run(command).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status == 0 and "-o" in command:
        output = command[command.index("-o") + 1]
        with open(RECORD, "a") as record:
            record.write(f"{usage.ru_utime + usage.ru_stime:.2f} {output}\n")
    return status


def configure(build, defines):
    launcher = f"{sys.executable};{Path(__file__).resolve()};--launch"
    launchers = [
        f"-DCMAKE_{language}_{kind}_LAUNCHER={launcher}" for language in ("C", "CXX") for kind in ("COMPILER", "LINKER")
    ]
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DMINIDYNAMO_TESTS=OFF"]
    subprocess.run([*command, *launchers, *defines], check=True, stdout=subprocess.DEVNULL)


def compile_all(build, jobs):
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    subprocess.run(["cmake", "--build", build, f"-j{jobs}"], check=True, env=environment)


def read_record(build):
    """Seconds by output file; the newest line of each counts."""
    lines = (build / RECORD).read_text().splitlines()
    return {output: float(seconds) for seconds, output in (line.split(" ", 1) for line in lines)}


def read_dependencies(build):
    """The files of this source tree that went into each object."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
    found, output = {}, None
    for line in text.splitlines():
        if match := re.match(r"(\S+): #deps \d+,.*\((VALID|STALE)\)", line):
            output = match[1]
            found[output] = set()
        elif line.startswith("    ") and (path := Path(os.path.normpath(build / line.strip()))).is_relative_to(ROOT):
            found[output].add(str(path.relative_to(ROOT)))
    for entry in json.loads((build / "compile_commands.json").read_text()):
        # The dependencies of an object do not name what is in its precompiled header.
        output = os.path.relpath(entry["output"], build) if os.path.isabs(entry["output"]) else entry["output"]
        if output in found and (match := re.search(r"-include (\S+/cmake_pch\.hxx)", entry["command"])):
            found[output] |= found.get(os.path.relpath(match[1], build) + ".gch", set())
    return found


class Build:
    def __init__(self, directory):
        times, self.dependencies = read_record(directory), read_dependencies(directory)
        self.objects = {output: seconds for output, seconds in times.items() if output in self.dependencies}
        self.link = sum(seconds for output, seconds in times.items() if output not in self.dependencies)

    def touch(self, header):
        seconds = [self.objects.get(output, 0) for output, files in self.dependencies.items() if header in files]
        return len(seconds), sum(seconds)


def report(core, extension, headers, longest):
    print("| | files | compiling, CPU s | linking, CPU s |\n| --- | --- | --- | --- |")
    for name, build in (("core", core), ("extension", extension)):
        print(f"| {name} | {len(build.objects)} | {sum(build.objects.values()):.0f} | {build.link:.0f} |")
    every = set().union(*core.dependencies.values(), *extension.dependencies.values())
    touched = {}
    for header in sorted(file for file in every if file.endswith((".h", ".def", ".inl"))):
        counts, seconds = zip(core.touch(header), extension.touch(header), strict=True)
        touched[header] = sum(counts), sum(seconds)
    rooms = [(f"the median header of `{room}`", f"the worst header of `{room}`", room) for room in ("csrc/symbolic/",)]
    print("\n| touched | files | compiling, CPU s |\n| --- | --- | --- |")
    for header in headers:
        print("| `{}` | {} | {:.0f} |".format(header, *touched[header]))
    for median, worst, room in rooms:
        costs = {header: cost for header, cost in touched.items() if header.startswith(room) and header.endswith(".h")}
        print(
            f"| {median} | {statistics.median(count for count, _ in costs.values()):.0f} "
            f"| {statistics.median(seconds for _, seconds in costs.values()):.0f} |"
        )
        header = max(costs, key=lambda header: costs[header][1])
        print("| {}, `{}` | {} | {:.0f} |".format(worst, header, *costs[header]))
    if longest:
        print("\nThe longest:")
        for build in (core, extension):
            for output in sorted(build.objects, key=build.objects.get, reverse=True)[:longest]:
                print(f"{build.objects[output]:7.1f} {output}")
        print("\nThe dearest headers:")
        for header in sorted(touched, key=lambda header: touched[header][1], reverse=True)[:longest]:
            print("{1:7.1f} {0:4} {2}".format(*touched[header], header))


def main():
    if sys.argv[1:2] == ["--launch"]:
        return launch(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/times")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--report", action="store_true", help="only print the tables of a build that is there")
    parser.add_argument(
        "--touch",
        nargs="*",
        metavar="HEADER",
        default=["csrc/guards/guard_set.h", "csrc/symbolic/breaks/graph_breaks.def", "csrc/cpython/ref.h"],
    )
    parser.add_argument(
        "--longest", type=int, default=0, metavar="N", help="name the N longest files and dearest headers, too"
    )
    arguments, defines = parser.parse_known_args()
    directory = arguments.build.resolve()
    if not arguments.report:
        configure(directory / "core", ["-DMINIDYNAMO_CORE_ONLY=ON", *defines])
        compile_all(directory / "core", arguments.jobs)
        configure(
            directory / "extension",
            [
                f"-DMINIDYNAMO_CORE_DIR={directory / 'core'}",
                f"-DMINIDYNAMO_OUTPUT_DIR={directory / 'minidynamo'}",
                *defines,
            ],
        )
        compile_all(directory / "extension", arguments.jobs)
    report(Build(directory / "core"), Build(directory / "extension"), arguments.touch, arguments.longest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
