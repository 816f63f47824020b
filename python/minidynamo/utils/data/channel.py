"""Messages between a DataLoader and a worker process: pickles over a socket, large blocks of memory in files.

Tensors and NumPy's arrays of INLINE bytes and more are one anonymous file per message, which the receiver maps.
"""

from __future__ import annotations

import array
import ctypes
import errno
import io
import os
import pickle
import socket
import struct
import time
import weakref
from collections.abc import Callable
from typing import Any

from ... import _C
from .mapped_memory import block_places, map_file, tensor_of, write_file

# Smaller blocks are part of the pickle.
INLINE = 1024
# Longer pickles go into the file: several messages fit into a socket's buffer.
_LONGEST = 8192
# Seconds.
_PAUSE = 0.01
_SHORT, _LONG = b"s", b"l"
# Of the last blocks of a file: the place and size of the pickle, the place of the table of the blocks before it, and
# their number. Of each block the table has its size, and 1 for the elements of a tensor, else 0.
_PLACES = struct.Struct("=QQQQ")

# The DataLoader's ends, which a forked worker inherits and must close: else an end of the process is not noticed.
_outer_ends: weakref.WeakSet[Channel] = weakref.WeakSet()


def _tensor_of_pickled(block: Any, dtype: str, shape: tuple[int, ...], requires_grad: bool) -> _C.Tensor:
    tensor = tensor_of(memoryview(block), _C._dtypes[dtype], shape)
    return tensor.requires_grad_() if requires_grad else tensor


class _Pickler(pickle.Pickler):
    """Keeps large blocks of memory apart from the pickle."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5, buffer_callback=self._keep)
        self.blocks: list[memoryview] = []
        self.is_tensor: list[bool] = []
        self._elements: pickle.PickleBuffer | None = None
        self._kept: list[_C.Tensor] = []  # whose memory blocks are

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        block = buffer.raw()
        if block.nbytes < INLINE:
            return True
        self.blocks.append(block)
        self.is_tensor.append(buffer is self._elements)
        return False

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is not _C.Tensor or obj.nbytes < INLINE:
            return NotImplemented
        plain = obj.detach().contiguous()
        block: Any = plain
        if obj.dtype is _C._dtypes["bfloat16"]:  # no format of buffers is its own
            block = (ctypes.c_char * plain.nbytes).from_address(plain.data_ptr())
            self._kept.append(plain)
        self._elements = pickle.PickleBuffer(block)
        name = str(obj.dtype).rpartition(".")[2]
        return _tensor_of_pickled, (self._elements, name, tuple(obj.shape), obj.requires_grad)


class Packed:
    """A message as bytes, and the descriptor of the file that goes with it."""

    def __init__(self, message: Any) -> None:
        self.descriptor: int | None = None
        file = io.BytesIO()
        pickler = _Pickler(file)
        pickler.dump(message)
        blocks, data = pickler.blocks, file.getbuffer()
        if not blocks and data.nbytes <= _LONGEST:
            self.data = _SHORT + data
            return
        table = array.array("Q")
        for block, is_tensor in zip(blocks, pickler.is_tensor):
            table.extend((block.nbytes, is_tensor))
        self.descriptor, places = write_file([*blocks, data, memoryview(table).cast("B")])
        self.data = _LONG + _PLACES.pack(places[-2], data.nbytes, places[-1], len(blocks))

    # At the end of the interpreter the names of this module are gone.
    def close(self, _close: Callable[[int], None] = os.close) -> None:
        """Closes the file, once."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            _close(descriptor)

    __del__ = close


class Channel:
    """One end of a connection. Each message arrives whole; the end of the other process is an EOFError."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def send(self, packed: Packed, wait: bool = True) -> bool:
        """False where it would have to wait and must not."""
        descriptors = [] if packed.descriptor is None else [packed.descriptor]
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        while True:
            try:
                self._end.sendmsg([packed.data], rights, 0 if wait else socket.MSG_DONTWAIT)
                packed.close()
                return True
            except ConnectionError:
                raise EOFError from None
            except OSError as error:
                if not wait and error.errno in (errno.EAGAIN, errno.ETOOMANYREFS):
                    return False
                if error.errno != errno.ETOOMANYREFS:
                    raise
                time.sleep(_PAUSE)  # until the receiver has taken some of the descriptors that are under way

    def receive(self) -> Any:
        """The next message; waits for it."""
        room = socket.CMSG_SPACE(struct.calcsize("i"))
        try:
            data, rights, flags, _ = self._end.recvmsg(_LONGEST + 1, room, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            raise EOFError from None
        if not data:
            raise EOFError
        if data[:1] == _SHORT:
            return pickle.loads(memoryview(data)[1:])
        if not rights or flags & socket.MSG_CTRUNC:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. "
                "Please increase the limit using `ulimit -n` in the shell"
            )
        (descriptor,) = array.array("i", rights[0][2])
        try:
            view = map_file(descriptor)
        finally:
            os.close(descriptor)
        return _unpack(view, data)

    def end(self) -> None:
        """Ends the connection for all processes that hold this end."""
        try:
            self._end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._end.close()

    def close(self) -> None:
        """Closes it in this process alone."""
        self._end.close()


def _unpack(view: memoryview, data: bytes) -> Any:
    place, size, table, count = _PLACES.unpack_from(data, 1)
    words = view[table : table + 16 * count].cast("Q").tolist()
    sizes, are_tensors = words[::2], words[1::2]
    # Nothing that a program holds keeps the mapping, or its descriptor: tensors copy their elements, of others there is
    # a copy.
    blocks: list[Any] = [view[start : start + length] for start, length in zip(block_places(sizes), sizes)]
    for at, is_tensor in enumerate(are_tensors):
        blocks[at] = blocks[at] if is_tensor else bytearray(blocks[at])
    return pickle.loads(view[place : place + size], buffers=blocks)


def channel_pair() -> tuple[Channel, Channel]:
    """The DataLoader's end and the worker's."""
    outer, inner = (Channel(each) for each in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    _outer_ends.add(outer)
    return outer, inner


def close_outer_ends() -> None:
    """In a new worker: closes the inherited ends of the DataLoaders of its parent process."""
    for each in list(_outer_ends):
        each.close()
