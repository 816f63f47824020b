"""Lone pointwise operations beside torch: python benchmarks/engine_rows/lone.py [--rows TEXT] [--again RATIO]

Every pointwise row of the op table and every composite of pointwise rows, by dtype and layout, eager and compiled. A
row's operands come from its schema, so that a new row of the table is measured without a line here. One thread, in the
thread's own processor time; minima of rounds that take turns. --again: rows below that ratio are measured alone three
times more.
"""

import argparse
import collections
import json
import math
import statistics
import sys
import time
from dataclasses import dataclass, field

SIDE = 512  # elements: SIDE * SIDE, so that operands lie in the second level of cache
DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
FLOATS = DTYPES[:4]
LAYOUTS = ("contiguous", "transposed", "stepped", "mixed", "row", "column")
MODES = ("eager", "compiled")
# Where the default numbers, in (0, 1), are outside of the domain.
ABOVE_ONE = ("acosh",)
# Arguments that are not operands, by the parameter's name.
ARGUMENTS = {"rounding_mode": "floor", "alpha": 2, "weight": 0.25}
NUMBERS = {"min": 1, "max": 6, "exponent": 3}
# Composites of pointwise rows, with their operands ("t") and arguments; "F.": of nn.functional.
COMPOSITES = {
    "addcmul": ("ttt", {"value": 2}),
    "addcdiv": ("ttt", {"value": 2}),
    "nan_to_num": ("t", {}),
    "xlogy": ("tt", {}),
    "logaddexp": ("tt", {}),
    "heaviside": ("tt", {}),
    "logit": ("t", {}),
    "sinc": ("t", {}),
    "deg2rad": ("t", {}),
    "rad2deg": ("t", {}),
    "isposinf": ("t", {}),
    "isneginf": ("t", {}),
    "F.hardtanh": ("t", {}),
    "F.relu6": ("t", {}),
    "F.hardsigmoid": ("t", {}),
    "F.hardswish": ("t", {}),
    "F.softplus": ("t", {}),
    "F.mish": ("t", {}),
    "F.logsigmoid": ("t", {}),
    "F.selu": ("t", {}),
    "F.celu": ("t", {}),
    "F.softsign": ("t", {}),
    "F.tanhshrink": ("t", {}),
    "F.softshrink": ("t", {}),
    "F.hardshrink": ("t", {}),
    "F.threshold": ("t", {"threshold": 0.5, "value": 1}),
    "F.silu": ("t", {}),
    "F.elu": ("t", {}),
    "F.leaky_relu": ("t", {}),
}


@dataclass
class Form:
    """A call: its operands are tensors ("t"), conditions ("c"), numbers, or None."""

    name: str
    path: str  # below the library
    operands: tuple
    keywords: dict = field(default_factory=dict)
    method: bool = False


@dataclass
class Row:
    """contenders: name -> a function that returns the call to be timed, or raises if there is none."""

    name: str
    contenders: dict


def forms():
    """All calls: each row with tensors only, and with a number for every operand that may be one."""
    from minidynamo import _C

    for row in _C._op_rows():
        if not row["kind"].startswith("Pointwise") and row["kind"] != "Compare":
            continue
        plain = row["name"].partition(".")[0]
        if not (row["function"] or row["functional"]):
            continue  # an operation of nn.functional, among the composites
        path = plain if row["function"] else f"nn.functional.{plain}"
        yield from forms_of_schema(row["name"], path, row["schema"])
    for name, (operands, keywords) in COMPOSITES.items():
        yield Form(name, name.replace("F.", "nn.functional."), tuple(operands), dict(keywords))


def forms_of_schema(name, path, schema):
    tensors, numbers, keywords = [], [], {}
    for text in schema[schema.index("(") + 1 : schema.index(") ->")].split(", "):
        kind, _, parameter = text.partition(" ")
        parameter = parameter.partition("=")[0]
        if kind in ("Tensor", "Number", "Number?"):
            is_condition = parameter == "condition"
            tensors.append("c" if is_condition else "t")
            is_number = kind != "Tensor" and parameter != "self"
            numbers.append(NUMBERS.get(parameter, ARGUMENTS.get(parameter, 3)) if is_number else tensors[-1])
        elif parameter in ARGUMENTS:
            keywords[parameter] = ARGUMENTS[parameter]
    yield Form(name, path, tuple(tensors), {k: v for k, v in keywords.items() if k == "rounding_mode"})
    if "alpha" in keywords:
        yield Form(f"{name} with alpha", path, tuple(tensors), keywords)
    if numbers != tensors:
        yield Form(f"{name} with numbers", path, tuple(numbers), {k: v for k, v in keywords.items() if k != "alpha"})


def values(numpy, form, place, dtype, shape):
    rng = numpy.random.default_rng(place)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        return rng.uniform(0.05, 0.95, shape) + (1 if form.path in ABOVE_ONE else 0)
    return rng.integers(1, 7, shape)


def laid_out(library, array, layout, place):
    """A tensor of the sizes SIDE x SIDE; the operands after the first are contiguous in mixed, and broadcast."""
    tensor = library.tensor(array)
    if layout == "transposed" or (layout == "mixed" and place == 0):
        return tensor.t().contiguous().t()
    if layout == "stepped":
        return library.stack([tensor, tensor], 2)[:, :, 0]
    return tensor


def shape_of(layout, place):
    if place == 0:
        return (SIDE, SIDE)
    return {"row": (SIDE,), "column": (SIDE, 1)}.get(layout, (SIDE, SIDE))


def operands_of(library, form, dtype, layout):
    import numpy

    found = []
    for place, operand in enumerate(form.operands):
        if operand not in ("t", "c"):
            found.append(operand)
            continue
        own = "bool" if operand == "c" else dtype
        array = values(numpy, form, place, own, shape_of(layout, place))
        if own in ("bfloat16", "float16"):
            tensor = laid_out(library, array, layout, place).to(getattr(library, own))
        else:
            tensor = laid_out(library, array.astype(own), layout, place)
        found.append(tensor)
    return found


def function_of(library, path):
    for name in path.split("."):
        library = getattr(library, name)
    return library


def torch_call(form, dtype, layout):
    import torch

    torch.set_num_threads(1)
    function, operands = function_of(torch, form.path), operands_of(torch, form, dtype, layout)
    keywords = form.keywords
    function(*operands, **keywords)
    return lambda: function(*operands, **keywords)


def our_call(form, dtype, layout, mode):
    import minidynamo

    minidynamo.set_num_threads(1)
    function, operands = function_of(minidynamo, form.path), operands_of(minidynamo, form, dtype, layout)
    keywords = form.keywords
    if mode == "compiled":
        minidynamo._dynamo.reset()  # the functions compiled here share their code
        given = [operand for operand in operands if isinstance(operand, minidynamo.Tensor)]
        places = [i for i, operand in enumerate(operands) if isinstance(operand, minidynamo.Tensor)]

        def program(*tensors):
            full = list(operands)
            for i, tensor in zip(places, tensors):
                full[i] = tensor
            return function(*full, **keywords)

        compiled = minidynamo.compile(fullgraph=True)(program)
        compiled(*given)
        return lambda: compiled(*given)
    function(*operands, **keywords)
    return lambda: function(*operands, **keywords)


def rows():
    for form in forms():
        count = sum(operand in ("t", "c") for operand in form.operands)
        for layout in LAYOUTS[: 3 if count < 2 else None]:
            for dtype in DTYPES:
                for mode in MODES:
                    ours = _bind(our_call, form, dtype, layout, mode)
                    theirs = _bind(torch_call, form, dtype, layout)
                    yield Row(f"{form.name}, {dtype}, {layout}, {mode}", {"minidynamo": ours, "torch": theirs})


def _bind(make, *arguments):
    return lambda: make(*arguments)


def __getattr__(name):
    if name == "ROWS":
        return list(rows())
    raise AttributeError(name)


def compared(row, rounds):
    """Seconds of each contender, or None where one of them has no such call."""
    try:
        calls = {name: make() for name, make in row.contenders.items()}
    except (RuntimeError, TypeError, NotImplementedError, ValueError, OverflowError):
        return None
    best = dict.fromkeys(calls, math.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            for _ in range(2):
                begin = time.thread_time()
                call()
                best[name] = min(best[name], time.thread_time() - begin)
    return best


def ratio(best):
    return best["torch"] / best["minidynamo"]


def measured_again(row, found, rounds):
    """The best of three more measurements, each of calls made anew."""
    for _ in range(3):
        again = compared(row, 4 * rounds)
        if again is not None and ratio(again) > ratio(found):
            found = again
    return found


def report(results):
    by_group = collections.defaultdict(list)
    for name, best in results.items():
        _, dtype, layout, mode = name.rsplit(", ", 3)
        for group in ("all", mode, f"{mode}, {dtype}", f"{mode}, {layout}"):
            by_group[group].append(ratio(best))
    print(
        "| rows | number | geometric mean of torch / minidynamo | below 0.9 | below 0.5 |\n"
        "| --- | ---: | ---: | ---: | ---: |"
    )
    for group, ratios in by_group.items():
        below = [sum(r < limit for r in ratios) for limit in (0.9, 0.5)]
        print(f"| {group} | {len(ratios)} | {statistics.geometric_mean(ratios):.2f} | {below[0]} | {below[1]} |")
    print("\nSlowest:")
    for name, best in sorted(results.items(), key=lambda item: ratio(item[1])):
        if ratio(best) < 0.9:
            print(
                f"{ratio(best):.2f}  {name}  ours {best['minidynamo'] * 1e6:.1f} us, torch {best['torch'] * 1e6:.1f} us"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="only rows whose name contains all of these words")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--again", type=float, default=0.9, help="measure rows below this ratio again")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    results = {}
    for row in rows():
        if not all(word in row.name for word in arguments.rows.split()):
            continue
        best = compared(row, arguments.rounds)
        if best is None:
            continue
        if ratio(best) < arguments.again:
            best = measured_again(row, best, arguments.rounds)
        results[row.name] = best
        print(row.name, f"{ratio(best):.2f}", file=sys.stderr, flush=True)
    report(results)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
