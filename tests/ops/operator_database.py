"""torch's own operator database run on minidynamo: each operator that exists here, on each of torch's samples.

An entry of the database calls torch through functions, methods, partials and lambdas. `translated` makes the same callable
over minidynamo, so that both libraries are given the same call. `python operator_database.py [dtype ...]` prints all
differences.
"""

import contextlib
import functools
import inspect
import random
import sys
import types
import warnings

import torch
import torch.testing._internal.common_methods_invocations as invocations

import minidynamo as md

DTYPES = ("float32", "float64", "int64", "bool", "uint8", "int8", "int16", "int32", "bfloat16", "float16")
# Of the largest element of torch's result.
TOLERANCES = {"float64": 1e-10, "float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-3}
# What memory holds that nobody wrote.
UNDETERMINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_"}


class Missing(Exception):
    """minidynamo has no such name."""


def names_of_torch():
    owners = {
        "": torch,
        "nn.functional": torch.nn.functional,
        "linalg": torch.linalg,
        "special": torch.special,
        "fft": torch.fft,
        "Tensor": torch.Tensor,
    }
    found = {}
    for path, owner in owners.items():
        for name in dir(owner):
            with contextlib.suppress(Exception):
                value = inspect.getattr_static(owner, name) if owner is torch.Tensor else getattr(owner, name)
                if callable(value):
                    found.setdefault(id(value), (value, []))[1].append(f"{path}.{name}".lstrip("."))
    return found


NAMES = names_of_torch()


def of_minidynamo(path):
    value = md
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def named(function):
    _, paths = NAMES.get(id(function), (None, ()))
    found = [value for value in map(of_minidynamo, paths) if value is not None]
    if paths and not found:
        raise Missing(paths[0])
    return found[0] if found else None


def call(function, *args, **keywords):
    return function(*args, **keywords)


def with_globals(function, **changes):
    there = {**function.__globals__, **changes}
    return types.FunctionType(function.__code__, there, function.__name__, function.__defaults__, function.__closure__)


def unseeded(function):
    """The same without the database's own seed."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing."):
        return with_globals(function, wrapper_set_seed=call)
    return function


def translated(function):
    if isinstance(function, functools.partial):
        return functools.partial(translated(function.func), *function.args, **function.keywords)
    found = named(function)
    if found is not None:
        return found
    if isinstance(function, types.FunctionType):
        if function.__module__.startswith("torch.testing."):
            return with_globals(function, torch=md, F=md.nn.functional, wrapper_set_seed=call)
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            return translated(wrapped)
    raise Missing(getattr(function, "__qualname__", repr(function)))


def entries():
    """(identifier, OpInfo) of all operators."""
    return [(f"{op.name}.{op.variant_test_name}".rstrip("."), op) for op in invocations.op_db]


def is_known_dtype(dtype):
    return str(dtype).removeprefix("torch.") in DTYPES


def has_other_dtypes(value):
    if isinstance(value, torch.Tensor):
        return not is_known_dtype(value.dtype) or value.layout != torch.strided or value.is_conj() or value.is_neg()
    if isinstance(value, torch.dtype):
        return not is_known_dtype(value)
    if isinstance(value, complex):
        return True
    if isinstance(value, (list, tuple)):
        return any(has_other_dtypes(part) for part in value)
    if isinstance(value, dict):
        return any(has_other_dtypes(part) for part in value.values())
    return False


def copied(tensor):
    """The same elements at the same places of memory that nobody else has."""
    whole = tensor.untyped_storage().nbytes() // tensor.element_size()
    if whole == 0 or (tensor.is_contiguous() and tensor.numel() == whole):
        return tensor.detach().clone()
    memory = tensor.detach().as_strided((whole,), (1,), 0).clone()
    return memory.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def tensor_of_torch(tensor):
    whole = tensor.untyped_storage().nbytes() // tensor.element_size()
    if whole == 0 or (tensor.is_contiguous() and tensor.numel() == whole):
        return md.from_dlpack(tensor.detach().clone())
    memory = md.from_dlpack(tensor.detach().as_strided((whole,), (1,), 0).clone())
    return memory.as_strided(tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())


def converted(value):
    if isinstance(value, torch.Tensor):
        return tensor_of_torch(value)
    if isinstance(value, torch.dtype):
        return getattr(md, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return md.device(value.type)
    if isinstance(value, torch.Size):
        return md.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[converted(part) for part in value])
    if isinstance(value, (list, tuple)):
        return type(value)([converted(part) for part in value])
    if isinstance(value, dict):
        return {name: converted(part) for name, part in value.items()}
    if callable(value):
        found = named(value)
        return found if found is not None else value
    return value


def to_torch(tensor):
    return torch.from_dlpack(tensor.detach().contiguous() if 0 in tensor.stride() else tensor.detach())


def parts_of(result):
    if isinstance(result, dict):
        return [part for value in result.values() for part in parts_of(value)]
    if isinstance(result, (list, tuple)) and not isinstance(result, (torch.Size, md.Size)):
        return [part for value in result for part in parts_of(value)]
    return [result]


def difference_of_values(ours, theirs, dtype):
    if not theirs.is_floating_point():
        return "" if torch.equal(ours, theirs) else "values"
    ours, theirs = ours.double(), theirs.double()
    if not torch.equal(ours.isnan(), theirs.isnan()):
        return "NaN at other places"
    ours, theirs = ours.nan_to_num(0.0, torch.inf, -torch.inf), theirs.nan_to_num(0.0, torch.inf, -torch.inf)
    infinite = ours.isinf() | theirs.isinf()
    if not torch.equal(ours[infinite], theirs[infinite]):
        return "infinities"
    apart = (ours - theirs)[~infinite].abs()
    largest = theirs[~infinite].abs().max().item() if apart.numel() else 0.0
    error = apart.max().item() if apart.numel() else 0.0
    return "" if error <= TOLERANCES[dtype] * max(largest, 1e-30) else f"values, by {error:.3g} of {largest:.3g}"


def difference(ours, theirs, values=True):
    """What is unlike in two results; "": nothing."""
    ours, theirs = parts_of(ours), parts_of(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} results, torch gives {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, torch.Tensor):
            same = converted(b) == a or (a != a and b != b) if not isinstance(b, float) else abs(a - b) <= 1e-6 * abs(b)
            if not same:
                return f"{a!r}, torch gives {b!r}"
            continue
        if not isinstance(a, md.Tensor):
            return f"a {type(a).__name__}, torch gives a tensor"
        dtype = str(b.dtype).removeprefix("torch.")
        if str(a.dtype).rpartition(".")[2] != dtype:
            return f"{a.dtype}, torch gives {dtype}"
        if tuple(a.shape) != tuple(b.shape):
            return f"sizes {tuple(a.shape)}, torch gives {tuple(b.shape)}"
        if values:
            found = difference_of_values(to_torch(a), b.detach().resolve_conj(), dtype)
            if found:
                return found
    return ""


def seed(number):
    torch.manual_seed(number)
    md.manual_seed(number)
    random.seed(number)


def outcome(call, *args, **keywords):
    seed(1)
    try:
        return call(*args, **keywords), None
    except Missing:
        raise
    except (AttributeError, ImportError) as error:
        if "minidynamo" in str(error) or "Tensor" in str(error):
            raise Missing(str(error)) from None
        return None, error
    except Exception as error:
        return None, error


# Of equal elements any may be the one that an index names: (operator, which positional argument is its dim).
POSITIONS = {"sort": 0, "argsort": 0, "mode": 0, "topk": 1}


def names_equal_elements(name, sample, ours, theirs):
    """Whether two results differ in which of equal elements they name, and in nothing else."""
    given = sample.args[POSITIONS[name]] if len(sample.args) > POSITIONS[name] else sample.kwargs.get("dim", -1)
    if sample.input.dim() == 0 or not isinstance(given, int) or isinstance(given, bool):
        return False
    ours, theirs = [to_torch(part) for part in parts_of(ours)], parts_of(theirs)
    if any(not torch.equal(a, b) for a, b in zip(ours[:-1], theirs[:-1], strict=True)):
        return False
    a, b = ours[-1], theirs[-1]
    if a.dim() < sample.input.dim():
        a, b = a.unsqueeze(given), b.unsqueeze(given)
    return torch.equal(sample.input.take_along_dim(a, given), sample.input.take_along_dim(b, given))


def is_absent(error):
    """The dtype has no such operator here: it says so."""
    return isinstance(error, NotImplementedError) and "not implemented for '" in str(error)


def takes_memory_format(sample):
    """minidynamo has no memory formats."""
    return any(isinstance(value, torch.memory_format) for value in [*sample.args, *sample.kwargs.values()])


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


def copy_of(value):
    if isinstance(value, torch.Tensor):
        return copied(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)([copy_of(part) for part in value])
    if isinstance(value, dict):
        return {name: copy_of(part) for name, part in value.items()}
    return value


def run_torch(function, sample):
    return outcome(function, copy_of(sample.input), *copy_of(list(sample.args)), **copy_of(sample.kwargs))


def is_random(op, sample):
    """Whether another seed gives other numbers."""
    runs = []
    for number in (1, 2):
        result, _ = run_torch(lambda *a, number=number, **k: (seed(number), unseeded(op)(*a, **k))[1], sample)
        runs.append([part for part in parts_of(result) if isinstance(part, torch.Tensor)])
    return any(not torch.equal(a.nan_to_num(0), b.nan_to_num(0)) for a, b in zip(*runs, strict=True))


def samples_of(op, dtype):
    seed(0)
    return op.sample_inputs("cpu", dtype, requires_grad=False)


def compared_samples(op, dtype, only):
    """The samples that `only` chooses, with their numbers; without dtypes or memory formats that are not here."""
    for number, sample in enumerate(samples_of(op, dtype)):
        if not only(number) or has_other_dtypes([sample.input, sample.args, sample.kwargs]):
            continue
        if not takes_memory_format(sample):
            yield number, sample


def differences(name, op, dtype_name, most=5, only=lambda number: True):
    """(samples compared, [what differs]) of one operator; Missing where minidynamo has none."""
    dtype = getattr(torch, dtype_name)
    if dtype not in op.dtypes:
        return 0, []
    call = translated(op.op)
    found, compared = [], 0
    for number, sample in compared_samples(op, dtype, only):
        ours_of = [converted(sample.input), converted(list(sample.args)), converted(sample.kwargs)]
        theirs, error = run_torch(op.op, sample)
        if error is not None or any(has_other_dtypes(part) for part in parts_of(theirs)):
            continue
        ours, error = outcome(call, ours_of[0], *ours_of[1], **ours_of[2])
        if error is not None and is_absent(error):
            continue
        compared += 1
        values = op.name not in UNDETERMINED and (error is not None or not is_random(op.op, sample))
        unlike = f"{type(error).__name__}: {error}" if error is not None else difference(ours, theirs, values)
        if unlike == "values" and name in POSITIONS and names_equal_elements(name, sample, ours, theirs):
            unlike = ""
        if unlike:
            found.append(f"{name} {dtype_name} #{number} ({shown(sample)}): {unlike}")
        if len(found) >= most:
            break
    return compared, found


def error_differences(name, op, most=5):
    """Of the calls that torch refuses: those that are not refused here, or by another class of exception."""
    if op.error_inputs_func is None:
        return 0, []
    call = translated(op.op)
    found, compared = [], 0
    seed(0)
    for refused in op.error_inputs("cpu"):
        sample = refused.sample_input
        if has_other_dtypes([sample.input, sample.args, sample.kwargs]):
            continue
        _, theirs = run_torch(op.op, sample)
        if theirs is None:
            continue
        compared += 1
        _, ours = outcome(call, converted(sample.input), *converted(list(sample.args)), **converted(sample.kwargs))
        alike = {type(ours), type(theirs)} <= {RuntimeError, NotImplementedError} or isinstance(ours, type(theirs))
        if ours is None or not alike:
            mine = "is taken" if ours is None else f"{type(ours).__name__}: {str(ours)[:120]}"
            found.append(f"{name} ({shown(sample)}): {mine}; torch: {type(theirs).__name__}: {str(theirs)[:120]}")
        if len(found) >= most:
            break
    return compared, found


def memory_of(tensor):
    """The first byte and the one behind the last; None: no elements."""
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
    """Of each result: its strides, the inputs whose memory it shares, those that it is, and whether it can be written."""
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


def layout_differences(name, op, dtype_name, most=5, strides=True, only=lambda number: True):
    """Where results share memory with inputs, lie, or can be written otherwise than torch's."""
    dtype = getattr(torch, dtype_name)
    if dtype not in op.dtypes:
        return 0, []
    here = translated(op.op)
    found, compared = [], 0
    for number, sample in compared_samples(op, dtype, only):
        given = [copy_of(sample.input), copy_of(list(sample.args)), copy_of(sample.kwargs)]
        ours_given = converted(given)
        theirs, error = outcome(op.op, given[0], *given[1], **given[2])
        ours, our_error = outcome(here, ours_given[0], *ours_given[1], **ours_given[2])
        if error is not None or our_error is not None or difference(ours, theirs, values=False):
            continue
        compared += 1
        a, b = layout(ours, ours_given, md.Tensor), layout(theirs, given, torch.Tensor)
        if not strides:
            a, b = [row[1:] for row in a], [row[1:] for row in b]
        if a != b:
            found.append(f"{name} {dtype_name} #{number} ({shown(sample)}): {a}, torch: {b}")
        if len(found) >= most:
            break
    return compared, found


WAYS = {
    "errors": error_differences,
    "aliases": lambda name, op: layout_differences(name, op, "float32", strides=False),
    "strides": lambda name, op: layout_differences(name, op, "float32"),
}


def report(dtypes, wanted=None):
    warnings.simplefilter("ignore")
    missing, different, right, samples = set(), {}, set(), 0
    for name, op in entries():
        if wanted is not None and not wanted(name):
            continue
        for dtype in dtypes:
            try:
                compared, found = WAYS.get(dtype, lambda name, op, dtype=dtype: differences(name, op, dtype))(name, op)
            except Missing as absent:
                missing.add(f"{name} ({absent})")
                break
            samples += compared
            if found:
                different.setdefault(name, []).extend(found)
                for line in found:
                    print("  " + line.replace("\n", " ")[:420], flush=True)
            elif compared:
                right.add(name)
    right -= set(different)
    print(f"{len(right)} right, {len(different)} different, {len(missing)} absent; {samples} samples")
    print("different:", sorted(different))
    print("absent:", sorted(missing))


if __name__ == "__main__":
    words = sys.argv[1:]
    dtypes = [word for word in words if word in (*DTYPES, *WAYS)] or DTYPES
    names = [word for word in words if word not in (*DTYPES, *WAYS)]
    report(dtypes, (lambda name: any(name == n or name.startswith(n + ".") for n in names)) if names else None)
