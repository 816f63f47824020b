"""CPython's own tests under everywhere mode: python -m tests.cpython [--json FILE] [--ways ...] [MODULE ...]

Runs each module without a hook, under an idle hook, in everywhere mode, and so with the stress switch. Prints a row for
each, with the tests that pass and who executed how many instructions; then the tests that were lost against an idle hook,
and what the idle hook loses by itself. Exits with 1 if a test was lost for which no reason is known, or a process failed.
"""

import argparse
import json
import platform
import sys
from pathlib import Path

from .modules import MODULES
from .running import WAYS, add_counters, is_there, lost, outside, passes, run


def text_of(result):
    if result is None:
        return "-"
    return result["error"] if "error" in result else f"{passes(result)}/{len(result['outcomes'])}"


def run_module(module, ways, timeout):
    results = {}
    for way in ways:
        results[way] = run(module, way, timeout)
    counters = results.get("everywhere", {}).get("counters")
    share = f"{100 * outside(counters):5.1f} %" if counters else ""
    print(f"{module:28}", *(f"{text_of(results.get(way)):>14}" for way in WAYS), share, flush=True)
    return results


def differences(results, reference, way):
    """{test: reason or None} over all modules; a process that failed is a loss of its own."""
    found = {}
    for module, ways in results.items():
        if "error" in ways[way]:
            found[f"{module} ({ways[way]['error']})"] = None
        elif "outcomes" in ways[reference]:
            found |= lost(ways[reference], ways[way])
    return found


def summary_of(results, ways):
    summary = {"python": platform.python_version(), "modules": {}, "counters": {}, "lost": {}}
    for module, each in results.items():
        summary["modules"][module] = {way: text_of(each.get(way)) for way in ways}
    for way in ("everywhere", "stressed"):
        if way not in ways:
            continue
        total = {}
        for each in results.values():
            add_counters(total, each[way].get("counters", {}))
        summary["counters"][way] = total
        summary["lost"][way] = differences(results, "idle", way)
    summary["lost"]["idle"] = differences(results, "plain", "idle") if "plain" in ways else {}
    return summary


def show(summary):
    for way, counters in summary["counters"].items():
        if counters:
            print(f"{way}: {100 * outside(counters):.1f} % of the counted instructions outside the interpreter")
        print(json.dumps(counters))
    for way, tests in summary["lost"].items():
        print(f"{way}: lost {len(tests)} tests")
        for test, reason in tests.items():
            print(f"  {test}: {reason or 'NO REASON KNOWN'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=[])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one module run one way")
    parser.add_argument("--json", type=Path, help="where to write the summary that the docs are made of")
    arguments = parser.parse_args()
    ways = [way for way in WAYS if way in arguments.ways or way == "idle"]
    modules = arguments.modules or [module for module in MODULES if is_there(module)]
    if not modules:
        sys.exit("this Python has no test package")
    print(f"{'module':28}", *(f"{way:>14}" for way in WAYS), "outside", flush=True)
    results = {}
    for module in modules:
        results[module] = run_module(module, ways, arguments.timeout)
        summary = summary_of(results, ways)
        # A long run that is ended early has its results so far.
        if arguments.json:
            arguments.json.write_text(json.dumps(summary, indent=1) + "\n")
    show(summary)
    without_reason = [
        test for way in summary["counters"] for test, reason in summary["lost"][way].items() if not reason
    ]
    sys.exit(1 if without_reason else 0)


if __name__ == "__main__":
    main()
