"""Storages of a checkpoint, and the tensors that are views of them, checked against the bytes of the file."""

from __future__ import annotations

import math
from pickle import UnpicklingError

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOST_DIMENSIONS = 64
_FLOATS = tuple(dtype for dtype in _C._dtypes.values() if dtype.is_floating_point)
# The formats of memoryview that share their memory with a tensor of a dtype.
_FORMATS = {
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
_BOOLS = bytes([0] + [1] * 255)


class StorageKind:
    """A storage class of torch: the dtype of its elements, None for bytes."""

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype = dtype
        self.item_size = 1 if dtype is None else dtype._row["size"]


class Storage:
    """The elements of a storage: bytes, or a mapped part of the file (then tensors share its memory if they can).

    Tensors over it that have one dtype share their memory.
    """

    def __init__(self, data: bytes | memoryview, dtype: Any, swapped: bool = False) -> None:
        self.dtype = dtype
        self._data = data
        self._swapped = swapped
        self._tensors: dict[Any, Any] = {}

    def nbytes(self) -> int:
        return len(self._data)

    def cpu(self) -> Storage:
        return self

    def cuda(self, *args: object, **options: object) -> Storage:
        """For functions given as map_location."""
        raise RuntimeError("minidynamo runs on the CPU only: there is no CUDA device")

    def elements(self, dtype: Any) -> Any:
        """All as a tensor of rank 1."""
        if dtype not in self._tensors:
            self._tensors[dtype] = self._read(dtype)
        return self._tensors[dtype]

    def _read(self, dtype: Any) -> Any:
        size = dtype._row["size"]
        count = len(self._data) // size
        data = self._data[: count * size]
        if isinstance(data, memoryview) and not self._swapped:
            name = str(dtype).rpartition(".")[2]
            if name in _FORMATS and count:
                return _C.as_tensor(data.cast(_FORMATS[name]))  # type: ignore[call-overload]  # one of its formats
        data = bytes(data)
        if self._swapped:
            data = swapped_bytes(data, size)
        if dtype is _C._dtypes["bool"]:
            data = data.translate(_BOOLS)
        return _C._rebuild_tensor(_C.Tensor, data, dtype, (count,), False, None)


class StoragePart:
    """Elements of a storage from an offset on: what a persistent id of the format before 1.6 may be."""

    def __init__(self, storage: Storage, offset: int) -> None:
        self.storage = storage
        self.offset = offset


def swapped_bytes(data: bytes, size: int) -> bytes:
    """Each element of `size` bytes in the other order."""
    if size == 1:
        return data
    swapped = bytearray(len(data))
    for index in range(size):
        swapped[index::size] = data[size - 1 - index :: size]
    return bytes(swapped)


# ---- what checkpoints call


def _view(storage: Any, offset: Any, size: Any, stride: Any, dtype: Any = None) -> Any:
    if isinstance(storage, StoragePart):
        offset = _whole(offset, "storage_offset") + storage.offset
        storage = storage.storage
    if not isinstance(storage, Storage):
        raise UnpicklingError(f"a tensor over a {type(storage).__name__}, not a storage")
    if dtype is None:
        dtype = storage.dtype
    elif type(dtype) is not _C.dtype:
        raise UnpicklingError(f"a {type(dtype).__name__} in place of a dtype")
    if dtype is None:
        raise UnpicklingError("a tensor over a storage without a dtype")
    offset = _whole(offset, "storage_offset")
    sizes, strides = _whole_numbers(size, "size"), _whole_numbers(stride, "stride")
    item = dtype._row["size"]
    if len(sizes) != len(strides):
        raise UnpicklingError(f"a tensor of {len(sizes)} sizes and {len(strides)} strides")
    if math.prod(max(1, each) for each in sizes) >= 2**63 // item:
        raise UnpicklingError(f"a tensor of size {list(sizes)} is too large")
    # How far the last element lies; nothing is read of an empty tensor.
    end = 0 if 0 in sizes else offset + 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
    if end * item > storage.nbytes():
        raise UnpicklingError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {end * item} are out of bounds for storage of size {storage.nbytes()}"
        )
    elements = storage.elements(dtype)
    if 0 in sizes:
        offset = min(offset, len(elements))
    return elements.as_strided(sizes, strides, offset)


def _whole_numbers(values: Any, name: str) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or len(values) > _MOST_DIMENSIONS:
        raise UnpicklingError(f"the {name} of a tensor is not a tuple of at most {_MOST_DIMENSIONS} numbers")
    return tuple(_whole(each, name) for each in values)


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise UnpicklingError(f"the {name} of a tensor has {str(value)[:40]}, not a number from 0")
    return value


def _requires_grad(tensor: Any, requires_grad: Any) -> Any:
    if type(requires_grad) is not bool:
        raise UnpicklingError(f"a {type(requires_grad).__name__} in place of requires_grad")
    if requires_grad and tensor.dtype not in _FLOATS:
        raise UnpicklingError(f"a tensor of {tensor.dtype} cannot require grad")
    return tensor.requires_grad_() if requires_grad else tensor


def _without_hooks(hooks: Any, metadata: Any = None) -> None:
    if hooks:
        raise UnpicklingError("backward hooks are code, which is not read")
    if metadata:
        raise UnpicklingError("conjugated and negated views are not supported")


def _rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Any:
    return _view(storage, offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Any:
    _without_hooks(hooks, metadata)
    return _requires_grad(_view(storage, offset, size, stride), requires_grad)


def _rebuild_tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, metadata: Any = None
) -> Any:
    _without_hooks(hooks, metadata)
    return _requires_grad(_view(storage, offset, size, stride, dtype), requires_grad)


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    from ..nn.parameter import Parameter

    _without_hooks(hooks)
    if not isinstance(data, _C.Tensor):
        raise UnpicklingError(f"a Parameter of a {type(data).__name__}")
    _requires_grad(data.detach(), requires_grad)
    return Parameter(data.detach(), requires_grad)


def _rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return _with_attributes(_rebuild_parameter(data, requires_grad, hooks), state)


def _rebuild_from_type_v2(function: Any, kind: Any, args: Any, state: Any) -> Any:
    if getattr(function, "name", None) not in FUNCTIONS or type(args) is not tuple:
        raise UnpicklingError("a tensor with attributes is not built from a tensor")
    if not isinstance(kind, TensorClass):
        raise UnpicklingError("subclasses of Tensor are not read")
    return _with_attributes(function.call(*args), state)


def _with_attributes(tensor: Any, state: Any) -> Any:
    """With the attributes of a dict, or of the dict in a (dict, slots) pair."""
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if slots or not (attributes is None or type(attributes) is dict):
        raise UnpicklingError("the attributes of a tensor are not a dict")
    for name, value in (attributes or {}).items():
        if type(name) is not str or hasattr(type(tensor), name):
            raise UnpicklingError(f"an attribute of a tensor would replace its {str(name)[:40]!r}")
        setattr(tensor, name, value)
    return tensor


class TensorClass:
    """A tensor class that a checkpoint names."""

    def __init__(self, name: str) -> None:
        self.name = name


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter_with_state,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
}


def _kinds() -> dict[str, object]:
    found: dict[str, object] = {"torch.storage.UntypedStorage": StorageKind("UntypedStorage", None)}
    found["torch.UntypedStorage"] = found["torch.storage.UntypedStorage"]
    for dtype in _C._dtypes.values():
        name = dtype._row["torch"].replace("Tensor", "Storage")
        for module in ("torch", "torch.cuda", "torch.storage"):
            found[f"{module}.{name}"] = StorageKind(name, dtype)
    for name in ("torch.Tensor", "torch._tensor.Tensor"):
        found[name] = TensorClass(name)
    return found


KINDS = _kinds()

_NOT_HERE = "tensors of {} are not supported"
# What torch's own checkpoints name and this library has not: why it is refused.
REFUSED = {
    "torch._utils._rebuild_sparse_tensor": "sparse tensors are not read; save tensor.to_dense()",
    "torch._utils._rebuild_sparse_csr_tensor": "sparse tensors are not read; save tensor.to_dense()",
    "torch.serialization._get_layout": "sparse tensors are not read; save tensor.to_dense()",
    "torch._utils._rebuild_qtensor": "quantized tensors are not read; save tensor.dequantize()",
    "torch._utils._rebuild_nested_tensor": "nested tensors are not read; save their list",
    "torch._utils._rebuild_meta_tensor_no_storage": "tensors of the meta device have no values",
    "torch._utils._rebuild_wrapper_subclass": "subclasses of Tensor are not read",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensors of other devices are not read; save tensor.cpu()",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": "tensors of other devices are not read; save tensor.cpu()",
}
for _name in (
    "complex32",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
):
    REFUSED[f"torch.{_name}"] = _NOT_HERE.format(_name)
for _name in ("float8_e8m0fnu", "float4_e2m1fn_x2", "qint8", "quint8", "qint32", "quint4x2", "quint2x4"):
    REFUSED[f"torch.{_name}"] = _NOT_HERE.format(_name)
for _name in ("QInt8", "QUInt8", "QInt32", "QUInt4x2", "QUInt2x4"):
    REFUSED[f"torch.{_name}Storage"] = _NOT_HERE.format(_name)
    REFUSED[f"torch.cuda.{_name}Storage"] = _NOT_HERE.format(_name)
