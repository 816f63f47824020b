"""The table of composite operations, and checks of their arguments."""

from __future__ import annotations

import math
from types import SimpleNamespace

import minidynamo

from .. import _C
from .autocast import as_given, is_autocasting

# typing takes a while to import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .._C import Tensor

    _Function = TypeVar("_Function", bound=Callable[..., Any])

# The operations that are not exported themselves.
prims = SimpleNamespace(**_C._prims)

functions: dict[str, Callable[..., Any]] = {}
methods: dict[str, Callable[..., Any]] = {}


def composite(faces: str, *names: str) -> Callable[[_Function], _Function]:
    """Registers a function under its name without a trailing _of, and other names. faces: "function", "method"."""

    def enter(function: _Function) -> _Function:
        for name in (function.__name__.removesuffix("_of"), *names):
            if "function" in faces:
                functions[name] = function
            if "method" in faces:
                methods[name] = function
        return function

    return enter


def in_place(*names: str) -> Callable[[_Function], _Function]:
    """Registers the form of a function, under its name or the given ones, that writes into its first argument."""

    def enter(function: _Function) -> _Function:
        for name in names or (function.__name__.removesuffix("_of"),):
            methods[f"{name}_"] = _writing(function, name)
        return function

    return enter


def kept_from_write(input: Tensor) -> Tensor:
    """What a function that writes its result into `input` computes it from: a derivative may read that later."""
    return input.clone() if input.requires_grad and minidynamo.is_grad_enabled() else input


def _writing(function: Any, name: str) -> Callable[..., Any]:
    def write(input: Tensor, *args: Any, **keywords: Any) -> Tensor:
        if is_autocasting():
            return as_given(write, input, *args, **keywords)
        result = function(kept_from_write(input), *args, **keywords)
        if not minidynamo.can_cast(result.dtype, input.dtype):
            raise RuntimeError(
                f"[{name}_] result type {result.dtype} can't be cast to the desired output type {input.dtype}"
            )
        if result.shape != input.shape:
            raise RuntimeError(
                f"[{name}_] output with shape {list(input.shape)} doesn't match the broadcast shape"
                f" {list(result.shape)}"
            )
        return input.copy_(result)

    write.__name__ = write.__qualname__ = f"{name}_"
    write.__doc__ = f"The in-place form of {name}."
    return write


def is_inexact(tensor: Any) -> bool:
    """Whether the elements are floats or complex numbers."""
    return tensor.is_floating_point() or tensor.is_complex()


def as_floating(input: Any) -> Any:
    """A tensor of integers or bools in the default dtype."""
    return input if is_inexact(input) else input.to(minidynamo.get_default_dtype())


def widened(*tensors: Any) -> tuple[Any, ...]:
    """float32 for 16-bit tensors: several steps in their dtype would each round."""
    return tuple([tensor.float() if is_narrow(tensor) else tensor for tensor in tensors])


def is_narrow(tensor: Any) -> bool:
    """Whether the elements are 16-bit floats."""
    return tensor.dtype is _C._dtypes["float16"] or tensor.dtype is _C._dtypes["bfloat16"]


def fitted(number: float, dtype: Any) -> Any:
    """The number as a 0-d tensor of the dtype; RuntimeError if the dtype cannot hold it."""
    # The range of half types is only checked if more than one element is written.
    return _C._op_functions["full"]((2,), number, dtype=dtype)[0]


def require_held(dtype: Any, *numbers: float) -> None:
    """Raises RuntimeError for a finite number that overflows to infinity in a floating dtype."""
    if not dtype.is_floating_point or dtype.itemsize > 4:
        return
    info = minidynamo.finfo(dtype)
    name = "float" if dtype.itemsize == 4 else info.dtype
    for number in numbers:
        if math.isfinite(number) and abs(number) > info.max:
            raise RuntimeError(f"value cannot be converted to type {name} without overflow")


def type_of(value: Any) -> str:
    """A type's name for a message; for a tensor of another library also how to convert it."""
    cls = type(value)
    if not hasattr(cls, "__dlpack__"):
        return cls.__name__
    return f"{cls.__module__}.{cls.__qualname__}: minidynamo.from_dlpack() makes a minidynamo.Tensor of it"


def written(result: Any, out: Any) -> Any:
    """The result, or `out` that holds it: a tensor of the same dtype, or as many as there are results."""
    if out is None:
        return result
    if isinstance(result, _C.Tensor):
        return _C._op_functions["clone"](result, out=out)
    return type(result)(*[written(part, each) for part, each in zip(result, out)])


def require_tensor(op: str, value: Any, name: str = "input") -> None:
    """Raises TypeError unless the argument is a tensor."""
    if not isinstance(value, _C.Tensor):
        raise TypeError(f"{op}(): argument '{name}' must be Tensor, not {type_of(value)}")


def require_tensors(op: str, values: Any, name: str = "tensors") -> None:
    """Raises TypeError unless the argument is a list or a tuple of tensors."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{op}(): argument '{name}' must be tuple of Tensors, not {type(values).__name__}")
    for at, value in enumerate(values):
        if not isinstance(value, _C.Tensor):
            raise TypeError(f"{op}(): argument '{name}' must be tuple of Tensors, but element {at} is {type_of(value)}")


def require_real(op: str, *tensors: Any) -> None:
    """Raises NotImplementedError for a tensor of complex numbers."""
    for tensor in tensors:
        if tensor.is_complex():
            raise NotImplementedError(f"[{op}] not implemented for complex numbers")


def require_data(condition: Any, message: str, error: type[Exception] = RuntimeError) -> None:
    """Raises the error unless the bool in a 0-d tensor is True: a check that stays in a captured graph."""
    if not _C._data_holds(condition):
        raise error(message)


def wrapped_dim(op: str, dim: Any, rank: int) -> int:
    """dim, counted from the end if negative; IndexError if out of range, TypeError unless it is an int."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"{op}(): argument 'dim' must be int, not {type(dim).__name__}")
    extent = rank if rank > 0 else 1
    if dim < -extent or dim >= extent:
        raise IndexError(
            f"[{op}] Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], but got {dim})"
        )
    return dim + extent if dim < 0 else dim


def sizes_of(op: str, sizes: tuple[Any, ...], name: str = "dims") -> tuple[int, ...]:
    """f(2, 3) and f((2, 3)) as a tuple of ints."""
    if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)):
        sizes = tuple(sizes[0])
    for at, size in enumerate(sizes):
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(
                f"{op}(): argument '{name}' must be tuple of ints, but element {at} is {type(size).__name__}"
            )
    return sizes
