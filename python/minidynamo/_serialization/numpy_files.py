"""Reads NumPy's .npy and .npz files without NumPy: numbers and bools; everything else is refused."""

from __future__ import annotations

import ast
import math
import re

from .. import _C
from .stored_tensors import Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .byte_window import Window
    from .zip_records import ZipRecords

MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 1 << 16
_MOST_DIMENSIONS = 64
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float"}
_DESCRIPTION = re.compile(r"[<>|=][biuf][1248]")


def read_npz(records: ZipRecords) -> dict[str, Any]:
    """The arrays as tensors, by their names. ValueError, EOFError."""
    found = {}
    for name in records.names():
        try:
            found[name.removesuffix(".npy")] = read_npy(records.record(name))
        except ValueError as error:
            raise ValueError(f"{name!r}: {error}") from None
    return found


def read_npy(file: Window) -> Any:
    """The array as a tensor of its dtype and shape; one in Fortran's order keeps its strides. ValueError, EOFError."""
    if file.read(len(MAGIC)) != MAGIC:
        raise ValueError("not a .npy file")
    major, _ = file.read(2)
    if major not in (1, 2, 3):
        raise ValueError(f"a .npy file of version {major}")
    size = int.from_bytes(file.read(2 if major == 1 else 4), "little")
    if size > _LONGEST_HEADER:
        raise ValueError(f"a header of {size} bytes")
    dtype, swapped, is_fortran, shape = _parsed(file.read(size))
    item = dtype._row["size"]
    needed = math.prod(shape) * item
    if math.prod(max(1, each) for each in shape) >= 2**63 // item or needed != file.left:
        raise ValueError(
            f"an array of shape {shape} of {dtype} takes {needed} bytes, but {file.left} follow its header"
        )
    tensor = Storage(file.read(needed), dtype, swapped).elements(dtype)
    if is_fortran:
        return tensor.reshape(shape[::-1]).permute(tuple(range(len(shape)))[::-1])
    return tensor.reshape(shape)


def _parsed(header: bytes) -> tuple[Any, bool, bool, tuple[int, ...]]:
    """(dtype, whether the bytes are in the other order, whether in Fortran's order, shape)."""
    try:
        fields = ast.literal_eval(header.decode("latin1").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise ValueError("the header is not a dict of constants") from None
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        raise ValueError("the header does not have descr, fortran_order and shape alone")
    shape, is_fortran, description = fields["shape"], fields["fortran_order"], fields["descr"]
    if type(shape) is not tuple or len(shape) > _MOST_DIMENSIONS or not all(_is_size(each) for each in shape):
        raise ValueError("the shape is not a tuple of sizes")
    if type(is_fortran) is not bool:
        raise ValueError("fortran_order is not a bool")
    return *_dtype(description), is_fortran, shape


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _dtype(description: Any) -> tuple[Any, bool]:
    if isinstance(description, str) and _DESCRIPTION.fullmatch(description):
        kind, size = description[1], int(description[2])
        name = _KINDS[kind] if kind == "b" else f"{_KINDS[kind]}{8 * size}"
        if name in _C._dtypes and _C._dtypes[name]._row["size"] == size:
            return _C._dtypes[name], description[0] == ">"
    raise ValueError(f"arrays of dtype {str(description)[:80]!r} are not supported: only bools, integers and floats")
