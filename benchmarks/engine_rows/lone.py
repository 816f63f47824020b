"""Lone pointwise operations beside torch: python benchmarks/engine_rows/lone.py [--rows TEXT]

Every pointwise row of the op table and every composite of pointwise rows, by dtype and layout, eager and compiled. A
row's operands come from its schema, so that a new row of the table is measured without a line here. One thread, in the
thread's own processor time.
"""

import collections
from dataclasses import dataclass, field

from sections import OURS, Figure, NoSuchCall, Row, Section, mean_of, run_alone

SIDE = 512  # elements: SIDE * SIDE, so that operands lie in the second level of cache
DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
FLOATS = DTYPES[:4]
LAYOUTS = ("contiguous", "transposed", "stepped", "mixed", "row", "column")
MODES = ("eager", "compiled")
FLOOR, LEAST, MOST_BELOW = 0.9, 0.5, 0.01  # times as fast as torch: at most 1 % below the floor, none below the least
SECONDS = 1e-3  # of calls of one contender in a round: its operands are in the cache after a few of them
NO_SUCH_CALL = (RuntimeError, TypeError, NotImplementedError, ValueError, OverflowError)
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


def rows(threads):
    for form in forms():
        count = sum(operand in ("t", "c") for operand in form.operands)
        for layout in LAYOUTS[: 3 if count < 2 else None]:
            for dtype in DTYPES:
                for mode in MODES:
                    ours = _bind(our_call, form, dtype, layout, mode)
                    theirs = _bind(torch_call, form, dtype, layout)
                    yield Row(f"{form.name}, {dtype}, {layout}, {mode}", {OURS: ours, "torch": theirs}, seconds=SECONDS)


def _bind(make, *arguments):
    def bound():
        try:
            return make(*arguments)
        except NO_SUCH_CALL as error:
            raise NoSuchCall(str(error)) from error

    return bound


def figures(row, times):
    if times.has(OURS, "torch"):
        yield Figure("torch / ours", times.least("torch") / times.least(OURS), FLOOR)


def totals(found):
    groups = collections.defaultdict(list)
    for name, figures in found.items():
        if "torch / ours" not in figures:
            continue
        _, dtype, layout, mode = name.rsplit(", ", 3)
        for group in ("all", mode, f"{mode}, {dtype}", f"{mode}, {layout}"):
            groups[group].append(figures["torch / ours"].value)
    for group, ratios in groups.items():
        yield f"{group}, {len(ratios)} rows", mean_of(ratios)
        below = sum(ratio < FLOOR for ratio in ratios)
        yield group, Figure(f"share below {FLOOR}", below / len(ratios), MOST_BELOW, at_most=True)
        yield group, Figure("least", min(ratios), LEAST)


SECTION = Section(rows, figures, totals, rounds=4)

if __name__ == "__main__":
    run_alone(__file__)
