"""Tensor.type and its names."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = {
    "BFloat16Tensor": "bfloat16",
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ShortTensor": "int16",
}


@composite("method")
def type_of(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the dtype as "torch.FloatTensor"; with a dtype or such a name, the tensor in that dtype."""
    if dtype is None:
        wanted = str(input.dtype).rpartition(".")[2]
        for name, known in _NAMES.items():
            if known == wanted:
                return f"torch.{name}"
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        if name not in _NAMES:
            raise ValueError(f"type(): invalid type: '{dtype}'")
        dtype = getattr(minidynamo, _NAMES[name])
    return input.to(dtype)
