"""Reads and writes tensors as safetensors files: an 8-byte length, a JSON header, the raw values.

Files are not trusted: any violation of the format is a ValueError that describes it, and no size in the
file is used before it was checked against the actual file size.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import struct

from . import _C
from ._serialization.file_reading import Source, open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    # The dtype and shape of a tensor, and where its block begins and ends.
    _Entry = tuple[str, list[int], int, int]

# The name in the file: the dtype, bytes per value.
_DTYPES = {
    dtype._row["safetensors"]: (name, dtype._row["size"])
    for name, dtype in _C._dtypes.items()
    if dtype._row["safetensors"]
}
_NAMES = {_C._dtypes[dtype]: (name, size) for name, (dtype, size) in _DTYPES.items()}
_LENGTH = struct.Struct("<Q")
# Enough bytes to recognise a safetensors file: the length of the header, and its first byte.
LOOK = _LENGTH.size + 1
_MAX_HEADER = 100_000_000
_MAX_RANK = 64
_MAX_ELEMENTS = 2**63 - 1


def load_file(path: str | os.PathLike[str]) -> dict[str, _C.Tensor]:
    """Returns a dict of the tensors in the file, in the order of its header."""
    with open_regular(path) as file:
        try:
            return read(Source(file, path))[0]
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


def load(data: bytes | bytearray | memoryview) -> dict[str, _C.Tensor]:
    """Returns a dict of the tensors in `data`, the bytes of a safetensors file."""
    data = data if isinstance(data, bytes) else memoryview(data).cast("B")
    return read(Source(io.BytesIO(data), "data"))[0]


def read(source: Source, start: bytes = b"") -> tuple[dict[str, _C.Tensor], dict[str, str]]:
    """(the tensors, the free text entries) of a Source, of which `start`, at most LOOK bytes, was read before."""
    start += source.read(LOOK - len(start))
    header = _parse_header(_read_header(source, start))
    entries = {name: _check_entry(name, entry) for name, entry in header.items() if name != "__metadata__"}
    places = _check_layout(entries, source.left)
    tensors: dict[str, _C.Tensor] = dict.fromkeys(entries)  # type: ignore[assignment]  # filled below
    for name in places:
        dtype, shape, begin, end = entries[name]
        block = source.read(end - begin)
        if len(block) < end - begin:
            raise ValueError(f"tensor {name!r} of a safetensors file: {len(block)} bytes of {end - begin}")
        tensors[name] = _tensor(dtype, shape, block)
    if source.read(1):
        raise ValueError("a safetensors file has more bytes than its header names")
    return tensors, header.get("__metadata__", {})


def looks_like(start: bytes, left: int | None) -> bool:
    """Whether a safetensors file starts with these LOOK bytes: a length that fits into what is left, then JSON."""
    if len(start) < LOOK or start[_LENGTH.size :] != b"{":
        return False
    (size,) = _LENGTH.unpack_from(start)
    return size <= (_MAX_HEADER if left is None else min(_MAX_HEADER, left + 1))


def metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Returns the free text entries (`__metadata__`) of the file."""
    with open_regular(path) as file:
        source = Source(file, path)
        return _parse_header(_read_header(source, source.read(LOOK))).get("__metadata__", {})


def save_file(
    tensors: dict[str, _C.Tensor], path: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Writes a dict of tensors to a file, together with `metadata`, a dict of str to str.

    Names must be str; the file has the order of the dict. Tensors that share memory are written separately.
    Raises TypeError or ValueError before anything is written.
    """
    header, blocks = _layout(tensors, metadata)
    with open(path, "wb") as file:
        file.write(header)
        for tensor in blocks:
            file.write(_bytes_of(tensor))


def save(tensors: dict[str, _C.Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes written by save_file."""
    header, blocks = _layout(tensors, metadata)
    return b"".join([header, *map(_bytes_of, blocks)])


def _layout(tensors: dict[str, _C.Tensor], metadata: dict[str, str] | None) -> tuple[bytes, list[_C.Tensor]]:
    """The header as bytes, and the tensors in the order of their blocks: the widest first, so that all are aligned."""
    _check_tensors(tensors)
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(text, str) for pair in metadata.items() for text in pair)
    ):
        raise TypeError("the metadata of a safetensors file must be a dict of str to str")
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    names = sorted(tensors, key=lambda name: -_NAMES[tensors[name].dtype][1])
    offsets: dict[str, list[int]]
    offsets, position = {}, 0
    for name in names:
        size = tensors[name].numel() * _NAMES[tensors[name].dtype][1]
        offsets[name] = [position, position + size]
        position += size
    for name, tensor in tensors.items():
        dtype = _NAMES[tensor.dtype][0]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": offsets[name]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH.size)
    return _LENGTH.pack(len(text)) + text, [tensors[name] for name in names]


def _check_tensors(tensors: object) -> None:
    if not isinstance(tensors, dict):
        raise TypeError(f"a safetensors file holds a dict of tensors, not {type(tensors).__name__}")
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"the names in a safetensors file are str, not {type(name).__name__}: {name!r}")
        if name == "__metadata__":
            raise ValueError("no tensor of a safetensors file can be named '__metadata__'")
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"a safetensors file holds tensors, but {name!r} is of type {type(tensor).__name__}")
        if tensor.dtype not in _NAMES:
            raise TypeError(f"a safetensors file has no name for the dtype of {name!r}, {tensor.dtype}")
        if _C._is_fake(tensor) or _C._is_recording(tensor):
            raise RuntimeError(f"the tensor {name!r} has no values while it is traced")


def _bytes_of(tensor: _C.Tensor) -> bytes:
    # The state of a pickled tensor: the elements in row-major order.
    return tensor.__reduce_ex__(4)[1][1]


def _header_size(start: bytes, file_size: int | None) -> int:
    if len(start) < _LENGTH.size:
        raise ValueError(f"not a safetensors file: {len(start)} bytes, shorter than the length of its header")
    (size,) = _LENGTH.unpack_from(start)
    if size > (_MAX_HEADER if file_size is None else min(_MAX_HEADER, file_size - _LENGTH.size)):
        where = "" if file_size is None else f" in a file of {file_size}"
        raise ValueError(f"not a safetensors file: a header of {size} bytes{where}")
    return size


# Numbers of header bytes after which the prefix is checked to be possible JSON.
_LOOKS = (1 << 10, 1 << 16, 1 << 19)


def _read_header(source: Source, start: bytes) -> bytes:
    size = _header_size(start, None if source.left is None else len(start) + source.left)
    text = start[_LENGTH.size :]
    for look in _LOOKS:
        if look < size:
            text += source.read(look - len(text))
            _check_beginning(text)
    text += source.read(size - len(text))
    if len(text) < size:
        raise ValueError(f"not a safetensors file: a header of {size} bytes, of which there are {len(text)}")
    return text


def _check_beginning(data: bytes) -> None:
    """Raises ValueError if no JSON object begins like this."""
    try:
        text = codecs.utf_8_decode(data)[0]
        json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        # Truncated: inside a string, which no control character ends, or inside a token at the end.
        if not (error.msg.startswith("Unterminated string") or error.pos > len(text) - 16):
            raise ValueError(f"the safetensors header is not valid JSON: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the safetensors header is not valid JSON: {error}") from None


def _parse_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the safetensors header is not valid JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"the safetensors header must be a JSON object, not {type(header).__name__}")
    strings = header.get("__metadata__", {})
    if not isinstance(strings, dict) or not all(isinstance(value, str) for value in strings.values()):
        raise ValueError("__metadata__ of a safetensors file must map strings to strings")
    return header


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MAX_ELEMENTS


def _check_entry(name: str, entry: Any) -> _Entry:
    def fail(what: str) -> NoReturn:
        raise ValueError(f"tensor {name!r} of a safetensors file: {what}")

    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        fail("its entry must have dtype, shape and data_offsets, and nothing else")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        fail(f"dtype {dtype!r} is not supported, only {', '.join(_DTYPES)}")
    if not isinstance(shape, list) or len(shape) > _MAX_RANK or not all(map(_is_size, shape)):
        fail(f"shape must be a list of at most {_MAX_RANK} sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        fail("data_offsets must be two sizes")
    if math.prod(filter(None, shape)) > _MAX_ELEMENTS:
        fail(f"shape {shape} is too large")
    wanted = math.prod(shape) * _DTYPES[dtype][1]
    if offsets[1] - offsets[0] != wanted:
        fail(f"shape {shape} of {dtype} takes {wanted} bytes, data_offsets {offsets} give {offsets[1] - offsets[0]}")
    return dtype, shape, *offsets


def _check_layout(entries: dict[str, _Entry], size: int | None) -> list[str]:
    """The names in the order of their blocks, which must fill the rest of the file: no hole, no overlap."""
    position = 0
    names = sorted(entries, key=lambda name: entries[name][2:])
    for name in names:
        _, _, begin, end = entries[name]
        if begin != position or size is not None and end > size:
            limit = "" if size is None else f" and {size} the last"
            raise ValueError(
                f"tensor {name!r} of a safetensors file lies at bytes {begin} to {end}, "
                f"where byte {position} is the next one{limit}"
            )
        position = end
    if size is not None and position != size:
        raise ValueError(f"a safetensors file has {size} bytes of values, its header names {position}")
    return names


def _tensor(dtype: str, shape: list[int], block: bytes) -> _C.Tensor:
    name = "uint8" if dtype == "BOOL" else _DTYPES[dtype][0]
    tensor = _C._rebuild_tensor(_C.Tensor, block, _C._dtypes[name], tuple(shape), False, None)
    # A bool in memory is 0 or 1, whatever the file contains.
    return tensor != 0 if dtype == "BOOL" else tensor
