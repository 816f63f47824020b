"""Untrusted files: opened only if regular, and read only as far as they have been validated."""

from __future__ import annotations

import io
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Chunk size if the total size is unknown.
_PIECE = 1 << 24

_KINDS = (
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def open_regular(path: str | os.PathLike[str]) -> io.BufferedReader:
    """The file, open for reading; ValueError unless it is a regular file. For a directory open() raises."""
    _refuse(os.stat(path), path)
    # A file that has replaced it since is neither waited for nor read.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    try:
        _refuse(os.fstat(file.fileno()), path)
    except BaseException:
        file.close()
        raise
    return file


def _refuse(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            raise ValueError(f"{os.fspath(path)!r} is {name}, not a regular file")


class Source:
    """The bytes of a file object from its current position. `left` is their number, None if unknown before reading."""

    # Of file objects only read() is required.
    def __init__(self, file: Any, name: str | os.PathLike[str]) -> None:
        self._file = file
        self.name = name
        self._taken = b""
        self.left = _bytes_left(file)

    def read(self, size: int) -> bytes:
        """The next bytes, fewer at the end of the file."""
        pieces = []
        while size > 0:
            piece = self._file.read(size if self.left is not None else min(size, _PIECE))
            if not isinstance(piece, bytes):
                raise TypeError(f"{self.name!r} gives {type(piece).__name__}, not bytes")
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self.left is not None:
            self.left -= len(data)
        return data

    def from_start(self, taken: bytes) -> Any:
        """A file object that first returns the bytes `taken` that were read from it before."""
        if getattr(self._file, "seekable", bool)():
            self._file.seek(-len(taken), os.SEEK_CUR)
            return self._file
        return io.BufferedReader(_Again(taken, self._file))


class _Again(io.RawIOBase):
    def __init__(self, first: bytes, file: Any) -> None:
        self._first = first
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._first[: len(buffer)] or self._file.read(len(buffer))
        self._first = self._first[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _bytes_left(file: Any) -> int | None:
    if type(file) is io.BytesIO:
        return max(0, file.getbuffer().nbytes - file.tell())
    is_plain = type(file) in (io.BufferedReader, io.BufferedRandom) and type(file.raw) is io.FileIO
    if is_plain or type(file) is io.FileIO:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            return max(0, status.st_size - file.tell())
    return None
