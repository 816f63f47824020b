"""Calls of torch's operator database translated to minidynamo: names, arguments, tensors and results.

An entry of the database calls torch through functions, methods, partials and lambdas. `translated` builds the same callable
over minidynamo, so that both libraries receive the same call.
"""

import contextlib
import functools
import inspect
import types

import torch

import minidynamo as md

DTYPES = ("float32", "float64", "int64", "bool", "uint8", "int8", "int16", "int32", "bfloat16", "float16")
# Of samples' further tensors and of results.
HELD = (*DTYPES, "complex64", "complex128")


class Missing(Exception):
    """minidynamo has no such name."""


def names_of_torch():
    owners = {
        "": torch,
        "nn.functional": torch.nn.functional,
        "linalg": torch.linalg,
        "special": torch.special,
        "fft": torch.fft,
        "signal.windows": torch.signal.windows,
        "masked": torch.masked,
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
    made = types.FunctionType(function.__code__, there, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def unseeded(function):
    """The same without the database's own seed."""
    if isinstance(function, types.FunctionType) and function.__module__.startswith("torch.testing."):
        return with_globals(function, wrapper_set_seed=call)
    return function


def translated(function):
    if getattr(function, "__module__", None) == "_operator":
        return function
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


COMPLEX = ("complex64", "complex128")


def dtype_not_here(value, dtypes=HELD):
    """A dtype or layout in a value that minidynamo does not have, or that is not compared; "" if none."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return str(value.layout).removeprefix("torch.")
        if value.is_conj() or value.is_neg():
            return "conjugate view"
        return dtype_not_here(value.dtype, dtypes)
    if isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        return "" if name in dtypes else name
    if isinstance(value, complex) and not set(COMPLEX) <= set(dtypes):
        return "complex number"
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next((found for part in value if (found := dtype_not_here(part, dtypes))), "")
    return ""


def copied(tensor):
    """The same elements with the same layout, in memory that no other tensor shares."""
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
    if isinstance(value, torch.memory_format):
        return of_minidynamo(str(value).removeprefix("torch."))
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
    if isinstance(value, torch.nn.Module):  # made without arguments
        return getattr(md.nn, type(value).__name__)()
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


def copy_of(value):
    if isinstance(value, torch.Tensor):
        return copied(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields") and not isinstance(value, torch.Size):
        return type(value)([copy_of(part) for part in value])
    if isinstance(value, dict):
        return {name: copy_of(part) for name, part in value.items()}
    return value
