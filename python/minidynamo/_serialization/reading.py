"""What load() does: opens the file, finds its format by its first bytes, and names the file in every error."""

from __future__ import annotations

import json
import os
import struct
from pickle import UnpicklingError

from .. import safetensors
from . import checkpoints, numpy_files
from .byte_window import Window
from .checkpoints import Options
from .file_reading import Source, open_regular
from .locations import restorer
from .zip_records import ZipRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .locations import Restore

# In the metadata of a safetensors file: the name of a single tensor, and the list of tensors that require grad.
_ALONE = "minidynamo.tensor"
_REQUIRE_GRAD = "minidynamo.requires_grad"

_NO_CODE = " weights_only=False changes nothing here: load() runs no code of a file."
_TAR_MARK_AT = 257
_OF_A_LYING_FILE = (
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
    struct.error,
)


def read(
    target: Any, map_location: Any, pickle_module: Any, weights_only: bool | None, mmap: bool | None, encoding: str
) -> Any:
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    runs_code = pickle_module if weights_only is False else None
    note = _NO_CODE if weights_only is False else ""
    is_file = hasattr(target, "read")
    if not is_file and not isinstance(target, (str, bytes, os.PathLike)):
        raise AttributeError(f"'{type(target).__name__}' object has no attribute 'seek'. {_NOT_SEEKABLE}")
    if is_file:
        if mmap:
            raise ValueError("f must be a file path in order to use the mmap argument")
        return _named(_File(target, restorer(map_location), encoding, note, runs_code, False), _name_of(target))
    try:
        file = open_regular(target)
    except ValueError as error:
        raise ValueError(f"load(): {error}") from None
    with file:
        return _named(_File(file, restorer(map_location), encoding, note, runs_code, bool(mmap)), os.fspath(target))


_NOT_SEEKABLE = (
    "You can only load from a file that is seekable. "
    "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
)


def _name_of(file: Any) -> Any:
    return getattr(file, "name", "the file")


def _named(file: _File, name: Any) -> Any:
    """The contents; errors say which file they are of."""
    try:
        return file.contents(name)
    except UnpicklingError as error:
        raise UnpicklingError(f"load(): {name!r}: {error}") from error.__cause__
    except EOFError as error:
        raise EOFError(f"load(): {name!r}: {error}") from None
    except ValueError as error:
        raise ValueError(f"load(): {name!r}: {error}") from None
    except _NotBytes as error:
        raise TypeError(f"load(): {error}") from None
    except _OF_A_LYING_FILE as error:
        raise UnpicklingError(f"load(): {name!r}: {type(error).__name__}: {error}") from error


class _NotBytes(Exception):
    pass


class _File:
    def __init__(self, file: Any, restore: Restore, encoding: str, note: str, pickle_module: Any, mapped: bool) -> None:
        self._file = file
        self._restore = restore
        self._encoding = encoding
        self._note = note
        self._pickle_module = pickle_module
        self._mapped = mapped

    def contents(self, name: Any) -> Any:
        source = Source(self._file, name)
        try:
            start = source.read(safetensors.LOOK)
        except TypeError as error:
            raise _NotBytes(error) from None
        if safetensors.looks_like(start, source.left):
            self._restore(None, "cpu")
            return _safetensors(source, start)
        if self._pickle_module is not None and not start.startswith((b"PK", b"\x93NUM")):
            return self._pickle_module.load(source.from_start(start))
        return self._seekable(source, start)

    def _seekable(self, source: Source, start: bytes) -> Any:
        """The formats that are read from both ends."""
        is_zip = start.startswith(b"PK\3\4")
        # The first nine bytes tell; an end within them is that of a file cut off.
        if not is_zip and not start.startswith((b"\x80", numpy_files.MAGIC)):
            raise ValueError(_unknown(start, start + source.read(_TAR_MARK_AT + 8)))
        if not getattr(self._file, "seekable", lambda: hasattr(self._file, "seek"))():
            raise ValueError(_NOT_SEEKABLE)
        self._file.seek(-len(start), os.SEEK_CUR)
        window = Window.of_rest(self._file)
        if is_zip:
            return self._zip(window)
        if start.startswith(numpy_files.MAGIC):
            self._restore(None, "cpu")
            return numpy_files.read_npy(window)
        head = window.read(min(window.size, 14))
        window.move_to(0)
        if any(magic.startswith(head) or head.startswith(magic) for magic in checkpoints.MAGIC_STARTS):
            if self._mapped:
                raise RuntimeError(
                    "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`"
                )
            return checkpoints.read_sequence(window, self._options())
        raise UnpicklingError(
            "a plain pickle, not a checkpoint that torch.save wrote (Invalid magic number; corrupt file?): pickles can "
            "run any code, which load() does not. If you trust the file, read it with weights_only=False and "
            "pickle_module=pickle, and save it again by save()"
        )

    def _options(self) -> Options:
        return Options(self._restore, self._encoding, self._note, self._mapped)

    def _zip(self, window: Window) -> Any:
        records = ZipRecords(window)
        names = records.names()
        if all(name.endswith(".npy") for name in names):
            self._restore(None, "cpu")
            return numpy_files.read_npz(records)
        return checkpoints.read_zip(window, records, self._options())


def _unknown(start: bytes, more: bytes) -> str:
    if not start:
        return "the file is empty: Ran out of input"
    if more[_TAR_MARK_AT:].startswith(b"ustar"):
        return "a tar archive, the format of torch before 0.1.10, which is not read: save it again by a later torch"
    return (
        "not a checkpoint of torch, a safetensors file, a .npy or a .npz file; another pickle, which can run any code, "
        "is read only with weights_only=False and pickle_module=pickle"
    )


def _safetensors(source: Source, start: bytes) -> Any:
    tensors, metadata = safetensors.read(source, start)
    try:
        for each in json.loads(metadata.get(_REQUIRE_GRAD, "[]")):
            tensors[each].requires_grad_()
        return tensors[_ALONE] if _ALONE in metadata else tensors
    except (LookupError, TypeError, RuntimeError) as error:
        raise ValueError(str(error)) from None
