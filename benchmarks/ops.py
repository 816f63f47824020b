"""What each op costs in each form, eager and compiled, beside torch eager and NumPy: python benchmarks/ops.py

The forms come from the op table (op_forms.py). Answers are compared with torch's before anything is timed. A ratio is
torch's time by ours, the median over rounds in which the contenders take turns; a form below 0.9 is measured three more
times. With one thread it is the thread's processor time, so that what other programs take does not count.

--output FILE writes each form as a line of JSON as soon as it is measured; --resume goes on behind the last one.
"""

import argparse
import collections
import json
import math
import os
import random
import re
import statistics
import sys
import time
import timeit
import warnings
from pathlib import Path

import op_forms
from harness import machine
from op_forms import DTYPES, PLAIN, SIZES, evaluate, forms_of, make, make_array

ROUNDS = 5
SAMPLE_SECONDS = 2e-4
SLOW_CALL = 0.05  # seconds; fewer rounds then
LONGEST_CALL = 0.2  # seconds, also as foretold from the medium size; longer ones are not measured
LOW, VERY_LOW = 0.9, 0.5
AGAIN = 3
WORST = 40
TOLERANCE = {"float64": 1e-7, "bfloat16": 4e-2, "complex128": 1e-7}
EAGER, COMPILED = "eager", "compiled"
# What NumPy calls by another name; the others have torch's.
NUMPY_NAMES = {
    "neg": "negative", "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "bitwise_not": "invert", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
    "cat": "concatenate",
    "clamp": "clip",
}  # fmt: skip
CALL_OF_TORCH = re.compile(r"torch\.((?:linalg\.|fft\.)?)(\w+)\(")


class Skipped(Exception):
    """A form that is not measured, and why."""


class Bench:
    """Measures forms one by one, in this process."""

    def __init__(self, threads=1, modes=(EAGER, COMPILED), rounds=ROUNDS):
        import numpy
        import torch

        import minidynamo
        import minidynamo._dynamo  # noqa: F401

        self.ours, self.theirs, self.numpy = minidynamo, torch, numpy
        for library in (minidynamo, torch):
            library.set_num_threads(threads)
            library.set_grad_enabled(False)
        self.clock = time.thread_time if threads == 1 else time.perf_counter
        self.modes, self.rounds = modes, rounds
        self.medium = {}  # seconds of a call of a row in a layout and dtype

    def record(self, form):
        """What is written of a form."""
        found = {"key": form.key, "row": form.row, "category": form.category, "layout": form.layout}
        found |= {"size": form.size, "dtype": form.dtype}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found |= self.measure(form)
        except Skipped as skipped:
            found["skipped"] = str(skipped)
        return found

    def measure(self, form):
        place = (form.row, form.layout, form.dtype)
        if form.size == "large" and self.medium.get(place, 0) * 64 > LONGEST_CALL:
            raise Skipped("takes too long")
        self.operands = {}
        domain = self._check(form)
        calls = {"torch": self._timer(form, self.theirs, domain)}
        if EAGER in self.modes:
            calls[EAGER] = self._timer(form, self.ours, domain)
        if COMPILED in self.modes:
            calls[COMPILED] = self._compiled(form, domain)
        array = self._numpy_timer(form, domain)
        if array:
            calls["numpy"] = array
        counts = {name: self._count(timer) for name, timer in calls.items()}
        seconds = self._rounds(calls, counts)
        ratios = {name: ratio(seconds, name) for name in self.modes}
        if min(ratios.values()) < LOW:
            again = [self._rounds(calls, counts) for _ in range(AGAIN)]
            ratios = {name: statistics.median(ratio(each, name) for each in again) for name in self.modes}
            seconds = {name: [time for each in again for time in each[name]] for name in seconds}
        if form.size == "medium":
            self.medium[place] = max(map(min, seconds.values()))
        self.ours._dynamo.reset()
        return {"ratios": ratios, "seconds": {name: statistics.median(each) for name, each in seconds.items()}}

    def remember(self, record):
        """Of a form that an earlier run measured."""
        if record["size"] == "medium" and "seconds" in record:
            self.medium[record["row"], record["layout"], record["dtype"]] = max(record["seconds"].values())

    def _names(self, form, library, domain):
        """The operands; new ones for what writes to them."""
        place = (library.__name__, domain)
        if form.in_place or form.category == "Random" or place not in self.operands:
            self.operands[place] = {name: make(value, form.dtype, library, domain) for name, value in form.operands}
        return dict(self.operands[place])

    def _result(self, form, library, domain):
        return evaluate(form.expression, self._names(form, library, domain), library)

    def _check(self, form):
        """Compares the answers; returns the domain of the operands' numbers."""
        domain = 0
        while True:
            try:
                start = time.perf_counter()
                theirs = self._result(form, self.theirs, domain)
                if domain == len(op_forms.DOMAINS) - 1 or not self._has_nan(theirs):
                    break
            except Exception as error:
                if domain == len(op_forms.DOMAINS) - 1:
                    raise Skipped(f"torch: {first_line(error)}") from error
            domain += 1
        if time.perf_counter() - start > LONGEST_CALL:
            raise Skipped("takes too long")
        try:
            ours = self._result(form, self.ours, domain)
        except Exception as error:
            raise Skipped(f"minidynamo: {first_line(error)}") from error
        if time.perf_counter() - start > 2 * LONGEST_CALL:
            raise Skipped("takes too long")
        self._compare(form, theirs, ours, lambda: self._result(form, self.theirs, domain))
        self.expected = theirs
        return domain

    def _has_nan(self, result):
        return any(
            part.is_floating_point() and part.numel() and bool(part.isnan().any())
            for part in parts_of(result)
            if hasattr(part, "isnan")
        )

    def _compare(self, form, theirs, ours, again):
        theirs, ours = parts_of(theirs), parts_of(ours)
        if len(theirs) != len(ours):
            raise Skipped(f"answers differ: {len(ours)} parts, torch {len(theirs)}")
        if not all(hasattr(part, "dtype") for part in theirs):
            if any(a != b for a, b in zip(theirs, ours, strict=True) if not hasattr(a, "dtype")):
                raise Skipped("answers differ: no tensors")
            return
        for a, b in zip(theirs, ours, strict=True):
            if facts(a) != facts(b):
                raise Skipped(f"answers differ: {facts(b)}, torch {facts(a)}")
        if form.category == "Random" or "empty" in form.row:
            return
        for number, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            name = str(a.dtype).rpartition(".")[2]
            if name == "int64" and form.dtype not in ("float32", "float64") and form.category in ORDERED:
                continue  # of equal elements either may be the one
            loose = form.category in ("Decomposition", "Matrix") or len(theirs) > 1 and form.category == "Composite"
            error = self._error(a, b, loose)
            if error > TOLERANCE.get(name, 4e-2 if form.dtype == "bfloat16" else 2e-3):
                if self._is_random(theirs, again):
                    return
                raise Skipped(f"answers differ: part {number} by {error:.2g}")

    def _is_random(self, theirs, again):
        return any(
            self._error(a, b) > 0
            for _ in range(4)  # a few elements may be the same by chance
            for a, b in zip(theirs, parts_of(again()), strict=True)
        )

    def _error(self, a, b, loose=False):
        """The largest difference by the largest number; loose: of vectors that may have either sign and any order."""
        numpy = self.numpy
        a, b = plain(a), plain(b)
        if loose and a.size and a.dtype.kind != "b":
            a, b = (numpy.sort(abs(part), None) for part in (a, b))
        if not a.size:
            return 0.0
        same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        if same.all():
            return 0.0
        rest_a, rest_b = a[~same], b[~same]
        finite = abs(a[numpy.isfinite(a)])
        scale = finite.max() if finite.size else 0.0
        error = float(abs(rest_a - rest_b).max() / max(scale, 1e-30))
        return error if error == error else math.inf

    def _timer(self, form, library, domain):
        names = {"torch": library, **self._names(form, library, domain)}
        return self._statement(form, form.expression, names, library)

    def _statement(self, form, statement, names, library):
        """In-place operations begin with the same numbers each time."""
        if form.in_place:
            first = form.operands[0][0]
            names["fresh"] = library.clone(names[first])
            statement = f"{first}.copy_(fresh); {statement}"
        return timeit.Timer(statement, timer=self.clock, globals=names)

    def _compiled(self, form, domain):
        names = ", ".join(name for name, _ in form.operands)
        found = {"torch": self.ours}
        exec(f"def form({names}):\n    return {form.expression}", found)
        compiled = self.ours.compile(found["form"])
        tensors = self._names(form, self.ours, domain)
        timer = self._statement(form, f"form({names})", {"form": compiled, **tensors}, self.ours)
        try:
            timer.timeit(2)
            ours = compiled(**self._names(form, self.ours, domain))
        except Exception as error:
            raise Skipped(f"compiled: {first_line(error)}") from error
        try:
            self._compare(form, self.expected, ours, lambda: self._result(form, self.theirs, domain))
        except Skipped as skipped:
            raise Skipped(f"compiled: {skipped}") from None
        return timer

    def _numpy_timer(self, form, domain):
        """Where NumPy has a function of that name that gives the same answer."""
        match = CALL_OF_TORCH.match(form.expression)
        if not match or form.in_place or form.dtype == "bfloat16" or form.category == "Random":
            return None
        name = match[1] + NUMPY_NAMES.get(match[2], match[2])
        expression = f"numpy.{name}({form.expression[match.end() :].replace('dim=', 'axis=')}"
        try:
            owner = getattr(self.numpy, match[1].rstrip(".")) if match[1] else self.numpy
            if not hasattr(owner, name.rpartition(".")[2]):
                return None
            names = {name: make_array(value, form.dtype, domain) for name, value in form.operands}
            names["numpy"] = self.numpy
            with self.numpy.errstate(all="ignore"):
                found = eval(expression, names)
            theirs = self.expected
            if not hasattr(theirs, "dtype") or self.numpy.shape(found) != tuple(theirs.shape):
                return None
            error = self._error(theirs, found)
            if error > 2e-3:
                return None
            return timeit.Timer(expression, timer=self.clock, globals=names)
        except Exception:
            return None

    def _count(self, timer):
        once = max(timer.timeit(1), 1e-8)
        if once < SAMPLE_SECONDS:
            once = max(timer.timeit(3) / 3, 1e-8)
        return max(1, round(SAMPLE_SECONDS / once)), once

    def _rounds(self, calls, counts):
        slowest = max(once for _, once in counts.values())
        rounds = self.rounds if slowest < SLOW_CALL else 1
        seconds = {name: [] for name in calls}
        for _ in range(rounds):
            for name, timer in calls.items():
                count = counts[name][0]
                seconds[name].append(max(timer.timeit(count) / count, 1e-9))
        return seconds


# Their whole numbers say where elements are.
ORDERED = ("Reduction", "Gather", "Composite", "Composite along a dim", "Image")


def ratio(seconds, name):
    return statistics.median(theirs / ours for theirs, ours in zip(seconds["torch"], seconds[name], strict=True))


def first_line(error):
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text[:90]}"


def parts_of(result):
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in parts_of(each)]
    return [result]


def facts(tensor):
    return (str(tensor.dtype).rpartition(".")[2], tuple(tensor.shape)) if hasattr(tensor, "shape") else type(tensor)


def plain(value):
    """As an array of float64 or complex128."""
    import numpy

    if hasattr(value, "is_floating_point"):
        value = (value.double() if value.is_floating_point() else value.resolve_conj()).numpy()
    array = numpy.asarray(value)
    return array.astype(numpy.complex128 if array.dtype.kind == "c" else numpy.float64, copy=False)


# The report.
def mean_of(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def line_of(title, ratios):
    count = len(ratios)
    low, very_low = (sum(each < limit for each in ratios) for limit in (LOW, VERY_LOW))
    shares = f"{100 * low / count:.1f} % | {100 * very_low / count:.1f} %" if count else "- | -"
    return f"| {title} | {count} | {mean_of(ratios):.2f} | {shares} |"


def report(records, worst=WORST):
    """The text of a run: shares by category, dtype and layout, and the worst forms."""
    measured = [record for record in records if "ratios" in record]
    skipped = collections.Counter(record["skipped"].partition(":")[0] for record in records if "skipped" in record)
    yield f"{len(records)} forms of {len({record['row'] for record in records})} rows, {len(measured)} measured."
    for reason, count in skipped.most_common():
        said = "torch does not take it" if reason == "torch" else reason
        yield f"- not measured, {said}: {count}"
    modes = [mode for mode in (EAGER, COMPILED) if any(mode in record["ratios"] for record in measured)]
    for mode in modes:
        ratios = [(record, record["ratios"][mode]) for record in measured if mode in record["ratios"]]
        yield f"\n## {mode}\n"
        yield f"| torch eager / minidynamo | forms | geometric mean | below {LOW} | below {VERY_LOW} |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        yield line_of("all", [each for _, each in ratios])
        for part in ("size", "dtype", "category", "layout"):
            grouped = collections.defaultdict(list)
            for record, each in ratios:
                grouped[record[part]].append(each)
            for name, group in sorted(grouped.items(), key=lambda item: mean_of(item[1])):
                yield line_of(name, group)
        arrays = [
            record["seconds"]["numpy"] / record["seconds"][mode]
            for record in measured
            if {"numpy", mode} <= set(record["seconds"])
        ]
        yield line_of("NumPy / minidynamo", arrays)
        ratios.sort(key=lambda pair: pair[1])
        yield f"\nThe {worst} worst:\n"
        yield from (f"- {each:.2f} {described(record, mode)}" for record, each in ratios[:worst])
    for start in ("minidynamo", "compiled", "answers differ", "ended the process"):
        names = sorted({record["row"] for record in records if record.get("skipped", "").startswith(start)})
        if names:
            yield f"\nNot measured, {start}: {', '.join(names)}"
    unmeasured = {record["row"] for record in records} - {record["row"] for record in measured}
    if unmeasured:
        yield f"\nRows of which no form is measured: {', '.join(sorted(unmeasured))}"


def described(record, mode):
    seconds = record["seconds"]
    return f"{record['key']}: {seconds[mode] * 1e6:.3g} us, torch {seconds['torch'] * 1e6:.3g} us"


def low_forms(records):
    """Each form below the limits, the worst first."""
    found = [
        (each, mode, record) for record in records for mode, each in record.get("ratios", {}).items() if each < LOW
    ]
    found.sort(key=lambda entry: entry[0])
    for limit, title in ((VERY_LOW, f"below {VERY_LOW}"), (LOW, f"below {LOW}")):
        yield f"\n## Forms {title}\n"
        yield from (
            f"- {each:.2f} {mode}: {described(record, mode)}"
            for each, mode, record in found
            if each < limit and (limit == VERY_LOW or each >= VERY_LOW)
        )


def wanted_forms(arguments):
    """The forms that the arguments ask for, and the rows that have none."""
    forms, without = [], []
    sizes, dtypes = arguments.sizes.split(","), arguments.dtypes.split(",")
    for row in op_forms.rows():
        if not re.search(arguments.rows, row.name) or not re.search(arguments.categories, row.kind):
            continue
        found = list(forms_of(row, sizes, dtypes))
        forms += found
        if not found and row.name not in op_forms.REASONS:
            without.append(row.name)
    if arguments.quick:
        chosen = random.Random(arguments.seed).sample(range(len(forms)), min(arguments.quick, len(forms)))
        forms = [forms[number] for number in sorted(chosen)]
    return forms, without


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose name has a match")
    parser.add_argument("--categories", default="", metavar="REGEX", help="only categories that have a match")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--dtypes", default=",".join(DTYPES), help=f"{PLAIN} has every layout in every size")
    parser.add_argument("--eager", action="store_true", help="eager alone")
    parser.add_argument("--compiled", action="store_true", help="compiled alone")
    parser.add_argument("--quick", type=int, default=0, metavar="N", help="N forms, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop then; --resume goes on")
    parser.add_argument("--output", metavar="FILE", help="a line of JSON for each form")
    parser.add_argument("--resume", action="store_true", help="keep what --output has already")
    parser.add_argument("--report", metavar="FILE", help="measure nothing, report what the file has")
    parser.add_argument("--list", action="store_true", help="list every form below the limits")
    return parser.parse_args(argv)


def read_records(path):
    """The records of a run that may have been cut, and the form that it was at."""
    records, begun = {}, None
    for line in Path(path).read_text().splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "begun" in entry:
            begun = entry
        elif "key" in entry:
            records[entry["key"]] = entry
            begun = None
    return records, begun


def beginning(form, times):
    """What is written before a form is measured; times: how often it was begun, in this run and those before."""
    found = {"begun": form.key, "times": times, "row": form.row, "category": form.category}
    return {**found, "layout": form.layout, "size": form.size, "dtype": form.dtype}


def measure_all(bench, forms, arguments):
    records, file, begun = {}, None, None
    if arguments.output:
        if arguments.resume and Path(arguments.output).exists():
            records, begun = read_records(arguments.output)
            if begun and begun["times"] > 1:
                key = begun.pop("begun")
                records[key] = {**begun, "key": key, "skipped": "ended the process"}
                begun = None
            for record in records.values():
                bench.remember(record)
        file = open(arguments.output, "w")
        print(json.dumps({"machine": machine(), "threads": arguments.threads}), file=file)
        for record in records.values():
            print(json.dumps(record), file=file)
    start, busy, done = time.monotonic(), time.process_time(), 0
    try:
        for form in forms:
            known = records.get(form.key)
            if known and ("skipped" in known or set(bench.modes) <= set(known["ratios"])):
                continue
            if time.monotonic() - start > arguments.minutes * 60:
                print(f"stopped after {arguments.minutes:g} minutes", file=sys.stderr)
                break
            if file:
                times = 2 if begun and begun["begun"] == form.key else 1
                print(json.dumps(beginning(form, times)), file=file, flush=True)
            record = records[form.key] = bench.record(form)
            done += 1
            if file:
                print(json.dumps(record), file=file, flush=True)
    finally:
        if file:
            file.close()
    wanted = {form.key for form in forms}
    print(f"{done} forms in {time.monotonic() - start:.0f} s, {time.process_time() - busy:.0f} s of the processor")
    return [record for key, record in records.items() if key in wanted]


def main(argv=None):
    arguments = parse(argv)
    os.environ.setdefault("MINIDYNAMO_LOGS", "-dynamo")  # it would warn of each form that cannot be captured
    if arguments.report:
        records = list(read_records(arguments.report)[0].values())
    else:
        forms, without = wanted_forms(arguments)
        if without:
            print(f"rows without a form: {', '.join(without)}")
        modes = [EAGER] if arguments.eager else [COMPILED] if arguments.compiled else [EAGER, COMPILED]
        records = measure_all(Bench(arguments.threads, modes, arguments.rounds), forms, arguments)
    print("\n".join(report(records)))
    if arguments.list:
        print("\n".join(low_forms(records)))


if __name__ == "__main__":
    main()
