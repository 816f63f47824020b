"""Largest elements with their places, and what puts them back."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
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


def _put_back(input: Tensor, indices: Tensor, output_size: Any) -> Tensor:
    rank = len(output_size)
    leading = list(input.shape[: input.dim() - rank])
    if indices.shape != input.shape or input.numel() == 0:
        decline("unpooling of other sizes")
    cells = 1
    for size in output_size:
        cells = cells * size
    flat = input.new_zeros((*leading, cells))
    at = indices.to(minidynamo.int64).reshape(*leading, -1)
    return flat.scatter(-1, at, input.reshape(*leading, -1)).reshape(*leading, *output_size)


@stands_in("_C._nn.max_unpool2d")
def max_unpool2d(input: Tensor, indices: Tensor, output_size: Any) -> Tensor:
    if len(output_size) != 2:
        decline("max_unpool2d of other sizes")
    result = _put_back(input, indices, output_size)
    last = input.dim() == 4 and input.is_contiguous(memory_format=minidynamo.channels_last)
    return result.contiguous(memory_format=minidynamo.channels_last) if last and not input.is_contiguous() else result


@stands_in("_C._nn.max_unpool3d")
def max_unpool3d(input: Tensor, indices: Tensor, output_size: Any, stride: Any, padding: Any) -> Tensor:
    if len(output_size) != 3:
        decline("max_unpool3d of other sizes")
    return _put_back(input, indices, output_size)
