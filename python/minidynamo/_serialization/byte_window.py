"""A part of a file that can be read from any place: nothing beyond its end is read, whatever the contents claim."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PIECE = 1 << 16
_LONGEST_LINE = 1 << 12


class Window:
    """`size` bytes of a seekable file object from `begin`; read() goes on from where the last one ended."""

    def __init__(self, file: Any, begin: int, size: int) -> None:
        self.file = file
        self.begin = begin
        self.size = size
        self._at = 0
        self._piece = b""
        self._piece_at = 0

    @classmethod
    def of_rest(cls, file: Any) -> Window:
        """From the current position of the file to its end."""
        begin = file.tell()
        end = file.seek(0, os.SEEK_END)
        # Objects that follow the protocol loosely return nothing.
        end = file.tell() if end is None else end
        file.seek(begin)
        return cls(file, begin, max(0, end - begin))

    def part(self, begin: int, size: int) -> Window:
        """ValueError unless it lies in this one."""
        if begin < 0 or size < 0 or begin + size > self.size:
            raise ValueError(f"{size} bytes at {begin} lie beyond the end of {self.size} bytes")
        return Window(self.file, self.begin + begin, size)

    @property
    def position(self) -> int:
        return self._at

    @property
    def left(self) -> int:
        return self.size - self._at

    def move_to(self, position: int) -> None:
        """ValueError beyond the end."""
        if not 0 <= position <= self.size:
            raise ValueError(f"byte {position} lies beyond the end of {self.size} bytes")
        self._at = position

    def read(self, size: int) -> bytes:
        """The next bytes; EOFError if there are fewer."""
        if size < 0 or size > self.left:
            raise EOFError(f"ends within {size} bytes that should follow byte {self._at}: truncated")
        begin = self._at - self._piece_at
        if 0 <= begin and begin + size <= len(self._piece):
            self._at += size
            return self._piece[begin : begin + size]
        if size >= _PIECE:
            return self._read_from_file(self._at, size)
        self._piece_at = self._at
        self._piece = self._read_from_file(self._at, min(_PIECE, self.left))
        self._at = self._piece_at + size
        return self._piece[:size]

    def _read_from_file(self, position: int, size: int) -> bytes:
        self.file.seek(self.begin + position)
        pieces, left = [], size
        while left > 0:
            piece = self.file.read(left)
            if not isinstance(piece, bytes):
                raise TypeError(f"the file object returns {type(piece).__name__}, not bytes")
            if not piece:
                raise EOFError(f"ends within {size} bytes that should follow byte {position}: truncated")
            pieces.append(piece)
            left -= len(piece)
        self._at = position + size
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def line(self) -> bytes:
        """The next bytes up to a newline, which is left out; ValueError where a line is longer than any name."""
        size = min(_LONGEST_LINE, self.left)
        start = self._at
        data = self.read(size)
        end = data.find(b"\n")
        if end < 0:
            raise ValueError(f"no newline ends the name at byte {start}")
        self._at = start + end + 1
        return data[:end]
