"""Attention of several heads with projections."""

from __future__ import annotations

import math
import warnings
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import cast, is_autocasting

__all__ = ["multi_head_attention_forward"]


def _as_added(mask: Tensor | None, dtype: minidynamo.dtype) -> Tensor | None:
    """A bool mask as numbers to add: -inf where it is True."""
    if mask is None or mask.dtype != minidynamo.bool:
        return mask
    return minidynamo.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)


def joined_mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    batch: int,
    heads: int,
    added: int,
    dtype: minidynamo.dtype,
) -> Tensor | None:
    """Both masks merged into one of numbers that broadcasts to (N, heads, L, S); None: there is none."""
    attn_mask, key_padding_mask = _as_added(attn_mask, dtype), _as_added(key_padding_mask, dtype)
    if added > 0:
        attn_mask = None if attn_mask is None else minidynamo.nn.functional.pad(attn_mask, (0, added))
        key_padding_mask = (
            None if key_padding_mask is None else minidynamo.nn.functional.pad(key_padding_mask, (0, added))
        )
    if attn_mask is not None and attn_mask.dim() == 3:
        attn_mask = attn_mask.reshape(batch, heads, attn_mask.shape[1], attn_mask.shape[2])
    if key_padding_mask is None:
        return attn_mask
    padding = key_padding_mask.reshape(batch, 1, 1, key_padding_mask.shape[-1])
    return padding if attn_mask is None else attn_mask + padding


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor | None, weights: Any, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """By `weight` (3 E, E), or else by the three `weights`."""
    linear = minidynamo.nn.functional.linear
    width = query.shape[-1]
    if weight is not None and query is key and key is value:
        return linear(query, weight, bias).split(width, -1)
    weights = weights if weight is None else weight.split(width)
    biases: Any = (None, None, None) if bias is None else bias.split(width)
    return (
        linear(query, weights[0], biases[0]),
        linear(key, weights[1], biases[1]),
        linear(value, weights[2], biases[2]),
    )


def _heads(steps: Tensor, heads: int) -> Tensor:
    """(L, N, E) as (N, heads, L, E / heads)."""
    length, batch, width = steps.shape
    return steps.reshape(length, batch, heads, width // heads).permute(1, 2, 0, 3)


def _lengthened(tensor: Tensor, more: Tensor | None) -> Tensor:
    """With one more key, the same for all of the batch."""
    return tensor if more is None else minidynamo.cat([tensor, more.expand(1, tensor.shape[1], -1)])


def _static(given: Tensor | None, computed: Tensor, batch: int, heads: int) -> Tensor:
    return computed if given is None else given.reshape(batch, heads, given.shape[1], given.shape[2])


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What MultiheadAttention computes: (results (L, N, E), weights (N, L, S)) of query, key and value (L or S, N, E).

    in_proj_weight          (3 E, E), or with use_separate_proj_weight q_, k_ and v_proj_weight
    bias_k, bias_v          one more key and value; add_zero_attn adds one of zeros
    key_padding_mask        (N, S): True where a key is left out, or numbers that are added
    attn_mask               (L, S) or (N * heads, L, S), likewise
    static_k, static_v      (N * heads, S, E / heads) in place of the projected ones
    """
    single, is_one = query.dim() == 2, query is key and key is value
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"[multi_head_attention_forward] query should be unbatched 2D or batched 3D tensor but"
            f" received {query.dim()}-D query tensor"
        )
    if single:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key, value = (query, query) if is_one else (key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"[multi_head_attention_forward] was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    if width % num_heads != 0:
        raise AssertionError(f"[multi_head_attention_forward] embed_dim {width} not divisible by num_heads {num_heads}")
    if not use_separate_proj_weight and in_proj_weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    joined = None if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(query, key, value, joined, weights, in_proj_bias)
    added = int(bias_k is not None and bias_v is not None)
    k, v = _lengthened(k, bias_k), _lengthened(v, bias_v)
    q = _heads(q, num_heads)
    k = _static(static_k, _heads(k, num_heads), batch, num_heads)
    v = _static(static_v, _heads(v, num_heads), batch, num_heads)
    if add_zero_attn:
        zeros = k.new_zeros(batch, num_heads, 1, width // num_heads)
        k, v = minidynamo.cat([k, zeros], 2), minidynamo.cat([v, zeros], 2)
        added += 1
    mask = joined_mask(attn_mask, key_padding_mask, batch, num_heads, added, q.dtype)
    drop = dropout_p if training else 0.0
    mixed, shares = _attended(q, k, v, mask, drop, need_weights)
    mixed = mixed.permute(2, 0, 1, 3).reshape(length, batch, width)
    result = minidynamo.nn.functional.linear(mixed, out_proj_weight, out_proj_bias)
    if shares is not None and average_attn_weights:
        shares = shares.mean(1)
    if single:
        return result.squeeze(1), None if shares is None else shares.squeeze(0)
    return result, shares


def _attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, drop: float, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """(mixed values, their shares where these are needed)."""
    if not need_weights:
        return minidynamo.nn.functional.scaled_dot_product_attention(q, k, v, mask, drop), None
    scores = (q * (1.0 / math.sqrt(q.shape[-1]))).matmul(k.transpose(-2, -1))
    if mask is not None and is_autocasting():
        mask = cast(mask, scores.dtype)
    shares = (scores if mask is None else scores + mask).softmax(-1)
    shares = minidynamo.nn.functional.dropout(shares, drop) if drop > 0 else shares
    return shares.matmul(v), shares


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers that are added: of bools, -inf where True. AssertionError for integers."""
    if mask is None:
        return None
    if mask.dtype != minidynamo.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    if mask.is_floating_point():
        return mask
    return minidynamo.zeros_like(mask, dtype=target_type).masked_fill(mask, float("-inf"))


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor, None for None."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
