"""Numbers of classes as vectors, and sums of rows of a table."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.registry import prims

__all__ = ["embedding", "embedding_bag", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows input of weight. padding_idx, scale_grad_by_freq and sparse are of gradients, which there are none of.

    max_norm scales the rows that are used to that norm at most, in weight itself.
    """
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if max_norm is not None:
        used = minidynamo.zeros(weight.shape[0]).index_fill(0, input.reshape(-1), 1.0).unsqueeze(1) != 0
        norms = weight.detach().norm(norm_type, 1, keepdim=True)
        scale = minidynamo.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
        with minidynamo.no_grad():
            weight.mul_(scale)
    return prims.embedding(input, weight)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros but for a 1 at the place that each element names, in a new last dim of size num_classes.

    -1 stands for one more than the largest element, which ends a captured region.
    """
    if tensor.dtype != minidynamo.int64:
        raise RuntimeError(f"[one_hot] is only applicable to index tensor of type LongTensor, got {tensor.dtype}")
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("[one_hot] Can not infer total number of classes from empty tensor.")
        if int(tensor.min()) < 0:
            raise RuntimeError("[one_hot] Class values must be non-negative.")
        num_classes = int(tensor.max()) + 1
    if num_classes < 1 and tensor.numel() > 0:
        raise RuntimeError("[one_hot] num_classes should be positive")
    return minidynamo.zeros((*tensor.shape, num_classes), dtype=minidynamo.int64).scatter(-1, tensor.unsqueeze(-1), 1)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or max of the rows of weight that each bag names: bags are the rows of input (B, N)."""
    if offsets is not None or max_norm is not None or padding_idx is not None:
        raise NotImplementedError("[embedding_bag] offsets, max_norm and padding_idx are not there yet")
    if input.dim() != 2:
        raise ValueError(f"embedding_bag(): input has to be a 2D Tensor, but got a Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("embedding_bag(): mode has to be one of sum, mean or max")
    rows: Any = embedding(input, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    return rows.sum(1) if mode == "sum" else rows.mean(1) if mode == "mean" else rows.amax(1)
