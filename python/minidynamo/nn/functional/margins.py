"""Losses by margins, and of several labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from .activation import logsigmoid
from .losses import _reduced, _require_reduction, pairwise_distance

__all__ = [
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "triplet_margin_with_distance_loss",
]


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes of max(0, margin - x[target] + x) ** p, of (N, C) or (C,)."""
    if is_autocasting():
        return full_precision(multi_margin_loss, input, target, p, margin, weight, size_average, reduce, reduction)
    _require_reduction(reduction)
    if p not in (1, 2):
        raise ValueError("[multi_margin_loss] only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("[multi_margin_loss] weight must be one-dimensional")
    if input.dim() == 0:
        input, target = input.unsqueeze(0), target.reshape(-1)[0] if target.dim() else target
    if input.dim() not in (1, 2) or input.shape[-1] == 0:
        raise RuntimeError(
            "[multi_margin_loss] Expected non-empty vector or matrix with optional 0-dim batch size, but got:"
            f" {list(input.shape)}"
        )
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    if target.dim() > 1 or target.numel() != rows.shape[0]:
        raise RuntimeError(
            f"[multi_margin_loss] inconsistent target size, expected {rows.shape[0]} but got {list(target.shape)}"
        )
    places = target.reshape(-1, 1)
    apart = (margin - rows.gather(1, places) + rows).clamp(min=0)
    apart = apart if p == 1 else apart * apart
    if weight is not None:
        apart = apart * weight[places]
    found = apart.scatter(1, places, 0.0).sum(1) / rows.shape[1]
    return _reduced(found if target.dim() == 1 and input.dim() == 2 else found.reshape(target.shape), reduction)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The sum over labels i and other classes j of max(0, 1 - x[i] + x[j]) over the number of classes, of (N, C) or
    (C,). target: of the same sizes, the labels of a row before its first -1."""
    if is_autocasting():
        return full_precision(multilabel_margin_loss, input, target, size_average, reduce, reduction)
    _require_reduction(reduction)
    if input.dim() > 2 or input.shape != target.shape:
        raise RuntimeError(
            f"[multilabel_margin_loss] inconsistent target size: {list(target.shape)} for input of size:"
            f" {list(input.shape)}"
        )
    rows, labels = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1, -1))
    counts = (labels >= 0).to(minidynamo.int64).cumprod(1)
    labels = minidynamo.where(counts == 1, labels, 0)
    is_label = minidynamo.zeros(rows.shape, dtype=minidynamo.int64).scatter_add(1, labels, counts) > 0
    apart = (1 - rows.gather(1, labels).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    counted = (counts == 1).unsqueeze(2) & is_label.logical_not().unsqueeze(1)
    found = minidynamo.where(counted, apart, 0.0).sum((1, 2)) / rows.shape[1]
    return _reduced(found if input.dim() == 2 else found.reshape(()), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropies of sigmoid(input) with targets in [0, 1]."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)); d is by default pairwise_distance. swap takes the
    smaller of the distances of negative from anchor and from positive."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"[triplet_margin_with_distance_loss] {reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"[triplet_margin_with_distance_loss] margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "[triplet_margin_with_distance_loss] The anchor, positive, and negative tensors are expected to have the"
            f" same number of dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative"
            f" {negative.dim()}D inputs"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = minidynamo.minimum(far, distance(positive, negative))
    return _reduced((margin + distance(anchor, positive) - far).clamp_min(0), reduction)
