"""The records of a zip file: stored ones alone, each checked against the size of the file before anything is read."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .byte_window import Window

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_LOCATOR = struct.Struct("<4sIQI")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_MOST_COMMENT = 0xFFFF
_ENCRYPTED = 1
_ABOVE_32 = 0xFFFFFFFF
_SIZES_64 = 1


class ZipRecords:
    """The directory of a zip file. ValueError where it is none, or where the directory and the file disagree."""

    def __init__(self, file: Window) -> None:
        self._file = file
        self._begin, size, count = _find_directory(file)
        # Name: where its local header begins, its size, where the next one begins.
        self._places: dict[str, tuple[int, int, int]] = {}
        self._read_directory(file.part(self._begin, size), count)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def names(self) -> list[str]:
        return list(self._places)

    def size(self, name: str) -> int:
        return self._places[name][1]

    def record(self, name: str) -> Window:
        """The contents of a record; ValueError if there is none of this name, or its local header says otherwise."""
        if name not in self._places:
            raise ValueError(f"there is no record {name!r}")
        at, size, end = self._places[name]
        self._file.move_to(at)
        fields = _LOCAL.unpack(self._file.read(_LOCAL.size))
        written = self._file.read(fields[9])
        if fields[0] != b"PK\3\4" or written != name.encode() or fields[3] != 0:
            raise ValueError(f"the local header of record {name!r} is not that of the directory")
        begin = at + _LOCAL.size + fields[9] + fields[10]
        if begin + size > end:
            raise ValueError(f"record {name!r} of {size} bytes overlaps what follows it")
        return self._file.part(begin, size)

    def _read_directory(self, directory: Window, count: int) -> None:
        found: list[tuple[int, int, str]] = []
        for _ in range(count):
            found.append(_read_entry(directory))
            name = found[-1][2]
            if name in self._places:
                raise ValueError(f"record {name!r} occurs twice")
            self._places[name] = (0, 0, 0)
        if directory.left:
            raise ValueError("the directory of the zip file is larger than its entries")
        found.sort()
        ends = [at for at, _, _ in found[1:]] + [self._begin]
        for (at, size, name), end in zip(found, ends, strict=True):
            if at + _LOCAL.size + len(name.encode()) + size > end:
                raise ValueError(f"record {name!r} of {size} bytes at byte {at} overlaps what follows it at {end}")
            self._places[name] = (at, size, end)


def _find_directory(file: Window) -> tuple[int, int, int]:
    """(where it begins, its size, the number of entries)."""
    tail_size = min(file.size, _END.size + _MOST_COMMENT)
    start = file.size - tail_size
    file.move_to(start)
    tail = file.read(tail_size)
    at = len(tail)
    while (at := tail.rfind(b"PK\5\6", 0, at)) >= 0:
        if at + _END.size <= len(tail):
            fields = _END.unpack_from(tail, at)
            if at + _END.size + fields[7] == len(tail):
                return _directory_of(file, start + at, fields)
    raise ValueError("failed finding central directory: the zip file is truncated or corrupted")


def _directory_of(file: Window, end_at: int, fields: tuple[int, ...]) -> tuple[int, int, int]:
    disks, count, size, begin = fields[1:3], fields[4], fields[5], fields[6]
    if end_at >= _LOCATOR.size:
        file.move_to(end_at - _LOCATOR.size)
        mark, _, at, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
        if mark == b"PK\6\7":
            file.move_to(at)
            wide = _END_64.unpack(file.read(_END_64.size))
            if wide[0] != b"PK\6\6":
                raise ValueError("the zip64 end of the directory is not where its locator says")
            disks, count, size, begin, end_at = wide[4:6], wide[7], wide[8], wide[9], at
    if any(disks):
        raise ValueError("the zip file has several parts")
    if begin + size > end_at or count * _CENTRAL.size > size:
        raise ValueError(f"the directory of {count} records, {size} bytes at byte {begin}, does not fit into the file")
    return begin, size, count


def _read_entry(directory: Window) -> tuple[int, int, str]:
    """(where the local header begins, the size, the name) of the next entry."""
    fields = _CENTRAL.unpack(directory.read(_CENTRAL.size))
    if fields[0] != b"PK\1\2":
        raise ValueError("an entry of the zip file's directory does not begin as one")
    name = _checked_name(directory.read(fields[10]))
    extra = directory.read(fields[11])
    directory.read(fields[12])
    packed, size, at = fields[8], fields[9], fields[16]
    if _ABOVE_32 in (packed, size, at):
        size, packed, at = _wide_sizes(extra, size, packed, at, name)
    if fields[3] & _ENCRYPTED:
        raise ValueError(f"record {name!r} is encrypted")
    if fields[4] != 0 or packed != size:
        raise ValueError(f"record {name!r} is compressed; only stored records are read")
    return at, size, name


def _wide_sizes(extra: bytes, size: int, packed: int, at: int, name: str) -> tuple[int, int, int]:
    values = [size, packed, at]
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == _SIZES_64:
            wide = extra[4 : 4 + length]
            for index, value in enumerate(values):
                if value == _ABOVE_32:
                    if len(wide) < 8:
                        break
                    values[index] = int.from_bytes(wide[:8], "little")
                    wide = wide[8:]
            return values[0], values[1], values[2]
        extra = extra[4 + length :]
    raise ValueError(f"record {name!r} lacks its 64-bit sizes")


def _checked_name(data: bytes) -> str:
    try:
        name = data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the name of a record is not UTF-8: {data[:80]!r}") from None
    if not name or name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or "\0" in name:
        raise ValueError(f"the name of a record leads out of the file: {name[:80]!r}")
    return name
