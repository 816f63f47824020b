"""Losses. reduction: "none" gives one for each element or row, "mean" and "sum" one number."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from ..._composites.registry import prims, require_data, widened

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]


# In the order of torch's numbers for them.
REDUCTIONS = ("none", "mean", "sum")


def _require_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction != "none":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return loss


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """(input - target) ** 2."""
    if is_autocasting():
        return full_precision(mse_loss, input, target, size_average, reduce, reduction)
    return _reduced((input - target).square(), reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """|input - target|."""
    if is_autocasting():
        return full_precision(l1_loss, input, target, size_average, reduce, reduction)
    return _reduced((input - target).abs(), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the square over beta where |input - target| is below beta, else the distance less half of beta."""
    if is_autocasting():
        return full_precision(smooth_l1_loss, input, target, size_average, reduce, reduction, beta)
    if beta < 0:
        raise RuntimeError(f"[smooth_l1_loss] does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    distance = (input - target).abs()
    return _reduced(
        minidynamo.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta), reduction
    )


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Half the square where |input - target| is at most delta, else delta times the distance less half of delta."""
    if is_autocasting():
        return full_precision(huber_loss, input, target, reduction, delta)
    if delta <= 0:
        raise RuntimeError(f"[huber_loss] does not support non-positive values for delta, got {delta}")
    dtype = minidynamo.promote_types(input.dtype, target.dtype)
    wide_input, wide_target = widened(input, target)
    distance = (wide_input - wide_target).abs()
    far = delta * (distance - 0.5 * delta)
    loss = minidynamo.where(distance <= delta, 0.5 * distance * distance, far)
    return _reduced(loss.to(dtype), reduction)


def _cross_entropy(input: Tensor, target: Tensor) -> Tensor:
    return (target - 1) * (-input).log1p().clamp(min=-100) - target * input.log().clamp(min=-100)


def _limited_cross_entropy(input: Tensor, target: Tensor) -> Tensor:
    """The logarithms at least -100, the slope (input - target) / max(input * (1 - input), 1e-12)."""
    if not input.requires_grad:
        return _cross_entropy(input, target)
    is_limited = (1 - input) * input < 1e-12
    inside = _cross_entropy(minidynamo.where(is_limited, 0.5, input), target)
    fixed = input.detach()
    steep = _cross_entropy(fixed, target) + ((fixed - target.detach()) * 1e12) * (input - fixed)
    return minidynamo.where(is_limited, steep, inside)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), each logarithm at least -100; input in [0, 1]."""
    if is_autocasting():
        return full_precision(binary_cross_entropy, input, target, weight, size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy(): Using a target size ({tuple(target.shape)}) that is different to the input size"
            f" ({tuple(input.shape)}) is deprecated. Please ensure they have the same size."
        )
    loss = _limited_cross_entropy(input, target)
    return _reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without intermediate overflow; pos_weight weighs the positive targets."""
    if is_autocasting():
        return full_precision(
            binary_cross_entropy_with_logits, input, target, weight, size_average, reduce, reduction, pos_weight
        )
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits(): Target size ({tuple(target.shape)}) must be the same as input size"
            f" ({tuple(input.shape)})"
        )
    log_sigmoid = minidynamo.nn.functional.logsigmoid(input)
    if pos_weight is None:
        loss = (1 - target) * input - log_sigmoid
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * log_sigmoid
    return _reduced(loss if weight is None else loss * weight, reduction)


def _class_dim(op: str, input: Tensor) -> int:
    if input.dim() == 0:
        raise ValueError(f"{op}(): Expected 1 or more dimensions (got 0)")
    return 0 if input.dim() == 1 else 1


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative of each log probability, input (N, C, ...), that the class target (N, ...) names, times its
    weight."""
    if is_autocasting():
        return full_precision(nll_loss, input, target, weight, size_average, ignore_index, reduce, reduction)
    dim = _class_dim("nll_loss", input)
    sizes, given = input.shape, target.shape
    if len(sizes) != len(given) + 1 or sizes[:dim] != given[:dim] or sizes[dim + 1 :] != given[dim:]:
        raise ValueError(
            f"nll_loss(): Expected input batch_size and sizes to match target's; shapes {tuple(input.shape)} and"
            f" {tuple(target.shape)}"
        )
    if not minidynamo.compiler.is_compiling() and target.dtype == minidynamo.int64 and input.is_floating_point():
        # In graphs several operations are fused with what is around them.
        loss, weights, place = prims.class_losses(input, target, dim, ignore_index)
        if weight is not None:
            weights = weights * weight[place].squeeze(dim)
            loss = loss * weights
        return loss.sum() / weights.sum() if reduction == "mean" else _reduced(loss, reduction)
    kept = target != ignore_index
    place = minidynamo.where(kept, target, 0).unsqueeze(dim)
    chosen = prims.chosen_classes(input, dim, place).squeeze(dim)
    weights = kept.to(input.dtype)
    if weight is not None:
        weights = weights * weight[place].squeeze(dim)
    loss = minidynamo.where(kept, -chosen * weights, 0.0)
    return loss.sum() / weights.sum() if reduction == "mean" else _reduced(loss, reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax(input): input (N, C, ...), target the classes (N, ...) or their probabilities (N, C,
    ...)."""
    if is_autocasting():
        return full_precision(
            cross_entropy, input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing
        )
    if label_smoothing < 0 or label_smoothing > 1:
        raise RuntimeError(f"[cross_entropy] label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = _class_dim("cross_entropy", input)
    logs = input.log_softmax(dim)
    classes = input.shape[dim]
    shape = [1] * input.dim()
    shape[dim] = classes
    if target.is_floating_point():
        if target.shape != input.shape:
            raise RuntimeError(
                "[cross_entropy] Expected floating point type for target with class probabilities and of the"
                " input's shape;"
                f" shapes {tuple(input.shape)} and {tuple(target.shape)}"
            )
        if label_smoothing > 0:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        weighed = logs * target if weight is None else logs * target * weight.reshape(shape)
        loss = -weighed.sum(dim)
        rows = input.numel() // classes if classes > 0 else 0
        return loss.sum() / rows if reduction == "mean" else _reduced(loss, reduction)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0:
        return loss
    smooth = -(logs if weight is None else logs * weight.reshape(shape)).sum(dim)
    kept = target != ignore_index
    smooth = minidynamo.where(kept, smooth, 0.0)
    if reduction == "mean":
        weights = kept.to(input.dtype)
        if weight is not None:
            weights = weights * weight[minidynamo.where(kept, target, 0).unsqueeze(0)].squeeze(0)
        smooth = smooth.sum() / weights.sum()
    else:
        smooth = _reduced(smooth, reduction)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log(target) - input), input being log probabilities; "batchmean" divides the sum by the size of dim
    0."""
    if is_autocasting():
        return full_precision(kl_div, input, target, size_average, reduce, reduction, log_target)
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = minidynamo.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() > 0 else loss.sum()
    return _reduced(loss, reduction)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The dot product along dim of x1 and x2 divided by their norms, each at least eps."""
    dtype = minidynamo.promote_types(x1.dtype, x2.dtype)
    x1, x2 = minidynamo.broadcast_tensors(*widened(x1.to(dtype), x2.to(dtype)))
    length = x1.norm(2, dim).clamp(min=eps) * x2.norm(2, dim).clamp(min=eps)
    return ((x1 * x2).sum(dim) / length).to(dtype)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim."""
    return (x1 - x2 + eps).norm(p, -1, keepdim)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - the cosine where target is 1, the cosine above the margin where it is -1."""
    if is_autocasting():
        return full_precision(cosine_embedding_loss, input1, input2, target, margin, size_average, reduce, reduction)
    eps = 1e-12
    product = (input1 * input2).sum(-1)
    cosine = product / ((input1.square().sum(-1) + eps) * (input2.square().sum(-1) + eps)).sqrt()
    zero = minidynamo.zeros_like(cosine)
    loss = minidynamo.where(target == 1, 1 - cosine, zero) + minidynamo.where(
        target == -1, (cosine - margin).clamp(min=0), zero
    )
    return _reduced(loss, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    if is_autocasting():
        return full_precision(margin_ranking_loss, input1, input2, target, margin, size_average, reduce, reduction)
    return _reduced((-target * (input1 - input2) + float(margin)).clamp(min=0), reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    if is_autocasting():
        return full_precision(hinge_embedding_loss, input, target, margin, size_average, reduce, reduction)
    zero = minidynamo.zeros_like(input)
    # torch's rule: other targets count in both terms.
    far = minidynamo.where(target != 1, (margin - input).clamp(min=0), zero)
    return _reduced(far + minidynamo.where(target != -1, input, zero), reduction)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target * input))."""
    if is_autocasting():
        return full_precision(soft_margin_loss, input, target, size_average, reduce, reduction)
    return _reduced((-target * input).exp().log1p(), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance to positive - distance to negative + margin)."""
    if is_autocasting():
        return full_precision(
            triplet_margin_loss, anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction
        )
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss(): margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduced((near - far + margin).clamp(min=0), reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of Poisson counts; full adds Stirling's term."""
    if is_autocasting():
        return full_precision(poisson_nll_loss, input, target, log_input, full, size_average, eps, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + minidynamo.where(target <= 1, 0.0, stirling)
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """The negative log likelihood of normal numbers with mean input and variance var, at least eps. ValueError for a
    negative variance, and unless var has the sizes of input, without the last dim or with one dim of size 1."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * minidynamo.ones_like(input)
    else:
        require_data(~(var < 0).any(), "var has negative entry/entries", ValueError)
    if var.shape != input.shape and input.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    elif var.shape != input.shape:
        differing = [of_var for of_input, of_var in zip(input.shape, var.shape, strict=False) if of_input != of_var]
        if input.dim() != var.dim() or sum(differing) != 1:
            raise ValueError(f"gaussian_nll_loss(): var is of incorrect size {tuple(var.shape)}")
    var = var.clamp(min=eps)
    loss = 0.5 * (var.log() + (input - target).square() / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)
