"""Tensors from other objects, and questions about tensors, written over what the extension has."""

from __future__ import annotations

import os

from .. import _C
from .dtype_info import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def asarray(
    obj: Any,
    *,
    dtype: _C.dtype | None = None,
    device: _C.device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> _C.Tensor:
    """The tensor of a tensor, a storage, an array or data: sharing memory where that can be, always a copy with
    copy=True.

    ValueError with copy=False where memory cannot be shared.
    """
    if hasattr(type(obj), "_elements"):  # a storage
        obj = obj._elements()
    shares = isinstance(obj, _C.Tensor) or hasattr(obj, "__array_interface__") or hasattr(obj, "__dlpack__")
    result = _C.as_tensor(obj, dtype=dtype, device=device)
    if copy is False and not (shares and (dtype is None or _C.as_tensor(obj).dtype is dtype)):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if copy:
        result = result.detach().clone()
    elif isinstance(obj, _C.Tensor) and not requires_grad:
        result = result.detach()
    return result.requires_grad_() if requires_grad else result


def scalar_tensor(
    s: float, *, dtype: _C.dtype | None = None, device: _C.device | str | None = None, requires_grad: bool = False
) -> _C.Tensor:
    """A number as a tensor without dims, of the default dtype where none is given."""
    if not isinstance(s, (int, float)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    dtype = _C.get_default_dtype() if dtype is None else dtype
    return _C.tensor(s, dtype=dtype, device=device, requires_grad=requires_grad)


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: _C.dtype | None = None,
    device: _C.device | str | None = None,
    requires_grad: bool = False,
) -> _C.Tensor:
    """A tensor of the sizes and strides; its elements are not set."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    last = 0 if 0 in size else 1 + sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    memory = _C._op_functions["empty"]((last,), dtype=dtype, device=device)
    result: _C.Tensor = memory.as_strided(tuple(size), tuple(stride))
    return result.requires_grad_() if requires_grad else result


def frombuffer(
    buffer: Any, *, dtype: _C.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> _C.Tensor:
    """The elements in the memory of a buffer, shared with it: `count` of them, or all, from byte `offset` on.

    TypeError for float16 and bfloat16, which memoryview does not know.
    """
    if dtype not in _FORMATS:
        raise TypeError(f"frombuffer(): {dtype} has no format of Python's buffers; read it as an integer dtype")
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length = _checked_length(len(view), dtype.itemsize, count, offset)
    part: Any = view[offset : offset + length]
    elements: _C.Tensor = _C.as_tensor(part.cast(_FORMATS[dtype]))
    return elements.requires_grad_() if requires_grad else elements


_FORMATS = {
    _C._dtypes[name]: form
    for name, form in zip(
        ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"),
        "?BbhHiIqQfd",
        strict=True,
    )
}


def _checked_length(total: int, itemsize: int, count: int, offset: int) -> int:
    """The bytes that are read."""
    if total == 0 or count == 0:
        raise ValueError(f"both buffer length ({total}) and count ({count}) must not be 0")
    if not 0 <= offset < total:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({total} bytes) minus 1"
        )
    if count < 0 and (total - offset) % itemsize != 0:
        raise ValueError(
            f"buffer length ({total - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({itemsize})"
        )
    if count > 0 and offset + count * itemsize > total:
        raise ValueError(
            f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({total} bytes)"
        )
    return total - offset if count < 0 else count * itemsize


def can_cast(from_: _C.dtype, to: _C.dtype) -> bool:
    """Whether promotion allows it: to the same kind of number or a wider one, of bool, integers, floats and complex
    numbers."""
    return kind_of(from_) <= kind_of(to)


def is_nonzero(input: _C.Tensor) -> bool:
    """Whether the only element is not 0. RuntimeError for other numbers of elements."""
    return bool(input)


def is_same_size(input: _C.Tensor, other: _C.Tensor) -> bool:
    """Whether two tensors have the same sizes."""
    return input.shape == other.shape


def is_storage(obj: object) -> bool:
    """False: there are no storage objects."""
    return False


def typename(obj: object) -> str:
    """The name of a tensor's type, as "torch.FloatTensor", or of another object's."""
    if isinstance(obj, _C.Tensor):
        return f"torch.{obj.dtype._row['torch']}"
    module = getattr(obj, "__module__", "") or ""
    name = getattr(obj, "__qualname__", "")
    if not name:
        module, name = getattr(type(obj), "__module__", "") or "", type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


def _assert(condition: Any, message: str) -> None:
    """AssertionError with the message unless the condition is true."""
    if not condition:
        raise AssertionError(message)


def _assert_async(
    input: _C.Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """RuntimeError with the message unless the one element of the tensor is nonzero."""
    if not isinstance(input, _C.Tensor):
        kind = type(input).__name__
        raise TypeError(f"_assert_async(): argument 'input' (position 1) must be Tensor, not {kind}")
    if not input:
        raise RuntimeError(assert_msg)


def seed() -> int:
    """Seeds the generator with a number from the system, and returns that."""
    number = int.from_bytes(os.urandom(8), "little") >> 1
    _C.manual_seed(number)
    return number


CREATION = {
    each.__name__: each
    for each in (
        _assert,
        _assert_async,
        asarray,
        can_cast,
        empty_strided,
        frombuffer,
        is_nonzero,
        is_same_size,
        is_storage,
        scalar_tensor,
        seed,
        typename,
    )
}
