"""Losses by margins."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from .table import decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _reduced(rows: Tensor, reduction: int) -> Tensor:
    return rows if reduction == 0 else rows.mean() if reduction == 1 else rows.sum()


@stands_in("_C._nn.multi_margin_loss")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> Tensor:
    if p not in (1, 2) or input.dim() > 2 or input.numel() == 0 or input.dtype.itemsize == 2:
        decline("multi_margin_loss of other arguments")
    rows = input if input.dim() == 2 else input.reshape(1, -1)
    target = target.reshape(-1, 1)
    if target.shape[0] != rows.shape[0]:
        decline("multi_margin_loss of other sizes")
    apart = (margin - rows.gather(1, target) + rows).clamp(min=0)
    apart = apart if p == 1 else apart * apart
    if weight is not None:
        apart = apart * weight[target]
    found = apart.scatter(1, target, 0.0).sum(1) / rows.shape[1]
    return _reduced(found if input.dim() == 2 else found.reshape(()), reduction)


@stands_in("_C._nn.multilabel_margin_loss")
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    if input.dim() > 2 or input.shape != target.shape or input.numel() == 0 or input.dtype.itemsize == 2:
        decline("multilabel_margin_loss of other sizes")
    rows, labels = (input, target) if input.dim() == 2 else (input.reshape(1, -1), target.reshape(1, -1))
    # The labels of a row end at the first -1.
    counts = (labels >= 0).to(minidynamo.int64).cumprod(1)
    labels = minidynamo.where(counts == 1, labels, 0)
    is_label = minidynamo.zeros(rows.shape, dtype=minidynamo.int64).scatter_add(1, labels, counts) > 0
    apart = (1 - rows.gather(1, labels).unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    counted = (counts == 1).unsqueeze(2) & is_label.logical_not().unsqueeze(1)
    found = minidynamo.where(counted, apart, 0.0).sum([1, 2]) / rows.shape[1]
    return _reduced(found if input.dim() == 2 else found.reshape(()), reduction)
