"""Losses, whose reductions torch's own code has as numbers."""

from __future__ import annotations

import minidynamo

from ..._C import Tensor
from ...nn.functional.losses import REDUCTIONS
from .table import decline, stands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _require_some(op: str, input: Tensor) -> None:
    if input.numel() == 0 or input.dtype.itemsize == 2:
        decline(f"{op} of nothing, or of 16-bit floats")


@stands_in("_C._nn.multi_margin_loss")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1
) -> Tensor:
    _require_some("multi_margin_loss", input)
    return minidynamo.nn.functional.multi_margin_loss(input, target, p, margin, weight, reduction=REDUCTIONS[reduction])


@stands_in("_C._nn.multilabel_margin_loss")
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    _require_some("multilabel_margin_loss", input)
    return minidynamo.nn.functional.multilabel_margin_loss(input, target, reduction=REDUCTIONS[reduction])
