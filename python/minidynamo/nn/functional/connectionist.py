"""The loss of sequences without an alignment."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting

__all__ = ["ctc_loss"]


def _lengths(name: str, lengths: Any, count: int) -> list[int]:
    values = [int(each) for each in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    if len(values) != count:
        raise RuntimeError(f"[ctc_loss] {name} must be of size batch_size")
    return values


def _rows(targets: Tensor, lengths: list[int]) -> list[Tensor]:
    """The labels of each sequence."""
    if targets.dim() == 1:
        ends = [sum(lengths[: at + 1]) for at in range(len(lengths))]
        if ends and ends[-1] > targets.shape[0]:
            raise RuntimeError("[ctc_loss] Expected tensor for argument targets to be as long as its lengths")
        return [targets[end - length : end] for end, length in zip(ends, lengths)]
    longest = max(lengths, default=0)
    if targets.shape[0] != len(lengths) or targets.shape[1] < longest:
        raise RuntimeError(
            "[ctc_loss] Expected tensor to have size at least"
            f" {longest} at dimension 1, but got size {list(targets.shape)} for argument #2 'targets'"
        )
    return [targets[at, :length] for at, length in enumerate(lengths)]


def _batch_of_labels(rows: list[Tensor], blank: int) -> tuple[Tensor, Tensor]:
    """(labels between blanks (N, S), which of them may follow the label two before)."""
    longest = max([row.shape[0] for row in rows])
    labels = rows[0].new_full((len(rows), 2 * longest + 1), blank).to(minidynamo.int64)
    for at, row in enumerate(rows):
        labels[at, 1 : 2 * row.shape[0] : 2] = row
    skips = minidynamo.zeros_like(labels, dtype=minidynamo.bool)
    if longest > 0:
        skips[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return labels, skips


def _negative_logarithms(steps: Tensor, rows: list[Tensor], input_lengths: list[int], blank: int) -> Tensor:
    """(N,), by the forward recurrence over the states of all sequences at once."""
    labels, skips = _batch_of_labels(rows, blank)
    count, states = labels.shape
    at_labels = steps.gather(2, labels.unsqueeze(0).expand(steps.shape[0], -1, -1))
    lengths = minidynamo.tensor(input_lengths)
    nothing = steps.new_full((count, states), -math.inf)
    alpha = nothing.clone()
    alpha[:, 0] = 0.0
    before_first = alpha
    for step in range(steps.shape[0]):
        two = [each for each in (1, 2) if each < states or each == 1]
        if step == 0:
            reached = before_first.clone()
            if states > 1:
                reached[:, 1] = 0.0
        else:
            moved = [alpha]
            for by in two:
                shifted = minidynamo.cat([nothing[:, :by], alpha[:, : states - by]], 1)[:, :states]
                moved.append(shifted if by == 1 else minidynamo.where(skips, shifted, -math.inf))
            reached = minidynamo.logsumexp(minidynamo.stack(moved), 0)
        alpha = minidynamo.where((lengths > step).unsqueeze(1), reached + at_labels[step], alpha)
    ends = minidynamo.tensor([2 * row.shape[0] for row in rows]).unsqueeze(1)
    last = alpha.gather(1, ends)
    previous = minidynamo.where(ends > 0, alpha.gather(1, (ends - 1).clamp(min=0)), -math.inf)
    total = minidynamo.logaddexp(last, previous).squeeze(1)
    empty = minidynamo.tensor([length == 0 for length in input_lengths])
    without = minidynamo.where(ends.squeeze(1) == 0, 0.0, -math.inf).to(steps.dtype)
    return -minidynamo.where(empty, without, total)


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
    losses = _negative_logarithms(steps, _rows(targets, of_targets), of_inputs, blank)
    if zero_infinity:
        losses = minidynamo.where(losses == math.inf, 0.0, losses)
    if reduction == "mean":
        return (losses / minidynamo.tensor(of_targets).clamp(min=1)).mean()
    if reduction == "sum":
        return losses.sum()
    return losses.squeeze(0) if single else losses
