"""Functions that we have, at the places where torch's own code calls them, and with its parameters."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import TABLE, StandIn, decline, decline_gradient, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Of torch._C._nn and torch, with the parameters of ours or the first of them.
_FUNCTIONAL = "celu glu hardsigmoid hardswish hardtanh leaky_relu mish relu6 rms_norm selu silu threshold"
TABLE.extend(StandIn(f"_C._nn.{name} {name}", getattr(minidynamo.nn.functional, name)) for name in _FUNCTIONAL.split())


@stands_in("nn.functional.embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    decline_gradient(weight, sparse, "embedding with a sparse gradient")
    return minidynamo.nn.functional.embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


@stands_in("nn.functional.embedding_bag")
def embedding_bag(input: Tensor, weight: Tensor, *others: Any, **keywords: Any) -> Tensor:
    if not weight.is_floating_point():
        decline("embedding_bag of whole numbers")
    by_frequency = keywords.get("scale_grad_by_freq", others[3] if len(others) > 3 else False)
    is_sparse = keywords.get("sparse", others[5] if len(others) > 5 else False)
    decline_gradient(weight, is_sparse or by_frequency, "embedding_bag with a sparse gradient, or one by frequency")
    return minidynamo.nn.functional.embedding_bag(input, weight, *others, **keywords)


@stands_in("as_tensor")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return minidynamo.tensor(data, dtype=dtype, device=device)


@stands_in("Tensor.new_tensor")
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    if requires_grad or pin_memory or isinstance(data, Tensor):
        decline("new_tensor of a leaf or a tensor")
    return minidynamo.tensor(data, dtype=self.dtype if dtype is None else dtype)


@stands_in("is_same_size Tensor.is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    return input.shape == other.shape


@stands_in("tensor_split Tensor.tensor_split")
def tensor_split(
    input: Tensor,
    tensor_indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: Any = None,
) -> tuple[Tensor, ...]:
    given = [each for each in (tensor_indices_or_sections, indices, sections) if each is not None]
    if len(given) != 1:
        decline("tensor_split by none, or by several")
    return minidynamo.tensor_split(input, given[0], dim)


@stands_in("functional.split")
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return tensor.split(split_size_or_sections, dim)
