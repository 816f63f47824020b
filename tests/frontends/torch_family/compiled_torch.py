"""A call of torch beside the same call compiled: results, facts of the results, what became of the arguments, exceptions."""

import random
import sys
from pathlib import Path
from typing import NamedTuple

import torch
import torch.utils._pytree as pytree

import minidynamo
from minidynamo import _C

sys.path.append(str(Path(__file__).parents[2] / "ops"))
from database_comparison import choose_alike, difference_of_values  # noqa: E402
from database_translation import copied  # noqa: E402


class Run(NamedTuple):
    """A call's result or exception, and its arguments afterwards."""

    result: object
    error: BaseException | None
    given: list
    versions: list


class Outcome(NamedTuple):
    """The outcome of one call. kind: "whole" (no break), "breaks" (text: where), "different" (text: in what)."""

    kind: str
    text: str = ""


def parts(value):
    return pytree.tree_flatten(value)[0]


def copy_of(value):
    """The same value over tensors of its own; anything but a plain tensor stays."""

    def copy(part):
        plain = isinstance(part, torch.Tensor) and part.layout == torch.strided and not part.is_complex()
        return copied(part).requires_grad_(part.requires_grad) if plain and type(part) is torch.Tensor else part

    return pytree.tree_map(copy, value)


def seed(number):
    torch.manual_seed(number)
    random.seed(number)


def run(call, arguments):
    """One run on copies of (positional arguments, keywords)."""
    positional, keywords = copy_of(arguments)
    given = [part for part in parts((positional, keywords)) if isinstance(part, torch.Tensor)]
    before = [tensor._version for tensor in given]
    result, error = None, None
    seed(1)
    try:
        result = call(positional, keywords)
    except Exception as raised:
        error = raised
    versions = [tensor._version - count for tensor, count in zip(given, before, strict=True)]
    return Run(result, error, given, versions)


def storage_of(tensor):
    return tensor.untyped_storage()._cdata if tensor.layout == torch.strided and tensor.numel() else None


def facts_of(result, given):
    """What a program may see of each part of a result but its values."""
    tensors = [part for part in parts(result) if isinstance(part, torch.Tensor)]
    rows = []
    for tensor in tensors:
        strided, storage = tensor.layout == torch.strided, storage_of(tensor)
        strides = zip(tensor.shape, tensor.stride(), strict=True) if strided and tensor.numel() else ()
        rows.append(
            {
                "type": type(tensor),
                "dtype": tensor.dtype,
                "sizes": tuple(tensor.shape),
                "strides": [stride for size, stride in strides if size != 1],
                "argument": [at for at, other in enumerate(given) if other is tensor],
                "base": [at for at, other in enumerate(given) if tensor._base is other],
                "memory of": [at for at, other in enumerate(given) if storage and storage_of(other) == storage],
                "memory with": [at for at, other in enumerate(tensors) if storage and storage_of(other) == storage],
                "offset": tensor.storage_offset() if any(tensor._base is other for other in given) else None,
                "requires_grad": tensor.requires_grad,
            }
        )
    return rows


def difference_of_facts(ours, theirs):
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        found = [f"{name} {a[name]}, torch: {b[name]}" for name in b if a[name] != b[name]]
        if found:
            return f"result {number}: {'; '.join(found)}"
    return ""


def difference_of_parts(ours, theirs, allowed, exact=lambda: None, order=None):
    (ours, shape), (theirs, torch_shape) = pytree.tree_flatten(ours), pytree.tree_flatten(theirs)
    if shape != torch_shape:
        return f"{shape}, torch: {torch_shape}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if type(a) is not type(b):
            return f"a {type(a)}, torch: {type(b)}"
        if not isinstance(b, torch.Tensor):
            near = isinstance(b, float) and (abs(a - b) <= 1e-5 * max(1.0, abs(b)) or (a != a and b != b))
            if not near and a != b:
                return f"{a!r}, torch: {b!r}"
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype} {tuple(a.shape)}, torch: {b.dtype} {tuple(b.shape)}"
        if b.layout == torch.strided and not b.dtype.is_complex:
            part = lambda number=number: part_of(exact(), number)  # noqa: E731
            found = difference_of_values(a.detach(), b.detach(), part, allowed)
            if found and not is_noise(a.detach(), b.detach()) and not (order and choose_alike(*order, a, b)):
                return f"result {number}: {found}"
    return ""


def is_noise(ours, theirs):
    """Whether all differences are below the rounding of a number near 1: what cancellation leaves of a zero."""
    if not theirs.is_floating_point() or not torch.equal(ours.isfinite(), theirs.isfinite()):
        return False
    finite = theirs.isfinite()
    return bool(((ours - theirs)[finite].abs() <= torch.finfo(theirs.dtype).eps).all()) and torch.equal(
        ours[~finite].nan_to_num(0), theirs[~finite].nan_to_num(0)
    )


def part_of(result, number):
    found = parts(result)
    return found[number] if number < len(found) and isinstance(found[number], torch.Tensor) else None


def difference_of_runs(ours, theirs, allowed=(0.0, 0.0), exact=lambda: None, values=True, order=None):
    """What a program can see of a run that is another in the other; "" if nothing."""
    if ours.error is not None or theirs.error is not None:
        if type(ours.error) is type(theirs.error) and str(ours.error) == str(theirs.error):
            return ""
        return f"{type(ours.error).__name__}: {ours.error}, torch: {type(theirs.error).__name__}: {theirs.error}"
    if ours.versions != theirs.versions:
        return f"versions {ours.versions}, torch: {theirs.versions}"
    found = difference_of_parts(ours.result, theirs.result, allowed, exact, order) if values else ""
    found = found or difference_of_parts(ours.given, theirs.given, allowed)
    return found or difference_of_facts(facts_of(ours.result, ours.given), facts_of(theirs.result, theirs.given))


def counted(name):
    return dict(_C.engine_counters()).get(name, 0)


def compared(call, arguments, backend="onednn", **more):
    """The outcome of call(positional, keywords): plain, then compiled, once to capture it and once from the capture."""
    with torch.no_grad():
        theirs = run(call, arguments)
        minidynamo._dynamo.reset()
        compiled, breaks = minidynamo.compile(call, backend=backend), counted("graph_breaks")
        for hit, ours in (("", run(compiled, arguments)), ("again: ", run(compiled, arguments))):
            found = difference_of_runs(ours, theirs, **more)
            if found:
                return Outcome("different", hit + found)
        if counted("graph_breaks") == breaks:
            return Outcome("whole")
        # What is captured under fullgraph alone: sizes that depend on data.
        minidynamo._dynamo.reset()
        compiled = minidynamo.compile(call, fullgraph=True, backend=backend)
        for _ in range(2):
            ours = run(compiled, arguments)
            if isinstance(ours.error, minidynamo._dynamo.exc.Unsupported):
                return Outcome("breaks", str(ours.error))
            found = difference_of_runs(ours, theirs, **more)
            if found:
                return Outcome("different", f"under fullgraph: {found}")
    return Outcome("whole")
