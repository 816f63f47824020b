"""NPBench's kernels, sources unchanged: NumPy and minidynamo.compile side by side, on results and time.

python benchmarks/npbench.py --npbench DIR [--kernels NAME,...] [--seconds S] [--json FILE]

DIR is a checkout of https://github.com/spcl/npbench; without one the benchmark says "skipped". Each kernel runs in a
process of its own with one thread, at size S, on copies of the same arguments, the contenders taking turns; the ratio
is the median over the rounds of NumPy's time by ours. "first" is the first call less NumPy's best, in a process that
has made one product. NumPy runs with MALLOC_TRIM_THRESHOLD_ and
MALLOC_MMAP_THRESHOLD_ at 200 MB.
"""

import argparse
import copy
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

from harness import machine, write_json

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MALLOC = {"MALLOC_TRIM_THRESHOLD_": "209715200", "MALLOC_MMAP_THRESHOLD_": "209715200"}
ROUNDS = 3

# Relative tolerances of 16, 32 and 64 bits; rounding grows in what is chaotic.
TOLERANCES = {2: 1e-3, 4: 1e-4, 8: 1e-9}
CHAOTIC = {"nbody": 1e-5}


def kernels(folder):
    return sorted(path.stem for path in (folder / "bench_info").glob("*.json"))


def load(folder, name, size="S"):
    """The kernel and its arguments."""
    sys.path.insert(0, str(folder))
    info = json.loads((folder / "bench_info" / f"{name}.json").read_text())["benchmark"]
    package = "npbench.benchmarks." + info["relative_path"].replace("/", ".")
    data = dict(info["parameters"][size])
    if info.get("init"):
        init = info["init"]
        module = importlib.import_module(f"{package}.{info['module_name']}")
        values = getattr(module, init["func_name"])(*[data[each] for each in init["input_args"]])
        data.update(zip(init["output_args"], values if isinstance(values, tuple) else (values,), strict=True))
    module = importlib.import_module(f"{package}.{info['module_name']}_numpy")
    return getattr(module, info["func_name"]), [data[each] for each in info["input_args"]]


def same(ours, theirs, least=0.0):
    import numpy

    if isinstance(theirs, (tuple, list)):
        return len(ours) == len(theirs) and all(same(a, b, least) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key], least) for key in theirs)
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, (numpy.ndarray, numpy.generic)):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return False
        if theirs.dtype.kind not in "fc":
            return bool((ours == theirs).all())
        wide = max(least, TOLERANCES[theirs.dtype.itemsize // (2 if theirs.dtype.kind == "c" else 1)])
        scale = numpy.nanmax(numpy.abs(numpy.where(numpy.isfinite(theirs), theirs, 0)), initial=0)
        return bool(numpy.allclose(ours, theirs, rtol=wide, atol=wide * scale, equal_nan=True))
    return ours == theirs or callable(theirs) or theirs is None


def timed(function, arguments):
    """Seconds of one call, and what it returned."""
    arguments = copy.deepcopy(arguments)
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, (result, arguments)


def measure(folder, name, seconds):
    import numpy

    import minidynamo

    function, arguments = load(folder, name)
    warnings.simplefilter("ignore")
    square = numpy.eye(16)
    minidynamo.compile(lambda a: a @ a)(square)
    plain, theirs = timed(function, arguments)
    compiled = minidynamo.compile(function)
    first, ours = timed(compiled, arguments)
    least = CHAOTIC.get(name, 0.0)
    is_right = same(ours, theirs, least)
    ratios, best = [], {"numpy": plain, "minidynamo": first}
    for _ in range(ROUNDS):
        times = {"numpy": [], "minidynamo": []}
        end = time.perf_counter() + seconds
        while not times["minidynamo"] or time.perf_counter() < end:
            for who, run in (("numpy", function), ("minidynamo", compiled)):
                taken, outcome = timed(run, arguments)
                times[who].append(taken)
                is_right = is_right and (who == "numpy" or same(outcome, theirs, least))
        ratios.append(min(times["numpy"]) / min(times["minidynamo"]))
        for who, taken in times.items():
            best[who] = min(best[who], *taken)
    report = minidynamo._dynamo.explain(function)(*copy.deepcopy(arguments))
    return {
        "right": is_right,
        "ratio": statistics.median(ratios),
        "first_ms": 1e3 * (first - best["numpy"]),
        "numpy_ms": 1e3 * best["numpy"],
        "minidynamo_ms": 1e3 * best["minidynamo"],
        "graphs": report.graph_count,
        "breaks": report.graph_break_count,
        "reasons": sorted({str(each.reason) for each in report.break_reasons}),
    }


def in_process(arguments, name):
    command = [sys.executable, __file__, "--npbench", str(arguments.npbench), "--one", name]
    command += ["--seconds", str(arguments.seconds)]
    settings = {**os.environ, **MALLOC, **dict.fromkeys(THREADS, "1")}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=600, check=False)
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else {"failed": done.stderr.strip()[-400:]}


def geometric_mean(values):
    return statistics.geometric_mean(values) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npbench", type=Path)
    parser.add_argument("--kernels", default="")
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--one")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.npbench is None:
        print("skipped: --npbench DIR is not given")
        return
    if arguments.one:
        print(json.dumps(measure(arguments.npbench, arguments.one, arguments.seconds)))
        return
    rows = {}
    print("| kernel | right | NumPy ms | minidynamo ms | ratio | first ms | graphs | breaks |")
    print("|---|---|---|---|---|---|---|---|")
    chosen = arguments.kernels.split(",") if arguments.kernels else kernels(arguments.npbench)
    for name in chosen:
        rows[name] = row = in_process(arguments, name)
        if "failed" in row:
            last = row["failed"].splitlines()[-1] if row["failed"] else ""
            print(f"| {name} | failed: {last} | | | | | | |", flush=True)
            continue
        print(
            f"| {name} | {row['right']} | {row['numpy_ms']:.3f} | {row['minidynamo_ms']:.3f} | {row['ratio']:.2f} "
            f"| {row['first_ms']:.0f} | {row['graphs']} | {row['breaks']} |",
            flush=True,
        )
    ratios = [row["ratio"] for row in rows.values() if "ratio" in row]
    slow = sum(ratio < 0.95 for ratio in ratios)
    print(f"\ngeometric mean {geometric_mean(ratios):.2f}, {slow} of {len(ratios)} below 0.95")
    if arguments.json:
        write_json(arguments.json, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
