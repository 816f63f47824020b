"""save() and load(), and which classes and functions load() may use where a checkpoint names them."""

from __future__ import annotations

import enum
import mmap
from typing import Any

from . import storage
from ._missing_names import explain_missing as _explain_missing
from ._serialization.allowed_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._serialization.saving import load, save

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "load",
    "location_tag",
    "normalize_storage_type",
    "safe_globals",
    "save",
    "set_default_load_endianness",
]

DEFAULT_PROTOCOL = 2
MAP_LOCATION = Any


class SourceChangeWarning(Warning):
    """For filters of warnings: sources are not compared."""


class LoadEndianness(enum.Enum):
    """The order of bytes in a file, for arguments."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """None: files say their order of bytes."""
    return None


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """None is accepted; NotImplementedError for a LoadEndianness, TypeError otherwise."""
    if endianness is not None:
        if not isinstance(endianness, LoadEndianness):
            raise TypeError("Invalid argument type in function set_default_load_endianness")
        raise NotImplementedError("set_default_load_endianness(): minidynamo reads the order that a file says")


def get_crc32_options() -> bool:
    """True: zip records have a checksum."""
    return True


def get_default_mmap_options() -> int:
    """MAP_PRIVATE"""
    return mmap.MAP_PRIVATE


def location_tag(storage: Any) -> str:
    """cpu"""
    return "cpu"


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, if the location is the CPU; RuntimeError otherwise."""
    if not str(location).startswith("cpu"):
        raise RuntimeError(f"don't know how to restore data location of {type(storage)} (tagged with {location})")
    return storage


def normalize_storage_type(storage_type: Any) -> Any:
    """The class of storages of that name, as minidynamo.FloatStorage."""
    return getattr(storage, storage_type.__name__)


_explain_missing(__name__)
