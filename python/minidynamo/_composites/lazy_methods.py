"""Methods whose functions lie in modules that few programs need."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("method")
def stft_of(input: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """minidynamo.stft."""
    require_tensor("stft", input)
    return minidynamo.stft(input, *args, **keywords)


@composite("method")
def istft_of(input: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """minidynamo.istft."""
    require_tensor("istft", input)
    return minidynamo.istft(input, *args, **keywords)


@composite("method")
def new_empty_strided(input: Tensor, size: Any, stride: Any, dtype: Any = None, **keywords: Any) -> Tensor:
    """empty_strided() in the dtype of the tensor, or another."""
    require_tensor("new_empty_strided", input)
    return minidynamo.empty_strided(size, stride, dtype=input.dtype if dtype is None else dtype)
