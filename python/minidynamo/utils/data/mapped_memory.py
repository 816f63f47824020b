"""Anonymous files as memory: what worker processes send without a copy, a name or anything left behind.

A file has no name and is gone with its last descriptor and mapping, whatever process dies first.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
from collections.abc import Sequence
from typing import Any

from ... import _C

# Blocks begin at multiples of it: a cache line.
ALIGNMENT = 64

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


def block_places(sizes: list[int]) -> list[int]:
    """Where blocks of these sizes begin, one behind the other, and where the last one ends."""
    return list(itertools.accumulate((-(-size // ALIGNMENT) * ALIGNMENT for size in sizes), initial=0))


def write_file(blocks: Sequence[Any]) -> tuple[int, list[int]]:
    """A new anonymous file with these blocks of bytes: its descriptor, and where each block begins."""
    *places, size = block_places([block.nbytes for block in blocks])
    descriptor = os.memfd_create("minidynamo", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)
        for place, block in zip(places, blocks):
            done = 0
            while done < block.nbytes:
                done += os.pwrite(descriptor, block[done:], place + done)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, places


class _Mapping:
    """A mapped file; mmap.mmap would keep a descriptor for each."""

    def __init__(self, descriptor: int) -> None:
        self.size = os.fstat(descriptor).st_size
        address = _libc.mmap(None, self.size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
        if address == _FAILED:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self.address = address

    def __del__(self, unmap: Any = _libc.munmap) -> None:
        if hasattr(self, "address"):
            unmap(self.address, self.size)


def map_file(descriptor: int) -> memoryview:
    """The bytes of a file, writable; unmapped when no view of them is left. The descriptor may be closed."""
    mapping = _Mapping(descriptor)
    array: Any = (ctypes.c_char * mapping.size).from_address(mapping.address)
    array.mapping = mapping
    return memoryview(array).cast("B")


class _Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = [("array", _Array), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


# What tensors stand on, by the address of their DLManagedTensor.
_held: dict[int, Any] = {}


def _release(address: int, held: Any = _held) -> None:
    held.pop(address, None)


_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_release)
# Tensors may outlive this module at the interpreter's end: the function is never freed.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_deleter))
_DELETER = ctypes.cast(_deleter, ctypes.c_void_p).value

_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
_CPU = 1


def type_code(dtype: _C.dtype) -> int | None:
    """DLPack's code for the kind of a dtype; None for a dtype that does not travel this way."""
    return _CODES.get(str(dtype).rpartition(".")[2].rstrip("0123456789"))


class _Producer:
    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0


def tensor_over(block: memoryview, dtype: _C.dtype, shape: tuple[int, ...]) -> _C.Tensor:
    """A contiguous tensor in the memory of a writable block, which it keeps alive."""
    base = (ctypes.c_char * block.nbytes).from_buffer(block)
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    managed = _Managed()
    array = managed.array
    array.data = ctypes.addressof(base)
    array.device_type = _CPU
    array.ndim = len(shape)
    array.type_code = type_code(dtype)
    array.bits = dtype.itemsize * 8
    array.lanes = 1
    array.shape = ctypes.addressof(sizes)
    managed.deleter = _DELETER
    address = ctypes.addressof(managed)
    _held[address] = (managed, sizes, base)
    try:
        return _C.from_dlpack(_Producer(_capsule(address, b"dltensor", None)))
    except BaseException:
        _held.pop(address, None)
        raise
