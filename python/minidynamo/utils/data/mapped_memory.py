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

import minidynamo

from ... import _C

# Blocks begin at multiples of it: a cache line.
ALIGNMENT = 64


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


def map_file(descriptor: int) -> memoryview:
    """The bytes of a file, writable; unmapped when no view of them is left. The descriptor may be closed."""
    return memoryview(mmap.mmap(descriptor, 0))


def tensor_of(block: memoryview, dtype: _C.dtype, shape: tuple[int, ...]) -> _C.Tensor:
    """A contiguous tensor with the elements of a writable block, in memory of its own.

    A deleter in Python would run where an interrupt may be raised.
    """
    tensor = minidynamo.empty(shape, dtype=dtype)
    if block.nbytes > 0:
        ctypes.memmove(tensor.data_ptr(), (ctypes.c_char * block.nbytes).from_buffer(block), block.nbytes)
    return tensor
