"""Normalisation with its statistics as results."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import TABLE, StandIn, decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _require_wide(op: str, *tensors: Any) -> None:
    if any(each is not None and each.dtype.itemsize == 2 for each in tensors):
        decline(f"{op} of 16-bit floats")


@stands_in("native_layer_norm")
def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    _require_wide("native_layer_norm", input, weight, bias)
    result = minidynamo.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = [*range(input.dim() - len(normalized_shape), input.dim())]
    mean = input.mean(dims, keepdim=True)
    return result, mean.detach(), (input.var(dims, correction=0, keepdim=True).detach() + eps).rsqrt()


@stands_in("native_group_norm")
def native_group_norm(input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    _require_wide("native_group_norm", input, weight, bias)
    if N == 0:
        return (
            minidynamo.empty(input.shape, dtype=input.dtype),
            input.new_empty((0, group)),
            input.new_empty((0, group)),
        )
    if input.numel() == 0:
        decline("native_group_norm of nothing")
    result = minidynamo.nn.functional.group_norm(input, group, weight, bias, eps)
    groups = input.reshape(N, group, C // group * HxW)
    return result, groups.mean(2), (groups.var(2, correction=0) + eps).rsqrt()


# Of running statistics torch does not count the writes.
TABLE.append(StandIn("nn.functional.batch_norm", minidynamo.nn.functional.batch_norm, counts_writes=False))


@stands_in("native_batch_norm")
def native_batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    _require_wide("native_batch_norm", input, weight, bias)
    if input.numel() == 0 or input.dim() < 2:
        decline("native_batch_norm of nothing")
    if training and running_mean is not None:
        decline("native_batch_norm, which writes its statistics without a new version")
    result = minidynamo.nn.functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return result, input.new_empty((0,)), input.new_empty((0,))
    dims = [0, *range(2, input.dim())]
    return result, input.mean(dims).detach(), (input.var(dims, correction=0).detach() + eps).rsqrt()
