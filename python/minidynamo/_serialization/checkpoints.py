"""Reads torch's checkpoints: zip files, and the sequence of pickles that torch wrote before 1.6."""

from __future__ import annotations

import mmap as memory_maps
from pickle import UnpicklingError

from .allowed_globals import NO_VALUES, AllowedGlobals, InertGlobals
from .byte_window import Window
from .pickle_machine import PickleMachine, check_value
from .stored_tensors import Storage, StorageKind, StoragePart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .locations import Restore
    from .zip_records import ZipRecords

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
# How a file of before 1.6 begins, whichever protocol it was pickled with.
_MAGIC = b"\x8a\x0a" + MAGIC_NUMBER.to_bytes(10, "little") + b"."
MAGIC_STARTS = tuple(b"\x80" + bytes([protocol]) + _MAGIC for protocol in (2, 3, 4, 5))
_LONGEST_BYTE_ORDER = 16
_NO_VALUES = (*NO_VALUES, Storage, StoragePart)


class Options:
    """How a file is read: where storages go, the encoding of old byte strings, what is said of refused globals."""

    def __init__(self, restore: Restore, encoding: str, note: str, mapped: bool) -> None:
        self.restore = restore
        self.encoding = encoding
        self.note = note
        self.mapped = mapped


def read_zip(file: Window, records: ZipRecords, options: Options) -> Any:
    """The object of a zip checkpoint; ValueError, EOFError or UnpicklingError."""
    pickles = [name for name in records.names() if name.count("/") == 1 and name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise ValueError(f"a zip file with {len(pickles)} records FOLDER/data.pkl: no checkpoint that torch.save wrote")
    root = pickles[0].removesuffix("data.pkl")
    if root + "constants.pkl" in records:
        raise ValueError("a TorchScript archive, which holds code; save the state_dict() of torch.jit.load(file)")
    storages = _ZipStorages(file, records, root, options)
    machine = PickleMachine(
        records.record(pickles[0]), AllowedGlobals(options.note), storages.persistent_load, options.encoding
    )
    value = machine.load()
    check_value(value, _NO_VALUES)
    return value


class _ZipStorages:
    def __init__(self, file: Window, records: ZipRecords, root: str, options: Options) -> None:
        self._records = records
        self._root = root
        self._options = options
        self._swapped = self._byte_order() == b"big"
        self._loaded: dict[str, tuple[Any, Any]] = {}
        self._map: memoryview | None = None
        if options.mapped:
            # Private: writes to the tensors change no file.
            self._map = memoryview(memory_maps.mmap(file.file.fileno(), 0, access=memory_maps.ACCESS_COPY))

    def _byte_order(self) -> bytes:
        name = self._root + "byteorder"
        if name not in self._records:
            return b"little"
        order = self._records.record(name).read(min(self._records.size(name), _LONGEST_BYTE_ORDER))
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order!r}")
        return order

    def persistent_load(self, identity: Any) -> Any:
        kind, key, location, count = _checked_identity(identity, 5)[:4]
        if key not in self._loaded:
            self._loaded[key] = ((kind.dtype, count), self._read(kind, key, location, count))
        if self._loaded[key][0] != (kind.dtype, count):
            raise UnpicklingError(f"storage {key!r} is of two kinds or sizes")
        return self._loaded[key][1]

    def _read(self, kind: StorageKind, key: str, location: str, count: int) -> Any:
        name = f"{self._root}data/{key}"
        if name not in self._records:
            raise UnpicklingError(f"there is no record {name!r} for storage {key!r}")
        size = self._records.size(name)
        if count * kind.item_size != size:
            raise UnpicklingError(f"storage {key!r} of {count} elements of {kind.name} has {size} bytes")
        window = self._records.record(name)
        is_mapped = self._map is not None and window.begin % kind.item_size == 0
        data = self._map[window.begin : window.begin + size] if is_mapped else window.read(size)  # type: ignore[index]  # a map
        return self._options.restore(Storage(data, kind.dtype, self._swapped), location)


def _checked_identity(identity: Any, length: int) -> tuple[StorageKind, str, str, int, Any]:
    """(kind, key, location, number of elements, view) of a persistent id."""
    if type(identity) is not tuple or not identity or identity[0] != "storage":
        what = identity[0] if type(identity) is tuple and identity else identity
        if what == "module":
            raise UnpicklingError("the file holds the source of a module, which is code: save its state_dict()")
        raise UnpicklingError(f"a persistent id that is not of a storage: {type(what).__name__}")
    if len(identity) not in (5, length):
        raise UnpicklingError(f"the persistent id of a storage has {len(identity)} parts")
    kind, key, location, count = identity[1:5]
    if not isinstance(kind, StorageKind):
        raise UnpicklingError(f"a storage of a {type(kind).__name__}")
    if type(key) is not str or type(location) is not str:
        raise UnpicklingError("the key and the location of a storage are not text")
    if type(count) is not int or not 0 <= count < 2**63:
        raise UnpicklingError(f"storage {key!r} of {str(count)[:40]} elements")
    return kind, key, location, count, identity[5] if len(identity) > 5 else None


# ---- the format of before 1.6: five pickles, then the storages


def read_sequence(file: Window, options: Options) -> Any:
    """The object of a file of before 1.6; ValueError, EOFError or UnpicklingError.

    The object is read twice: first for the storages that it names, whose places are checked before one is read.
    """
    swapped = _read_system(file)
    start = file.position
    places = _Places()
    PickleMachine(file, InertGlobals(options.note), places.persistent_load, "latin1").load()
    end = file.position
    places.find(file, swapped)
    file.move_to(start)
    storages = _SequenceStorages(file, places, swapped, options)
    value = PickleMachine(
        file.part(start, end - start), AllowedGlobals(options.note), storages.persistent_load, options.encoding
    ).load()
    check_value(value, _NO_VALUES)
    return value


def _read_system(file: Window) -> bool:
    """Whether the bytes of numbers are in the other order."""
    machine = PickleMachine(file, AllowedGlobals(), _no_storage, "latin1")
    if machine.load() != MAGIC_NUMBER:
        raise UnpicklingError("Invalid magic number; corrupt file?")
    version = machine.load()
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise UnpicklingError(f"Invalid protocol version: {str(version)[:40]}")
    system = machine.load()
    if type(system) is not dict or type(system.get("little_endian", True)) is not bool:
        raise UnpicklingError("the description of the system that wrote the file is not a dict")
    return not system.get("little_endian", True)


def _no_storage(identity: Any) -> Any:
    raise UnpicklingError("a storage where none can be")


class _Places:
    """The storages that a pickle names, and where their elements lie behind it."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[StorageKind, int]] = {}
        self.places: dict[str, tuple[int, int]] = {}

    def persistent_load(self, identity: Any) -> Any:
        kind, key, _, count, _ = _checked_identity(identity, 6)
        known = self._kinds.setdefault(key, (kind, count))
        if (known[0].dtype, known[1]) != (kind.dtype, count):
            raise UnpicklingError(f"storage {key!r} is of two kinds or sizes")
        return InertGlobals.Inert()

    def find(self, file: Window, swapped: bool) -> None:
        """From the list of keys on, which is next in the file."""
        keys = PickleMachine(file, AllowedGlobals(), _no_storage, "latin1").load()
        if type(keys) is not list:
            raise UnpicklingError(f"the keys of the storages are a {type(keys).__name__}, not a list")
        for key in keys:
            if type(key) is not str or key not in self._kinds or key in self.places:
                raise UnpicklingError(f"the storages have the key {str(key)[:40]!r} twice, or nothing uses it")
            kind, count = self._kinds[key]
            stored = int.from_bytes(file.read(8), "big" if swapped else "little")
            if stored != count:
                raise UnpicklingError(f"storage {key!r} of {count} elements has {stored} in the file")
            size = count * kind.item_size
            if size > file.left:
                raise EOFError(f"ends within storage {key!r} of {size} bytes: truncated")
            self.places[key] = (file.position, size)
            file.move_to(file.position + size)
        missing = [key for key in self._kinds if key not in self.places]
        if missing:
            raise UnpicklingError(f"storage {missing[0]!r} is not in the file")


class _SequenceStorages:
    def __init__(self, file: Window, places: _Places, swapped: bool, options: Options) -> None:
        self._file = file
        self._places = places.places
        self._swapped = swapped
        self._options = options
        self._loaded: dict[str, Any] = {}

    def persistent_load(self, identity: Any) -> Any:
        kind, key, location, count, view = _checked_identity(identity, 6)
        if key not in self._loaded:
            data = self._file.part(*self._places[key])
            storage = Storage(data.read(data.size), kind.dtype, self._swapped)
            self._loaded[key] = self._options.restore(storage, location)
        if view is None:
            return self._loaded[key]
        if type(view) is not tuple or len(view) != 3 or type(view[1]) is not int or type(view[2]) is not int:
            raise UnpicklingError(f"the view of storage {key!r} is not a key, an offset and a size")
        if not (0 <= view[1] and 0 <= view[2] and view[1] + view[2] <= count):
            raise UnpicklingError(f"the view of storage {key!r} lies beyond its {count} elements")
        return StoragePart(self._loaded[key], view[1])
