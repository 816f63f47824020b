"""A program of several calls beside the same program compiled: all that it leaves behind, call by call."""

import contextlib
import io
import random
import warnings

import torch
import torch.utils._pytree as pytree
from program_table import Programs

import minidynamo

PROGRAMS = Programs()
program = PROGRAMS.add
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 3e-2, torch.float64: 3e-6, torch.complex128: 3e-6}
PLAIN_TYPES = (int, float, str, bool, bytes, type(None), complex, torch.dtype, torch.device)
# Of the arguments: as they are, as leaves that require grad, without recording.
MODES = ("plain", "grad", "no_grad")


def parts_of(value, seen=None):
    """The tensors and plain values in it, in order, and the types of what they lie in."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor) or isinstance(value, PLAIN_TYPES):
        yield value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    yield type(value).__name__
    if isinstance(value, dict):
        inside = [each for item in value.items() for each in item]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = list(value)
    elif isinstance(value, torch.nn.Module):
        inside = [each for item in value.state_dict(keep_vars=True).items() for each in item]
    elif isinstance(value, torch.optim.Optimizer):
        inside = [value.state_dict()]
    elif isinstance(value, BaseException):
        inside = [str(value)]
    else:
        inside = [vars(value)] if hasattr(value, "__dict__") else []
    for each in inside:
        yield from parts_of(each, seen)


def storage_of(tensor):
    is_held = isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.numel()
    return tensor.untyped_storage()._cdata if is_held else None


def facts_of(tensor, given, others):
    """What a program can see of a tensor but its elements."""
    storage = storage_of(tensor)
    strides = (
        zip(tensor.shape, tensor.stride(), strict=True) if tensor.layout == torch.strided and tensor.numel() else ()
    )
    return {
        "type": type(tensor),
        "dtype": tensor.dtype,
        "sizes": tuple(tensor.shape),
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "strides": [stride for size, stride in strides if size != 1],
        "argument": [at for at, other in enumerate(given) if other is tensor],
        "base": [at for at, other in enumerate(given) if tensor._base is other],
        "memory of": [at for at, other in enumerate(given) if storage and storage_of(other) == storage],
        "memory with": [at for at, other in enumerate(others) if storage and storage_of(other) == storage],
        "same as": [at for at, other in enumerate(others) if other is tensor],
    }


def copy_of(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def seen_of(value, given):
    parts = list(parts_of(value))
    rows = []
    for part in parts:
        is_tensor = isinstance(part, torch.Tensor)
        gradient = copy_of(part.grad) if is_tensor and part.is_leaf else None
        rows.append((facts_of(part, given, parts) if is_tensor else None, copy_of(part), gradient))
    return rows


def tensors_in(value):
    return [part for part in parts_of(value) if isinstance(part, torch.Tensor)]


def go_back(result):
    """Back through all results with a history; the exception that it raises."""
    total = 0
    for tensor in tensors_in(result):
        if tensor.grad_fn is None or tensor.layout != torch.strided:
            continue
        real = tensor.abs() if tensor.is_complex() else tensor
        weights = torch.linspace(0.5, 1.5, real.numel() or 1).to(real.dtype)[: real.numel()]
        total = total + (real * weights.view(real.shape)).sum().double()
    if not isinstance(total, torch.Tensor):
        return None
    try:
        total.backward()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def told(caught):
    """Warnings but those that the library gives once in a process."""
    own = [each for each in caught if each.category is not DeprecationWarning]
    return sorted({str(each.message) for each in own if "Triggered internally" not in str(each.message)})


def seed(number):
    torch.manual_seed(number)
    random.seed(number)


def call_once(function, arguments, state, goes_back):
    given = tensors_in(arguments) + tensors_in(state)
    text, result, error = io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(text):
        warnings.simplefilter("default")
        try:
            result = function(*arguments)
        except Exception as raised:
            error = type(raised).__name__, str(raised), type(raised.__cause__), type(raised.__context__)
        seen = {"error": error, "text": text.getvalue(), "warnings": told(caught)}
        seen["result"] = seen_of(result, given)
        seen["arguments"] = seen_of(arguments, given)
        seen["state"] = seen_of(state, given)
        seen["versions"] = [None if each.is_inference() else each._version for each in given]
        if goes_back:
            seen["error of backward"] = go_back(result)
            seen["arguments after backward"] = seen_of(arguments, given)
            seen["state after backward"] = seen_of(state, given)
    seen["next number"] = torch.rand(()).item()
    return seen


def prepared(value, mode):
    def prepare(part):
        is_plain = type(part) is torch.Tensor and part.is_floating_point() and part.layout == torch.strided
        return part.detach().clone().requires_grad_() if mode == "grad" and is_plain else part

    return pytree.tree_map(prepare, value)


def calls_of(name, mode, compiles):
    seed(0)
    function, calls, *state = PROGRAMS[name]()
    if compiles:
        function = minidynamo.compile(function)
    found = []
    for number, call in enumerate(calls):
        seed(10 + number)
        arguments = prepared(call() if callable(call) else call, mode)
        seed(100 + number)
        with torch.no_grad() if mode == "no_grad" else contextlib.nullcontext():
            found.append(call_once(function, arguments, state, mode != "no_grad"))
    return found


def are_close(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= 3e-5 * max(1, abs(other)) or (one != one and other != other)
    if type(one) is not type(other) or not isinstance(other, torch.Tensor):
        return type(one) is type(other) and one == other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if other.layout != torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if not other.is_floating_point() and not other.is_complex():
        return torch.equal(one, other)
    tolerance = TOLERANCES.get(other.dtype, 3e-5)
    largest = float(other.abs().nan_to_num(0, 0, 0).max()) if other.numel() else 1.0
    return torch.allclose(one, other, rtol=tolerance, atol=tolerance * max(1.0, largest), equal_nan=True)


def differences_of_parts(ours, theirs):
    if len(ours) != len(theirs):
        yield f"{len(ours)} parts, plainly {len(theirs)}"
        return
    for at, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a[0] != b[0]:
            names = [name for name in b[0] or () if a[0] is None or a[0][name] != b[0][name]]
            yield f"part {at}: {', '.join(f'{name} {(a[0] or {}).get(name)}, plainly {b[0][name]}' for name in names)}"
        if not are_close(a[1], b[1]):
            yield f"part {at}: {a[1]!r}, plainly {b[1]!r}"
        if not are_close(a[2], b[2]):
            yield f"gradient of part {at}: {a[2]!r}, plainly {b[2]!r}"


def differences(name, mode):
    """What is another thing in the compiled program, by call."""
    theirs = calls_of(name, mode, False)
    minidynamo._dynamo.reset()
    ours = calls_of(name, mode, True)
    found = []
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        for key, value in other.items():
            is_list = isinstance(value, list) and value and isinstance(value[0], tuple)
            if is_list:
                found += [f"call {number}, {key}, {each}" for each in differences_of_parts(one[key], value)]
            elif one[key] != value:
                found.append(f"call {number}, {key}: {one[key]!r}, plainly {value!r}")
    return found
