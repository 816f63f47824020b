"""torch's own databases of operators and modules, each sample plain and compiled.

`python torch_database.py [dtype ...] [operator ...]` prints all differences, and what breaks.
"""

import itertools
import sys
import warnings
from collections import Counter

import torch
import torch.testing._internal.common_methods_invocations as invocations
import torch.testing._internal.common_modules as common_modules
from compiled_torch import Outcome, compared, seed
from database_comparison import POSITIONS, chosen_dim, tolerance_of_database
from database_translation import unseeded
from torch.utils._pytree import tree_leaves

import minidynamo

DTYPES = ("float32", "float64", "int64", "bool", "uint8", "int8", "int16", "int32", "bfloat16", "float16")
# These return uninitialised memory, or bases that torch's documentation fixes up to signs and rotations.
UNDETERMINED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
} | {
    "pca_lowrank",
    "svd_lowrank",
}


def entries():
    """{identifier: OpInfo} of all operators except those that torch compiles for CUDA only."""
    ops = [op for op in invocations.op_db if not isinstance(op.op, torch.cuda.jiterator._JittedFunction)]
    return {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in ops}


def in_float64(function, sample):
    """The result of the same call on float64, or None if torch rejects it."""

    def widened(value):
        if isinstance(value, torch.Tensor):
            return value.double() if value.is_floating_point() else value
        return torch.float64 if value.is_floating_point else value

    try:
        wide = sample.transform(widened)
        return function(wide.input, *wide.args, **wide.kwargs)
    except Exception:
        return None


def order_of(op, sample):
    """The tensor and the dim that the indices in the sample's result choose from, where their order is left open."""
    if op.name not in POSITIONS or sample.kwargs.get("stable"):
        return None
    return sample.input, chosen_dim(op.name, sample)


def outcomes(op, dtype_name, only=lambda number: True, backend="onednn"):
    """(number, Outcome) of each of the operator's samples that `only` selects."""
    dtype, function = getattr(torch, dtype_name), unseeded(op.op)
    if dtype not in op.dtypes:
        return
    seed(0)

    def call(positional, keywords):
        return function(*positional, **keywords)

    allowed = tolerance_of_database(op, dtype)
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
        if only(number):
            exact = lambda sample=sample: in_float64(function, sample)  # noqa: E731
            arguments = ((sample.input, *sample.args), dict(sample.kwargs))
            values = op.name not in UNDETERMINED
            order = order_of(op, sample)
            yield (
                number,
                compared(call, arguments, backend, allowed=allowed, exact=exact, values=values, order=order),
            )


def accepted_beyond_torch(op, most=3):
    """Dtypes for which torch raises and what is compiled does not, of samples in a dtype that torch takes."""
    function, found = unseeded(op.op), []
    taken = next((name for name in DTYPES if getattr(torch, name) in op.dtypes), None)
    for name in DTYPES if taken else ():
        source, dtype = getattr(torch, taken), getattr(torch, name)
        if dtype in op.dtypes:
            continue

        def cast(value, source=source, dtype=dtype):
            return value.to(dtype) if isinstance(value, torch.Tensor) and value.dtype == source else value

        seed(0)
        for sample in itertools.islice(op.sample_inputs("cpu", source, requires_grad=False), most):
            given = sample.transform(cast)

            def call(*tensors, given=given):
                return function(*tensors, **given.kwargs)

            try:
                call(given.input, *given.args)
                continue
            except Exception:
                minidynamo._dynamo.reset()
            try:
                minidynamo.compile(call)(given.input, *given.args)
            except Exception:
                continue
            found.append(name)
    return sorted(set(found))


def transposed(value):
    """The same tensor with its last two dims the other way round in memory."""
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.dim() < 2 or value.numel() < 2:
        return value
    return value.transpose(-1, -2).contiguous().transpose(-1, -2)


def strides_of(result):
    """Of dims that lead from one element to another, by tensor."""
    tensors = [part for part in tree_leaves(result) if isinstance(part, torch.Tensor) and part.layout == torch.strided]
    parts = [zip(part.shape, part.stride(), strict=True) if part.numel() else () for part in tensors]
    return [[stride for size, stride in part if size != 1] for part in parts]


def other_strides(op, most=4):
    """(number of the sample, torch's strides, those of what is compiled) where they differ, of transposed arguments."""
    function = unseeded(op.op)
    seed(0)
    for number, sample in enumerate(itertools.islice(op.sample_inputs("cpu", torch.float32), most)):
        whole = sample.transform(transposed)
        for given in ((transposed(sample.input), *sample.args), (whole.input, *whole.args)):

            def call(*tensors, whole=whole):
                return function(*tensors, **whole.kwargs)

            try:
                expected = strides_of(call(*given))
            except Exception:
                continue
            minidynamo._dynamo.reset()
            found = strides_of(minidynamo.compile(call)(*given))
            if found != expected:
                yield number, expected, found


def modules():
    """{name: ModuleInfo}."""
    return {info.name.replace(".", "_"): info for info in common_modules.module_db}


def module_outcomes(info, dtype_name="float32", only=lambda number: True, backend="onednn"):
    """(number, Outcome) of each of the module's samples that `only` selects, in eval mode."""
    dtype = getattr(torch, dtype_name)
    seed(0)
    inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=False)
    for number, sample in enumerate(inputs):
        if not only(number) or sample.forward_input is None:
            continue
        made = sample.constructor_input
        seed(0)
        module = info.module_cls(*made.args, **made.kwargs).to(dtype).eval()

        def call(positional, keywords, module=module):
            return module(*positional, **keywords)

        given = sample.forward_input
        yield number, compared(call, (tuple(given.args), dict(given.kwargs)), backend)


def shown(outcome: Outcome):
    text = outcome.text
    if outcome.kind == "breaks":
        text = text.partition("\n")[0] + text.partition("Developer debug context:")[2].partition("\n")[0]
    return f"{outcome.kind} {text[:300]}"


def report(dtypes, wanted):
    warnings.simplefilter("ignore")
    table = Counter()
    for name, op in entries().items():
        if not wanted(name):
            continue
        for dtype in dtypes:
            found = list(outcomes(op, dtype))
            kinds = {each.kind for _, each in found}
            row = next((kind for kind in ("different", "breaks", "whole") if kind in kinds), "without samples")
            table[row] += 1
            for number, each in [pair for pair in found if pair[1].kind == row and row != "whole"][:2]:
                print(f"{name} {dtype} #{number} of {len(found)}: {shown(each)}", flush=True)
    print(dict(table))


if __name__ == "__main__":
    words = sys.argv[1:]
    names = [word for word in words if word not in DTYPES]
    report(
        [word for word in words if word in DTYPES] or ["float32"],
        lambda name: not names or any(name == n or name.startswith(n + ".") for n in names),
    )
