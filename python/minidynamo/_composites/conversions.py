"""Tensor.type and its names."""

from __future__ import annotations

import minidynamo

from .. import _C
from .._C import Tensor
from .._tensor.typed_tensors import TensorType
from .registry import composite, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TYPES = {name: dtype._row["torch"] for name, dtype in _C._dtypes.items()}
_NAMES = {torch_name: name for name, torch_name in _TYPES.items()}


@composite("method")
def type_of(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the dtype as "torch.FloatTensor"; with a dtype, such a name or type, the tensor in that dtype."""
    if dtype is None:
        return f"torch.{_TYPES[str(input.dtype).rpartition('.')[2]]}"
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
        if name not in _NAMES:
            raise ValueError(f"type(): invalid type: '{dtype}'")
        dtype = getattr(minidynamo, _NAMES[name])
    if isinstance(dtype, TensorType):
        dtype = dtype.dtype
    return input.to(dtype)


@composite("method")
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises RuntimeError: there is no such device."""
    require_tensor("cuda", input)
    return input.to("cuda" if device is None else device)
