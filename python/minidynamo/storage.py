"""The memory of tensors, by torch's names: its address and size. Elements are those of tensors.

A storage here is what tensor.untyped_storage() gives; memory is made, resized and shared by tensors.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, NoReturn

import minidynamo

from . import _C
from ._C import Tensor
from ._missing_names import explain_missing as _explain_missing

__all__ = ["TypedStorage", "UntypedStorage"]

_INSTEAD = "minidynamo's storages tell where the memory of a tensor is: make a tensor instead"


class _StorageBase:
    """Of a tensor, which it keeps alive: its memory, or some bytes of it."""

    _tensor: Tensor
    _first: int
    _nbytes: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}: {_INSTEAD}")

    @classmethod
    def _of(cls, tensor: Tensor, first: int = 0, nbytes: int | None = None) -> Any:
        """first, nbytes: of the tensor's memory; None is all of it."""
        made = cls.__new__(cls)
        made._tensor = tensor.detach()
        made._first = first
        made._nbytes = _C._storage_of(tensor)[1] if nbytes is None else nbytes
        return made

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return _C._storage_of(self._tensor)[0] + self._first

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._nbytes

    def element_size(self) -> int:
        return 1

    def size(self) -> int:
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    __len__ = size

    @property
    def device(self) -> Any:
        return self._tensor.device

    def get_device(self) -> int:
        """-1: the CPU."""
        return -1

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def is_shared(self) -> bool:
        """Whether other processes have the memory."""
        return self._tensor.is_shared()

    def share_memory_(self) -> NoReturn:
        """NotImplementedError: memory is shared with other processes through multiprocessing.shared_memory alone."""
        raise NotImplementedError("minidynamo has no memory that is shared between processes")

    def resize_(self, size: int) -> NoReturn:
        """NotImplementedError."""
        raise NotImplementedError(f"resize_(): {_INSTEAD}")

    def _whole(self, dtype: Any) -> Tensor:
        size = self._tensor.element_size()
        whole = self._tensor.as_strided((_C._storage_of(self._tensor)[1] // size,), (1,), 0)
        return whole.view(minidynamo.uint8)[self._first : self._first + self._nbytes].view(dtype)

    def tolist(self) -> list[Any]:
        """Its elements."""
        return self._elements().tolist()

    def _elements(self) -> Tensor:
        return self._whole(minidynamo.uint8)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self._elements()[index].item()
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        size = self.element_size()
        return type(self)._of(self._tensor, self._first + start * size, max(stop - start, 0) * size)

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _StorageBase) and self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    @property
    def _cdata(self) -> int:
        return self.data_ptr()


def _bytes_of_file(filename: str, shared: bool, nbytes: int) -> Tensor:
    if shared:
        with open(filename, "ab+") as grown:
            if os.fstat(grown.fileno()).st_size < nbytes:
                grown.truncate(nbytes)
            return minidynamo.frombuffer(mmap.mmap(grown.fileno(), nbytes), dtype=minidynamo.uint8)
    try:
        file = open(filename, "rb")
    except OSError as error:
        what = f"unable to open file <{filename}> in read-only mode: {error.strerror} ({error.errno})"
        raise RuntimeError(what) from None
    with file:
        size = os.fstat(file.fileno()).st_size
        if size < nbytes:
            raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        kept = mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_COPY)
        return minidynamo.frombuffer(kept, dtype=minidynamo.uint8)


class UntypedStorage(_StorageBase):
    """The bytes that a tensor is a view of."""

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first nbytes bytes of a file as memory.

        shared  what is written goes to the file, which is made as long as that; else it stays in this process

        RuntimeError where the file cannot be read or is shorter.
        """
        if nbytes < 0:
            raise RuntimeError(f"unable to mmap {nbytes} bytes from file <{filename}>: Cannot allocate memory (12)")
        empty = minidynamo.empty(0, dtype=minidynamo.uint8)
        found: UntypedStorage = cls._of(_bytes_of_file(os.fspath(filename), shared, nbytes) if nbytes else empty)
        return found

    def untyped(self) -> UntypedStorage:
        return self

    def __repr__(self) -> str:
        return f"minidynamo.UntypedStorage(device={self.device}) of size {self.nbytes()}"


class TypedStorage(_StorageBase):
    """The elements that a tensor is a view of, in its dtype."""

    @property
    def dtype(self) -> Any:
        return self._tensor.dtype

    def element_size(self) -> int:
        return self._tensor.element_size()

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return UntypedStorage._of(self._tensor)

    _untyped_storage = property(untyped)

    def _elements(self) -> Tensor:
        return self._whole(self.dtype)

    def pickle_storage_type(self) -> str:
        """The name of the class that older files have for the dtype: FloatStorage."""
        return str(self.dtype._row["torch"]).replace("Tensor", "Storage")

    def __repr__(self) -> str:
        return f"minidynamo.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}"


class _LegacyStorage:
    """FloatStorage and its like: isinstance() tests for a storage of a dtype; nothing is made by it."""

    __slots__ = ("__name__", "dtype")

    def __init__(self, name: str, dtype: Any) -> None:
        self.__name__ = name
        self.dtype = dtype

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, TypedStorage) and value.dtype is self.dtype

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{self.__name__}: {_INSTEAD}")

    def from_buffer(self, buffer: Any, byte_order: str = "native", **kwargs: Any) -> Any:
        """The storage of a tensor over a copy of the buffer."""
        return TypedStorage._of(minidynamo.frombuffer(bytearray(buffer), dtype=self.dtype))

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


BFloat16Storage = _LegacyStorage("BFloat16Storage", minidynamo.bfloat16)
BoolStorage = _LegacyStorage("BoolStorage", minidynamo.bool)
ByteStorage = _LegacyStorage("ByteStorage", minidynamo.uint8)
CharStorage = _LegacyStorage("CharStorage", minidynamo.int8)
ComplexDoubleStorage = _LegacyStorage("ComplexDoubleStorage", minidynamo.complex128)
ComplexFloatStorage = _LegacyStorage("ComplexFloatStorage", minidynamo.complex64)
DoubleStorage = _LegacyStorage("DoubleStorage", minidynamo.float64)
FloatStorage = _LegacyStorage("FloatStorage", minidynamo.float32)
HalfStorage = _LegacyStorage("HalfStorage", minidynamo.float16)
IntStorage = _LegacyStorage("IntStorage", minidynamo.int32)
LongStorage = _LegacyStorage("LongStorage", minidynamo.int64)
ShortStorage = _LegacyStorage("ShortStorage", minidynamo.int16)

_explain_missing(__name__)
