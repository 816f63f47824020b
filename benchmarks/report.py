"""The table of what steady.py measured: python benchmarks/report.py FILE.json"""

import importlib.metadata
import json
import math
import statistics
import sys

from harness import summarise
from peers import OURS, OURS_EAGER, PEERS
from workloads import ROWS

FLOOR = 0.9  # no row may be slower than this part of the best peer's speed


def summarise_row(samples, base):
    """samples, base: [[seconds in the best stretch, in the mean, of all processors]] by round; base: ours or None."""
    means = [mean for _, mean, _ in samples]
    found = summarise(means, [mean for _, mean, _ in base or samples])
    return {**found, "min": min(best for best, _, _ in samples), "cpu": min(used for _, _, used in samples)}


def versions(names):
    modules = {PEERS[name].module for name in names} - {None}
    return {module: importlib.metadata.version(module) for module in sorted(modules - {"minidynamo"})}


def our_facts(facts):
    """In rows that are not compiled those of eager minidynamo."""
    return facts.get(OURS) or facts.get(OURS_EAGER) or {}


def best_peer(facts):
    """Name and facts of the fastest one that is to be beaten, or None."""
    peers = [(name, found) for name, found in facts.items() if PEERS[name].counts and "min" in found]
    return min(peers, key=lambda pair: pair[1]["min"], default=None)


def speed(facts):
    """How many times as fast as the best peer, or None."""
    best, ours = best_peer(facts), our_facts(facts)
    return best[1]["min"] / ours["min"] if best and "min" in ours else None


def limit_of(row, measured):
    """Seconds: for calls that of an eager Python call."""
    if row.group == "calls":
        return measured["contenders"].get("Python, a float", {}).get("min")
    return measured["limit"]


def time_text(seconds):
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if seconds * scale < 1000:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def time_of(found):
    if not found:
        return ""
    return time_text(found["min"]) if "min" in found else "-"


def row_line(row, measured, threads):
    """For the terminal, while it goes on."""
    facts = measured["contenders"]
    times = ", ".join(f"{name} {time_of(found)}" for name, found in facts.items())
    failures = "; ".join(f"{name}: {found['failed']}" for name, found in facts.items() if "failed" in found)
    ratio = speed(facts)
    ratio_text = f"{ratio:.2f}" if ratio else "?"
    return f"[{threads}] {row.name}: {ratio_text} ({times}) {failures}"


HEAD = (
    "| workload | minidynamo | best peer | | times as fast | aim | torch eager | torch.compile | of the limit "
    "| peak MB, ours / torch eager |"
)


def row_text(row, measured):
    facts = measured["contenders"]
    ours, best, ratio = our_facts(facts), best_peer(facts), speed(facts)
    limit = limit_of(row, measured)
    mark = "" if ratio is None or ratio >= row.aim else " **below 0.9**" if ratio < FLOOR else " *"
    peaks = [found.get("peak") for found in (ours, facts.get("torch eager", {}))]
    cells = [
        row.name,
        time_of(ours),
        best[0] if best else "",
        time_of(best[1]) if best else "",
        f"{ratio:.2f}{mark}" if ratio else "",
        f"{row.aim:g}",
        time_of(facts.get("torch eager")),
        time_of(facts.get("torch.compile")),
        f"{100 * limit / ours['min']:.0f} %" if limit and "min" in ours else "",
        " / ".join(f"{peak / 2**20:.0f}" for peak in peaks if peak),
    ]
    return f"| {' | '.join(cells)} |"


def summary_text(rows):
    ratios = {name: speed(measured["contenders"]) for name, measured in rows.items()}
    known = {name: ratio for name, ratio in ratios.items() if ratio}
    if not known:
        return ""
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in known.values()))
    reached = sum(ratio >= ROWS[name].aim for name, ratio in known.items())
    below = sum(ratio < FLOOR for ratio in known.values())
    return (
        f"Geometric mean {mean:.2f} over {len(known)} rows; {reached} reach their aim, {below} are below {FLOOR} "
        f"of the best peer."
    )


def every_time(rows):
    """One column for each contender."""
    names = [name for name in PEERS if any(name in measured["contenders"] for measured in rows.values())]
    lines = [f"| | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    for row, measured in rows.items():
        lines.append(f"| {row} | {' | '.join(time_of(measured['contenders'].get(name)) for name in names)} |")
    return lines


def failures(rows):
    return [
        f"- {row}: {name}: {found['failed']}".replace("\n", " ")
        for row, measured in rows.items()
        for name, found in measured["contenders"].items()
        if "failed" in found
    ]


def markdown(results, machine):
    """results: by number of threads, and the "versions"; machine: what harness.machine() gave then."""
    packages = [f"{name} {version}" for name, version in results["versions"].items()]
    python = f"CPython {machine['python']}"
    lines = [
        f"{machine['date']}, {machine['processor']}, {machine['cpus']} processors; {', '.join([python, *packages])}."
    ]
    for threads, measured in results.items():
        if threads == "versions":
            continue
        rows = {name: found for name, found in measured["rows"].items() if name in ROWS}
        table = {name: found for name, found in rows.items() if not ROWS[name].is_curve}
        lines += ["", f"## {threads} thread{'s'[: threads != '1']}", "", summary_text(table), ""]
        lines += [HEAD, "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
        lines += [row_text(ROWS[name], found) for name, found in table.items()]
        lines += ["", "Every contender, minima:", "", *every_time(table)]
        failed = failures(rows)
        lines += ["", "Left out:", "", *failed] if failed else []
    return "\n".join(lines)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        measured = json.load(file)
    print(markdown(measured["results"], measured["machine"]))
