"""torch's own operator database run on minidynamo: each operator, on each of torch's samples.

`python operator_database.py [way ...] [dtype ...] [operator ...]` prints all differences and the table of what is right,
different and absent. Ways: WAYS; without any, `function`.
"""

import random
import sys
import warnings
from typing import NamedTuple

import torch
import torch.testing._internal.common_methods_invocations as invocations
from database_comparison import (
    agrees_where_held,
    are_eigenvectors,
    difference,
    difference_of_errors,
    names_equal_elements,
    tolerance_of_database,
)
from database_translation import (
    DTYPES,
    Missing,
    converted,
    copy_of,
    dtype_not_here,
    parts_of,
    translated,
    unseeded,
)

import minidynamo as md

# These return uninitialised memory.
UNDETERMINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_"}


class Outcome(NamedTuple):
    """The outcome of one sample. kind: "right", "different", "absent" (text: why), "refused" (by both)."""

    kind: str
    text: str = ""


def entries():
    """(identifier, OpInfo) of all operators except those that torch compiles for CUDA only."""
    ops = (op for op in invocations.op_db if not isinstance(op.op, torch.cuda.jiterator._JittedFunction))
    return [(f"{op.name}.{op.variant_test_name}".rstrip("."), op) for op in ops]


def seed(number):
    torch.manual_seed(number)
    md.manual_seed(number)
    random.seed(number)


def outcome(call, *args, **keywords):
    """(result, exception); Missing for a name that minidynamo does not have."""
    seed(1)
    try:
        return call(*args, **keywords), None
    except Missing:
        raise
    except (AttributeError, ImportError) as error:
        if "minidynamo" in str(error) or "Tensor" in str(error):
            raise Missing(str(error).rpartition(" attribute ")[2].strip("'").partition("'")[0]) from None
        return None, error
    except Exception as error:
        return None, error


def reason_of_absence(error):
    """Why minidynamo rejects a call that torch accepts, if the exception says that it is not supported at all; ""
    otherwise."""
    text = str(error)
    if isinstance(error, NotImplementedError) and "not implemented for '" in text:
        return f"dtype {text.rpartition(' for ')[2].strip(chr(39))}"
    if isinstance(error, TypeError) and "unexpected keyword argument '" in text:
        return f"keyword {text.rpartition(' ')[2].strip(chr(39))}"
    return ""


def shown(sample):
    def text(value):
        if isinstance(value, torch.Tensor):
            return f"{str(value.dtype)[6:]}{list(value.shape)}" + (
                "" if value.is_contiguous() else f"~{value.stride()}"
            )
        if isinstance(value, (list, tuple)):
            return "(" + ", ".join(text(part) for part in value) + ")"
        return repr(value)

    named = [f"{name}={text(value)}" for name, value in sample.kwargs.items()]
    return ", ".join([text(sample.input), *[text(value) for value in sample.args], *named])[:300]


def run_torch(function, sample):
    return outcome(function, copy_of(sample.input), *copy_of(list(sample.args)), **copy_of(sample.kwargs))


def is_random(function, sample):
    """Whether another seed leads to other numbers."""
    runs = []
    for number in (1, 2):
        result, _ = run_torch(lambda *a, number=number, **k: (seed(number), unseeded(function)(*a, **k))[1], sample)
        runs.append([part for part in parts_of(result) if isinstance(part, torch.Tensor)])
    return any(not torch.equal(a.nan_to_num(0), b.nan_to_num(0)) for a, b in zip(*runs, strict=True))


def in_float64(function, sample):
    """torch's result of the same call on float64, or None if torch rejects it."""

    def widened(value):
        if isinstance(value, torch.Tensor):
            return value.double() if value.is_floating_point() else value
        return torch.float64 if value.is_floating_point else value

    result, error = run_torch(function, sample.transform(widened))
    return None if error is not None else result


# ---- ways to call: (op, call of torch -> call of minidynamo); None if the operator has no such form ----


def compiled(call):
    def run(input, args, keywords):
        return call(input, *args, **keywords)

    def call_compiled(input, *args, **keywords):
        md._dynamo.reset()
        return md.compile(run)(input, args, keywords)

    return call_compiled


def with_input(call):
    """The result and the input as the call left it."""
    return lambda input, *args, **keywords: (call(input, *args, **keywords), input)


def form(attribute, both=lambda call: call, here=lambda call: call):
    def calls(op):
        call = getattr(op, attribute)
        return None if call is None else (both(call), lambda: both(here(translated(call))))

    return calls


def in_autocast(library, call):
    def run(*args, **keywords):
        with library.autocast("cpu"):
            return call(*args, **keywords)

    return run


def autocast_form(here=lambda call: call):
    return lambda op: (in_autocast(torch, op.op), lambda: here(in_autocast(md, translated(op.op))))


FORMS = {
    "function": form("op"),
    "compiled": form("op", here=compiled),
    "method": form("method_variant"),
    "in_place": form("inplace_variant", both=with_input),
    "compiled_in_place": form("inplace_variant", both=with_input, here=compiled),
    "operator": form("operator_variant"),
    "in_place_operator": form("inplace_operator_variant", both=with_input),
    "noncontiguous": form("op"),
    "reference": form("op"),
    "autocast": autocast_form(),
    "compiled_autocast": autocast_form(here=compiled),
}


def samples_of(op, dtype, way="function"):
    seed(0)
    if way == "reference":
        return op.reference_inputs("cpu", dtype, requires_grad=False) if op.reference_inputs_func else []
    samples = op.sample_inputs("cpu", dtype, requires_grad=False)
    return (sample.noncontiguous() for sample in samples) if way == "noncontiguous" else samples


def outcome_of_sample(name, op, sample, call, ours_call):
    """Both libraries on one sample."""
    why = dtype_not_here([sample.input, sample.args, sample.kwargs])
    if why:
        return Outcome("absent", f"dtype {why}")
    theirs, their_error = run_torch(call, sample)
    results = [
        part.resolve_conj().resolve_neg() if isinstance(part, torch.Tensor) else part for part in parts_of(theirs)
    ]
    why = dtype_not_here(results)
    if why:
        return Outcome("absent", f"dtype {why}")
    try:
        given = [converted(sample.input), converted(list(sample.args)), converted(sample.kwargs)]
        ours, error = outcome(ours_call, given[0], *given[1], **given[2])
    except Missing as missing:
        return Outcome("absent", f"name {missing}")
    if error is not None or their_error is not None:
        why = reason_of_absence(error) if their_error is None else ""
        unlike = why or difference_of_errors(error, their_error)
        return Outcome("absent" if why else "different" if unlike else "refused", unlike)
    dtype = next((part.dtype for part in parts_of(theirs) if isinstance(part, torch.Tensor)), None)
    unlike = difference(
        ours, theirs, op.name not in UNDETERMINED, lambda: in_float64(call, sample), tolerance_of_database(op, dtype)
    )
    if unlike.startswith(("values", "NaN", "inf")) or ", torch gives" in unlike:
        same_meaning = (names_equal_elements, agrees_where_held, are_eigenvectors)
        if any(holds(name, sample, ours, theirs) for holds in same_meaning):
            unlike = ""
        elif is_random(op.op, sample):
            unlike = difference(ours, theirs, values=False)
    return Outcome("different" if unlike else "right", unlike)


def outcomes(name, op, dtype_name, way="function", only=lambda number: True, compared=lambda sample: True):
    """One outcome for each sample that `only` and `compared` select. A missing operator has a single outcome."""
    dtype = getattr(torch, dtype_name)
    calls = FORMS[way](op)
    if dtype not in op.dtypes or calls is None:
        return
    try:
        ours_call = calls[1]()
    except Missing as missing:
        yield Outcome("absent", f"name {missing}")
        return
    for number, sample in enumerate(samples_of(op, dtype, way)):
        if only(number) and compared(sample):
            found = outcome_of_sample(name, op, sample, calls[0], ours_call)
            where = f"{name} {way} {dtype_name} #{number} ({shown(sample)}): " if found.kind == "different" else ""
            yield found._replace(text=where + found.text)


def error_outcomes(name, op, compared=lambda sample: True):
    """For the calls that torch's database lists as invalid: rejected by both with one class of exception, or
    different."""
    if op.error_inputs_func is None:
        return
    try:
        call = translated(op.op)
    except Missing as missing:
        yield Outcome("absent", f"name {missing}")
        return
    seed(0)
    for number, wrong in enumerate(op.error_inputs("cpu")):
        sample = wrong.sample_input
        if not compared(sample):
            continue
        found = outcome_of_error(op, sample, call)
        where = f"{name} errors #{number} ({shown(sample)}): " if found.kind == "different" else ""
        yield found._replace(text=where + found.text)


def outcome_of_error(op, sample, call):
    why = dtype_not_here([sample.input, sample.args, sample.kwargs])
    if why:
        return Outcome("absent", f"dtype {why}")
    _, theirs = run_torch(op.op, sample)
    if theirs is None:
        return Outcome("right")
    try:
        given = [converted(sample.input), converted(list(sample.args)), converted(sample.kwargs)]
    except ValueError as refused:  # more dims than minidynamo supports
        return Outcome("absent", str(refused))
    try:
        _, ours = outcome(call, given[0], *given[1], **given[2])
    except Missing as missing:
        return Outcome("absent", f"name {missing}")
    unlike = difference_of_errors(ours, theirs)
    return Outcome("different" if unlike else "refused", unlike)


def memory_of(tensor):
    """The addresses of the first byte and past the last, or None without elements."""
    if tensor.numel() == 0:
        return None
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + extent * tensor.element_size()


def tensors_in(value, kind):
    return [part for part in parts_of(value) if isinstance(part, kind)]


def is_writable(tensor):
    try:
        tensor.detach().zero_()
    except RuntimeError:
        return False
    return True


def layout(result, given, kind):
    """For each result: its strides, the inputs whose memory it shares, the inputs that it is, and whether it is
    writable."""
    inputs, rows = tensors_in(given, kind), []
    for tensor in tensors_in(result, kind):
        memory = memory_of(tensor)
        shares = [
            number
            for number, other in enumerate(inputs)
            if memory is not None
            and (there := memory_of(other)) is not None
            and memory[0] < there[1]
            and there[0] < memory[1]
        ]
        strides = [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1]
        strides = strides if memory is not None else []
        rows.append([strides, shares, [number for number, other in enumerate(inputs) if other is tensor], tensor])
    for row in rows:
        row[3] = is_writable(row[3])
    return rows


def layout_outcomes(name, op, dtype_name="float32", strides=True, only=lambda number: True):
    """Whether results share memory with inputs, have strides, or are writable in another way than torch's."""
    dtype = getattr(torch, dtype_name)
    if dtype not in op.dtypes:
        return
    try:
        here = translated(op.op)
    except Missing:
        return
    for number, sample in enumerate(samples_of(op, dtype)):
        if not only(number) or dtype_not_here([sample.input, sample.args, sample.kwargs]):
            continue
        unlike = layout_difference(op, here, sample, strides)
        if unlike is not None:
            where = f"{name} {dtype_name} #{number} ({shown(sample)}): "
            yield Outcome("different", where + unlike) if unlike else Outcome("right")


def layout_difference(op, here, sample, strides):
    """None if the results cannot be compared."""
    given = [copy_of(sample.input), copy_of(list(sample.args)), copy_of(sample.kwargs)]
    theirs, error = outcome(op.op, given[0], *given[1], **given[2])
    try:
        ours_given = converted([copy_of(sample.input), copy_of(list(sample.args)), copy_of(sample.kwargs)])
        ours, our_error = outcome(here, ours_given[0], *ours_given[1], **ours_given[2])
    except Missing:
        return None
    if error is not None or our_error is not None or difference(ours, theirs, values=False):
        return None
    if any(tensor.layout is not torch.strided for tensor in tensors_in(theirs, torch.Tensor)):
        return None
    a, b = layout(ours, ours_given, md.Tensor), layout(theirs, given, torch.Tensor)
    if not strides:
        a, b = [row[1:] for row in a], [row[1:] for row in b]
    return "" if a == b else f"{a}, torch: {b}"


def differences(found):
    return [each.text for each in found if each.kind == "different"]


def absences(found):
    return {each.text for each in found if each.kind == "absent"}


WAYS = {
    **{
        way: lambda name, op, dtypes, way=way: [o for dtype in dtypes for o in outcomes(name, op, dtype, way)]
        for way in FORMS
    },
    "errors": lambda name, op, dtypes: list(error_outcomes(name, op)),
    "aliases": lambda name, op, dtypes: list(layout_outcomes(name, op, strides=False)),
    "strides": lambda name, op, dtypes: list(layout_outcomes(name, op)),
}


def report(ways, dtypes, wanted):
    """Prints each difference, and in which of the four rows of the table each operator is."""
    warnings.simplefilter("ignore")
    table = {"right": [], "different": [], "absent": [], "without samples": []}
    counts, reasons = {}, {}
    for name, op in entries():
        if not wanted(name):
            continue
        found = [each for way in ways for each in WAYS[way](name, op, dtypes)]
        for each in found:
            counts[each.kind] = counts.get(each.kind, 0) + 1
        for line in differences(found)[:5]:
            print("  " + line.replace("\n", " ")[:420], flush=True)
        kinds = {each.kind for each in found}
        row = (
            "different"
            if "different" in kinds
            else "right"
            if kinds & {"right", "refused"}
            else "absent"
            if kinds
            else "without samples"
        )
        table[row].append(name)
        for why in absences(found):
            reasons.setdefault(name, set()).add(why)
    for name, why in sorted(reasons.items()):
        print(f"absent: {name}\t{', '.join(sorted(why))}")
    print({row: len(names) for row, names in table.items()}, counts)
    print("different:", table["different"])


if __name__ == "__main__":
    words = sys.argv[1:]
    ways = [word for word in words if word in WAYS] or ["function"]
    dtypes = [word for word in words if word in DTYPES] or DTYPES
    names = [word for word in words if word not in (*WAYS, *DTYPES)]
    report(ways, dtypes, lambda name: not names or any(name == n or name.startswith(n + ".") for n in names))
