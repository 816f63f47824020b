"""Largest elements with their places, and what puts them back."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ...nn.functional.unpooling import put_back
from .table import TABLE, StandIn, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _with_indices(pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(
        input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:
        return pool(input, kernel_size, stride or None, padding, dilation, ceil_mode, True)

    return pooled


def _adaptive(pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(input: Tensor, output_size: Any) -> Any:
        return pool(input, output_size, True)

    return pooled


_HERE = minidynamo.nn.functional
TABLE += (
    StandIn("max_pool1d_with_indices", _with_indices(_HERE.max_pool1d)),
    StandIn("_C._nn.max_pool2d_with_indices", _with_indices(_HERE.max_pool2d)),
    StandIn("_C._nn.max_pool3d_with_indices", _with_indices(_HERE.max_pool3d)),
    StandIn("adaptive_max_pool1d", _adaptive(_HERE.adaptive_max_pool1d)),
    StandIn("_C._nn.adaptive_max_pool2d", _adaptive(_HERE.adaptive_max_pool2d)),
    StandIn("_C._nn.adaptive_max_pool3d", _adaptive(_HERE.adaptive_max_pool3d)),
)


def _put_back(op: str, rank: int, input: Tensor, indices: Tensor, output_size: Any) -> Tensor:
    if len(output_size) != rank or indices.shape != input.shape or input.numel() == 0:
        decline(f"{op} of other sizes")
    return put_back(op, input, indices.to(minidynamo.int64), output_size)


@stands_in("_C._nn.max_unpool2d")
def max_unpool2d(input: Tensor, indices: Tensor, output_size: Any) -> Tensor:
    result = _put_back("max_unpool2d", 2, input, indices, output_size)
    last = input.dim() == 4 and input.is_contiguous(memory_format=minidynamo.channels_last)
    return result.contiguous(memory_format=minidynamo.channels_last) if last and not input.is_contiguous() else result


@stands_in("_C._nn.max_unpool3d")
def max_unpool3d(input: Tensor, indices: Tensor, output_size: Any, stride: Any, padding: Any) -> Tensor:
    return _put_back("max_unpool3d", 3, input, indices, output_size)
