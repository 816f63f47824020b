"""Gradients of torch's operator database: each operator's first and second derivatives beside torch's, in double precision.

`python operator_gradients.py [float64 | complex128] [operator ...]` prints what differs and what could not be compared.
"""

import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

OPS = str(Path(__file__).resolve().parents[1] / "ops")
if OPS not in sys.path:
    sys.path.insert(0, OPS)

import database_translation as translation  # noqa: E402
import operator_database as database  # noqa: E402
import torch  # noqa: E402
from database_translation import Missing, converted, parts_of, translated  # noqa: E402

import minidynamo as md  # noqa: E402
import minidynamo.autograd  # noqa: E402

# Relative to the largest element of torch's gradient.
TOLERANCE = 1e-7


class Outcome(NamedTuple):
    """kind: "equal", "different", or "left" (text: why it cannot be compared)."""

    kind: str
    text: str = ""


class Left(Exception):
    """A sample that has nothing to compare, with the reason."""


def entries():
    """(identifier, OpInfo) of all operators of which torch computes gradients."""
    return [(name, op) for name, op in database.entries() if op.supports_autograd]


# ---- a sample in both libraries ----


def leaves_of(value, kind):
    """The tensors in arguments that gradients are computed of, each once."""
    found = []
    for part in parts_of(value):
        if isinstance(part, kind) and part.requires_grad and not any(part is each for each in found):
            found.append(part)
    return found


def for_torch(value):
    """A copy of arguments whose tensors are leaves that require grad where those of the sample do."""
    if isinstance(value, torch.Tensor):
        return translation.copied(value).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)([for_torch(part) for part in value])
    if isinstance(value, dict):
        return {name: for_torch(part) for name, part in value.items()}
    return value


def for_us(value):
    if isinstance(value, torch.Tensor):
        return converted(value).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)([for_us(part) for part in value])
    if isinstance(value, dict):
        return {name: for_us(part) for name, part in value.items()}
    return converted(value)


def checked_call(op, sample, call, wrapper, process):
    """What torch's own tests of gradients differentiate: the operator between a wrapper that makes its input valid and a
    function that makes its output unique."""

    def run(arguments):
        input, args, keywords = arguments
        output = process(wrapper(call, input, *args, **keywords))
        return [output] if not isinstance(output, (list, tuple)) else list(output)

    return run


def numbers_like(tensor, seed):
    """Random numbers of a tensor's sizes and dtype."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(tuple(tensor.shape), dtype=tensor.dtype, generator=generator)


# ---- gradients ----


def is_number(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def gradients(library, outputs, leaves, weights, again, rows):
    """(first derivatives of the outputs that require grad, second ones or None), each with None where nothing flows. rows:
    for each leaf, the gradient that its first derivative starts with."""
    grad = library.autograd.grad
    first = grad(outputs, leaves, weights, create_graph=again, allow_unused=True)
    if not again:
        return first, None
    flowing = [(each, row) for each, row in zip(first, rows) if each is not None and each.requires_grad]
    if not flowing:
        return first, ()
    return first, grad(
        [each for each, _ in flowing], [*leaves, *weights], [row for _, row in flowing], allow_unused=True
    )


def rows_of(library, leaves):
    return [numbers_like_of(library, each, 100 + number) for number, each in enumerate(leaves)]


def numbers_like_of(library, tensor, seed):
    if library is torch:
        return numbers_like(tensor, seed)
    like = torch.empty(tuple(tensor.shape), dtype=getattr(torch, str(tensor.dtype).rpartition(".")[2]))
    return converted(numbers_like(like, seed))


def as_torch(tensor):
    return translation.to_torch(tensor.contiguous())


def named(gradient):
    return "None" if gradient is None else "a gradient" if bool((gradient != 0).any()) else "zeros"


def is_nothing(gradient):
    return gradient is None or bool((gradient.abs() < 1e-12).all())


def gradient_difference(ours, theirs, order):
    """An empty text if two gradients are equal. Which second derivatives are None, and which zeros, depends on formulas."""
    if theirs is None or ours is None:
        is_equal = is_nothing(ours) and is_nothing(theirs) if order == "second" else ours is theirs
        return "" if is_equal else f"{named(ours)}, torch gives {named(theirs)}"
    theirs = theirs.detach().resolve_conj().resolve_neg()
    ours = as_torch(ours)
    if ours.dtype != theirs.dtype:
        return f"dtype {ours.dtype}, torch gives {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"sizes {tuple(ours.shape)}, torch gives {tuple(theirs.shape)}"
    if theirs.is_complex():
        ours, theirs = torch.view_as_real(ours), torch.view_as_real(theirs)
    if not torch.equal(ours.isnan(), theirs.isnan()):
        return f"NaN at {int((ours.isnan() & ~theirs.isnan()).sum())} places more, {int((~ours.isnan() & theirs.isnan()).sum())} fewer"
    infinite = ours.isinf() | theirs.isinf()
    if not torch.equal(ours[infinite].nan_to_num(0, 1, -1), theirs[infinite].nan_to_num(0, 1, -1)):
        return "infinities"
    finite = ~(infinite | ours.isnan())
    if not bool(finite.any()):
        return ""
    error, largest = (ours - theirs)[finite].abs().max().item(), theirs[finite].abs().max().item()
    bound = TOLERANCE * max(largest, 1e-3) if ours.dtype == torch.float64 else 1e-5 * max(largest, 10)
    return f"values, by {error:.3g} of {largest:.3g}" if error > bound else ""


def differences_of(ours, theirs, order):
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        found = gradient_difference(a, b, order)
        if found:
            return f"{order} derivative {number}: {found}"
    return ""


def flags_difference(ours, theirs):
    ours_flags = [each.requires_grad for each in ours if isinstance(each, md.Tensor)]
    flags = [each.requires_grad for each in theirs if isinstance(each, torch.Tensor)]
    return "" if ours_flags == flags else f"requires_grad {ours_flags}, torch has {flags}"


# ---- one sample ----


def run_torch(op, sample):
    """(outputs, leaves, weights, first, second or None) of torch. Raises Left if it has no gradients of the sample."""
    arguments = for_torch([sample.input, list(sample.args), sample.kwargs])
    leaves = leaves_of(arguments, torch.Tensor)
    call = checked_call(op, sample, op.op, op.gradcheck_wrapper, sample.output_process_fn_grad)
    database.seed(1)
    try:
        outputs = call(arguments)
    except Exception as error:
        raise Left(f"torch refuses: {type(error).__name__}: {str(error)[:80]}") from None
    flowing = [each for each in outputs if isinstance(each, torch.Tensor) and each.requires_grad]
    if not leaves or not flowing:
        raise Left("nothing to differentiate")
    weights = [numbers_like(each, number) for number, each in enumerate(flowing)]
    weights = [weight.requires_grad_(op.supports_gradgrad) for weight in weights]
    rows = rows_of(torch, leaves)
    try:
        first, second = gradients(torch, flowing, leaves, weights, op.supports_gradgrad, rows)
    except Exception:
        try:
            plain = [weight.detach() for weight in weights]
            again = call(arguments)
            flowing = [each for each in again if isinstance(each, torch.Tensor) and each.requires_grad]
            first, second = gradients(torch, flowing, leaves, plain, False, rows)
        except Exception as error:
            raise Left(f"torch's gradient refuses: {type(error).__name__}: {str(error)[:80]}") from None
    return outputs, weights, first, second


def run_ours(op, sample, call, weights, again, is_captured):
    """is_captured: the call and its gradients are one compiled function."""
    arguments = for_us([sample.input, list(sample.args), sample.kwargs])
    leaves = leaves_of(arguments, md.Tensor)
    wrapper, process = op.gradcheck_wrapper, sample.output_process_fn_grad
    if hasattr(wrapper, "__globals__"):
        wrapper = translation.with_globals(wrapper, torch=md)
    if hasattr(process, "__globals__"):
        process = translation.with_globals(process, torch=md)
    ours = [converted(weight.detach()).requires_grad_(again) for weight in weights]
    rows = rows_of(md, leaves)
    run = checked_call(op, sample, call, wrapper, process)

    def whole(arguments, leaves, ours, rows):
        outputs = run(arguments)
        flowing = [each for each in outputs if isinstance(each, md.Tensor) and each.requires_grad]
        if len(flowing) != len(ours):
            return outputs, None, None
        return outputs, *gradients(md, flowing, leaves, ours, again, rows)

    database.seed(1)
    return (md.compile(whole) if is_captured else whole)(arguments, leaves, ours, rows)


def is_random(op, sample):
    """Whether another seed leads to other numbers."""

    def run(number):
        database.seed(number)
        call = translation.unseeded(op.op)
        arguments = for_torch([sample.input, list(sample.args), sample.kwargs])
        results = parts_of(call(arguments[0], *arguments[1], **arguments[2]))
        return [part.detach().nan_to_num(0) for part in results if isinstance(part, torch.Tensor)]

    return any(not torch.equal(a, b) for a, b in zip(run(1), run(2), strict=True))


def sample_outcome(op, sample, call, is_captured=False):
    why = translation.dtype_not_here(
        [sample.input, sample.args, sample.kwargs], (*translation.DTYPES, *translation.COMPLEX)
    )
    if why:
        return Outcome("left", f"dtype {why}")
    try:
        outputs, weights, first, second = run_torch(op, sample)
    except Left as left:
        return Outcome("left", str(left))
    try:
        ours, our_first, our_second = run_ours(op, sample, call, weights, second is not None, is_captured)
    except Missing as missing:
        return Outcome("left", f"name {missing}")
    except Exception as error:
        if "not in minidynamo" in str(error) or "must be Tensor, not minidynamo" in str(error):
            return Outcome("left", "a name of torch inside the sample")
        return Outcome("different", f"{type(error).__name__}: {str(error)[:200]}")
    unlike = flags_difference(ours, outputs)
    if not unlike:
        unlike = differences_of(our_first, first, "first")
    if not unlike and second:
        if not our_second:
            none = all(each is None or not bool(each.any()) for each in second)
            unlike = "" if none else "no second derivative"
        else:
            unlike = differences_of(our_second, second, "second")
    if unlike and is_random(op, sample):
        return Outcome("left", "random")
    return Outcome("different" if unlike else "equal", unlike)


def outcomes(name, op, dtype_name="float64", only=lambda number: True, is_captured=False):
    """One outcome for each selected sample; a missing operator has one."""
    dtype = getattr(torch, dtype_name)
    if dtype not in op.supported_backward_dtypes("cpu"):
        return
    try:
        call = translated(op.op)
    except Missing as missing:
        yield Outcome("left", f"name {missing}")
        return
    database.seed(0)
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=True)):
        if only(number):
            found = sample_outcome(op, sample, call, is_captured)
            where = f"{name} {dtype_name} #{number} ({database.shown(sample)}): " if found.kind == "different" else ""
            yield found._replace(text=where + found.text)


def report(dtype, wanted):
    """Prints what differs, and how many samples are equal, different and left."""
    warnings.simplefilter("ignore")
    counts, reasons, bad = {}, {}, []
    for name, op in entries():
        if not wanted(name):
            continue
        started = time.monotonic()
        shown = 0
        for found in outcomes(name, op, dtype):
            counts[found.kind] = counts.get(found.kind, 0) + 1
            if found.kind == "different":
                shown += 1
                if shown <= 4:
                    print("  " + found.text.replace("\n", " ")[:420], flush=True)
            elif found.kind == "left":
                reasons.setdefault(found.text, {}).setdefault(name, 0)
                reasons[found.text][name] += 1
        if shown:
            bad.append((name, shown))
        if time.monotonic() - started > 20:
            print(f"  {name} took {time.monotonic() - started:.0f} s", flush=True)
    for why, names in sorted(reasons.items()):
        print(f"left: {why}: {names}")
    print(counts, "different:", bad)


if __name__ == "__main__":
    words = sys.argv[1:]
    dtypes = [word for word in words if word in ("float64", "complex128")] or ["float64"]
    names = [word for word in words if word not in dtypes]
    for dtype in dtypes:
        report(dtype, lambda name: not names or any(name == n or name.startswith(n + ".") for n in names))
