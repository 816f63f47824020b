"""The loss of sequences without an alignment."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from ..._composites.registry import prims, widened

__all__ = ["ctc_loss"]


def _lengths(name: str, lengths: Any, count: int) -> list[int]:
    values = [int(each) for each in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    if len(values) != count:
        raise RuntimeError(f"[ctc_loss] {name} must be of size batch_size")
    return values


def _require_targets(targets: Tensor, lengths: list[int]) -> None:
    """Rows as long as the longest length, or one after the other."""
    if targets.dim() == 1:
        if sum(lengths) > targets.shape[0]:
            raise RuntimeError("[ctc_loss] Expected tensor for argument targets to be as long as its lengths")
        return
    longest = max(lengths, default=0)
    if targets.shape[0] != len(lengths) or targets.shape[1] < longest:
        raise RuntimeError(
            "[ctc_loss] Expected tensor to have size at least"
            f" {longest} at dimension 1, but got size {list(targets.shape)} for argument #2 'targets'"
        )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The connectionist temporal classification loss: minus the logarithm of all alignments' probability.

    log_probs (T, N, C) or (T, C); targets (N, S) or (sum of lengths,); lengths of both as tensors or sequences.
    reduction "mean" divides each loss by the length of its target first. zero_infinity replaces infinite losses by 0.
    """
    if is_autocasting():
        return full_precision(
            ctc_loss, log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
        )
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if not log_probs.is_floating_point():
        raise NotImplementedError(f'[ctc_loss] "ctc_loss_cpu" not implemented for {log_probs.dtype}')
    if targets.dtype not in (minidynamo.int64, minidynamo.int32):
        raise RuntimeError("[ctc_loss] targets must be int or long")
    single = log_probs.dim() == 2
    steps = log_probs.unsqueeze(1) if single else log_probs
    if single:
        input_lengths, target_lengths = (
            each.reshape(1) if isinstance(each, Tensor) else each for each in (input_lengths, target_lengths)
        )
    if not 0 <= blank < steps.shape[2]:
        raise RuntimeError("[ctc_loss] blank must be in label range")
    of_inputs = _lengths("input_lengths", input_lengths, steps.shape[1])
    of_targets = _lengths("target_lengths", target_lengths, steps.shape[1])
    for length in of_inputs:
        if length > steps.shape[0]:
            raise RuntimeError(
                f"[ctc_loss] Expected input_lengths to have value at most {steps.shape[0]}, but got value {length}"
            )
    _require_targets(targets, of_targets)
    (wide,) = widened(steps)
    lengths = (
        minidynamo.tensor(of_inputs, dtype=minidynamo.int64),
        minidynamo.tensor(of_targets, dtype=minidynamo.int64),
    )
    losses = prims.ctc_losses(wide, targets.long(), *lengths, blank).to(steps.dtype)
    if zero_infinity:
        losses = minidynamo.where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        return (losses / lengths[1].clamp(min=1)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses.squeeze(0) if single else losses
