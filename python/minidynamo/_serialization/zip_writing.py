"""Writes zip files of stored records, each aligned for memory maps, to file objects that need not be seekable."""

from __future__ import annotations

import struct
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
ALIGNMENT = 64
_UTF8_NAMES = 1 << 11
_FIRST_DAY = 0x21
_ABOVE_32 = 0xFFFFFFFF
_SIZES_64 = 1
_PADDING = b"FB"


class ZipWriter:
    """write() each record, then close(); the file object itself stays open."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._at = 0
        self._entries: list[tuple[bytes, int, int, int]] = []

    def write(self, name: str, data: bytes) -> None:
        encoded = name.encode()
        check = zlib.crc32(data)
        wide = struct.pack("<2H2Q", _SIZES_64, 16, len(data), len(data)) if len(data) >= _ABOVE_32 else b""
        extra = wide + self._padding(len(encoded) + len(wide))
        size = _ABOVE_32 if wide else len(data)
        version = 45 if wide else 20
        self._entries.append((encoded, check, len(data), self._at))
        self._put(
            _LOCAL.pack(b"PK\3\4", version, _UTF8_NAMES, 0, 0, _FIRST_DAY, check, size, size, len(encoded), len(extra))
            + encoded
            + extra
        )
        self._put(data)

    def close(self) -> None:
        begin = self._at
        for entry in self._entries:
            self._put(_central(*entry))
        size, count = self._at - begin, len(self._entries)
        if begin >= _ABOVE_32 or count >= 0xFFFF:
            self._put(
                struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, begin)
                + struct.pack("<4sIQI", b"PK\6\7", 0, begin + size, 1)
            )
        most = min(count, 0xFFFF)
        self._put(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, most, most, size, min(begin, _ABOVE_32), 0))

    def _padding(self, length: int) -> bytes:
        """An extra field after which the record begins at a multiple of ALIGNMENT."""
        begin = self._at + _LOCAL.size + length + 4
        size = -begin % ALIGNMENT
        return _PADDING + struct.pack("<H", size) + b"Z" * size

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


def _central(name: bytes, check: int, size: int, at: int) -> bytes:
    wide = size >= _ABOVE_32 or at >= _ABOVE_32
    extra = struct.pack("<2H3Q", _SIZES_64, 24, size, size, at) if wide else b""
    shown, place = (_ABOVE_32, _ABOVE_32) if wide else (size, at)
    version = 45 if wide else 20
    return (
        _CENTRAL.pack(
            b"PK\1\2",
            version,
            version,
            _UTF8_NAMES,
            0,
            0,
            _FIRST_DAY,
            check,
            shown,
            shown,
            len(name),
            len(extra),
            0,
            0,
            0,
            0,
            place,
        )
        + name
        + extra
    )
