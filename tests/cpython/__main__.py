"""CPython's own tests under everywhere mode: python -m tests.cpython [--json FILE] [--ways ...] [MODULE ...]

Runs each module without a hook, under an idle hook, in everywhere mode, and in everywhere mode with the stress switch. Prints a
row for each: how many tests pass, and how many instructions were executed by what; then the tests that were lost against an idle
hook, and those that the idle hook itself loses. Exits with 1 if a test was lost for an unknown reason, or a process failed. With
--json the results replace those of the same module and way in the file.
"""

import argparse
import json
import platform
import sys
from pathlib import Path

from .modules import all_modules
from .running import WAYS, exists, losses, outside, read_results, run, text_of, totals, write_results


def run_module(module, ways, arguments):
    results = {}
    for way in ways:
        results[way], messages = run(module, way, arguments.timeout)
        if arguments.messages:
            (arguments.messages / f"{module}.{way}").write_text(messages)
    counters = results.get("everywhere", {}).get("counters")
    share = f"{100 * outside(counters):5.1f} %" if counters else ""
    print(f"{module:28}", *(f"{text_of(results.get(way)):>14}" for way in WAYS), share, flush=True)
    return results


def show(modules):
    """Prints the totals and the tests that were lost; returns those of everywhere mode that were lost for an unknown
    reason."""
    without_reason = []
    for way in ("everywhere", "stressed"):
        counters = totals(modules, way)
        if not counters:
            continue
        print(f"{way}: {100 * outside(counters):.1f} % of the counted instructions outside the interpreter")
        print(json.dumps(counters))
    for way, reference in {"idle": "plain", "everywhere": "idle", "stressed": "idle"}.items():
        tests = losses(modules, reference, way)
        print(f"{way}: lost {len(tests)} tests")
        for test, reason in tests.items():
            print(f"  {test}: {reason or 'NO REASON KNOWN'}")
        without_reason += [test for test, reason in tests.items() if way != "idle" and not reason]
    return without_reason


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=[])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one module run one way")
    parser.add_argument("--json", type=Path, help="the results that the docs are made of")
    parser.add_argument("--messages", type=Path, help="a directory for what failing tests print")
    arguments = parser.parse_args()
    if arguments.messages:
        arguments.messages.mkdir(parents=True, exist_ok=True)
    modules = [module for module in arguments.modules or all_modules() if exists(module)]
    if not modules:
        sys.exit("this Python has no such test modules")
    print(f"{'module':28}", *(f"{way:>14}" for way in WAYS), "outside", flush=True)
    results = {}
    for module in modules:
        results[module] = run_module(module, [way for way in WAYS if way in arguments.ways], arguments)
        # Written after each module: a run that is interrupted keeps its results, and two runs may share a file.
        if arguments.json:
            stored = {"python": platform.python_version(), "modules": {}}
            if arguments.json.exists():
                stored = read_results(arguments.json)
            stored["modules"].setdefault(module, {}).update(results[module])
            write_results(arguments.json, stored)
    sys.exit(1 if show(results) else 0)


if __name__ == "__main__":
    main()
