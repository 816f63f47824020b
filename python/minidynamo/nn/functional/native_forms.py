"""Functions of nn.functional that torch has at the top in another form: other orders, numbers in place of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from ..._C import Tensor
from . import activation, connectionist, grid, losses, normalization, pooling, sparse

_BAG_MODES = ("sum", "mean", "max")


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """nn.functional.batch_norm."""
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """nn.functional.instance_norm."""
    return normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """nn.functional.embedding; a negative padding_idx is none."""
    padding = None if padding_idx < 0 else padding_idx
    return _embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq)


_embedding = sparse.embedding
_embedding_bag = sparse.embedding_bag


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(the bags of nn.functional.embedding_bag, and three empty tensors for what its gradients need). mode: 0 sum, 1
    mean, 2 max."""
    found = _embedding_bag(
        indices,
        weight,
        offsets,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=_BAG_MODES[mode],
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    nothing = indices.new_empty((0,))
    return found, nothing, nothing, nothing


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """nn.functional.grid_sample; modes by their places in its documentation: 0 bilinear, 0 zeros ..."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """grid_sampler() of images."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """grid_sampler() of volumes."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


def _sampled(input: Tensor, places: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    return grid.grid_sample(input, places, grid.MODES[mode], grid.PADDINGS[padding], align_corners)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """nn.functional.affine_grid."""
    return grid.affine_grid(theta, size, align_corners)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """(nn.functional.adaptive_max_pool1d, the indices of the maxima)."""
    return pooling.adaptive_max_pool1d(input, output_size, True)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """The loss of nn.functional; reduction as of all losses here: 0 none, as by default, 1 mean, 2 sum."""
    return losses.binary_cross_entropy_with_logits(
        input, target, weight, reduction=losses.REDUCTIONS[reduction], pos_weight=pos_weight
    )


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """The loss of nn.functional."""
    return losses.kl_div(input, target, reduction=losses.REDUCTIONS[reduction], log_target=log_target)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """The loss of nn.functional."""
    return losses.poisson_nll_loss(
        input, target, log_input=log_input, full=full, eps=eps, reduction=losses.REDUCTIONS[reduction]
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """The loss of nn.functional."""
    return losses.cosine_embedding_loss(input1, input2, target, margin, reduction=losses.REDUCTIONS[reduction])


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """The loss of nn.functional."""
    return losses.hinge_embedding_loss(input, target, margin, reduction=losses.REDUCTIONS[reduction])


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """The loss of nn.functional."""
    return losses.margin_ranking_loss(input1, input2, target, margin, reduction=losses.REDUCTIONS[reduction])


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """The loss of nn.functional."""
    return losses.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=losses.REDUCTIONS[reduction]
    )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of nn.functional."""
    return connectionist.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, losses.REDUCTIONS[reduction], zero_infinity
    )


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """nn.functional.alpha_dropout."""
    return activation.alpha_dropout(input, p, train)


def _writing(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def write(input: Tensor, p: float, train: bool) -> Tensor:
        return input.copy_(function(input, p, train))

    write.__name__ = write.__qualname__ = f"{function.__name__}_"
    write.__doc__ = f"The in-place form of {function.__name__}."
    return write


alpha_dropout_ = _writing(alpha_dropout)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels: of dim 1, for each example of dim 0."""
    return _whole_channels(input, p, train, activation.dropout)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """alpha_dropout() of whole channels: of dim 1, for each example of dim 0."""
    return _alpha_of_channels(input, p, train)


feature_dropout_ = _writing(feature_dropout)
feature_alpha_dropout_ = _writing(feature_alpha_dropout)


def _whole_channels(input: Tensor, p: float, train: bool, dropout: Callable[..., Tensor]) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    ones = input.new_ones([*input.shape[:2], *[1] * (input.dim() - 2)])
    return input * dropout(ones, p, train)


def _alpha_of_channels(input: Tensor, p: float, train: bool) -> Tensor:
    if not train or p == 0:
        return input.clone()
    # What is dropped becomes the limit of SELU at minus infinity; then mean and variance are restored.
    limit = -1.7580993408473766
    if p == 1:
        return input * 0
    a = ((1 - p) * (1 + p * limit * limit)) ** -0.5
    kept = _whole_channels(input.new_ones(input.shape), p, True, activation.dropout) != 0
    return minidynamo.where(kept, input, limit) * a + (-a * p * limit)
