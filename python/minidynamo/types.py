"""Types for annotations: the names of torch.types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from ._C import Size, Tensor
from ._C import device as _device
from ._C import dtype as _dtype  # noqa: F401  for annotations
from ._C import layout as _layout  # noqa: F401  for annotations
from ._missing_names import explain_missing as _explain_missing

__all__ = ["Device", "FileLike", "Number"]

_int: TypeAlias = int
_float: TypeAlias = float
_bool: TypeAlias = bool
_complex: TypeAlias = complex
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int]
_dispatchkey: TypeAlias = str
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
SymInt: TypeAlias = int
py_sym_types = (int, float, bool)
PySymType: TypeAlias = int | float | bool

Number: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]

_explain_missing(__name__)
