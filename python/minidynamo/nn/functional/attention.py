"""Attention."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import is_autocasting, low_precision
from ..._composites.registry import widened

__all__ = ["bilinear", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.mT * scale + mask) @ value: (..., L, E), (..., S, E), (..., S, V) give (..., L, V).

    attn_mask   bool, True where a key takes part, or numbers that are added; broadcasts to (..., L, S)
    scale       1 / sqrt(E) when None
    enable_gqa  key and value have fewer heads (dim -3), each for several heads of query
    A row without any key yields 0.
    """
    if is_autocasting():
        return low_precision(
            scaled_dot_product_attention, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
        )
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() < 2:
            raise RuntimeError(
                "[scaled_dot_product_attention] Expected query, key, and value to all be at least 2"
                f" dimensional, but {name}"
                f" has shape {tuple(tensor.shape)}"
            )
        if tensor.dtype != query.dtype:
            raise RuntimeError(
                f"[scaled_dot_product_attention] Expected query, key, and value to have the same dtype, but got"
                f" {query.dtype}, {key.dtype} and {value.dtype}"
            )
    if is_causal and attn_mask is not None:
        raise RuntimeError("[scaled_dot_product_attention] Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        heads = query.shape[-3]
        key = minidynamo.repeat_interleave(key, heads // key.shape[-3], -3)
        value = minidynamo.repeat_interleave(value, heads // value.shape[-3], -3)
    dtype = query.dtype
    query, key, value = widened(query, key, value)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor).matmul(key.transpose(-2, -1))
    if is_causal:
        attn_mask = minidynamo.ones(query.shape[-2], key.shape[-2], dtype=minidynamo.bool).tril()
    if attn_mask is None:
        weights = scores.softmax(-1)
    elif attn_mask.dtype == minidynamo.bool:
        # NaN where no key is left.
        weights = scores.masked_fill(~attn_mask, -math.inf).softmax(-1)
        weights = weights.masked_fill(~attn_mask.any(-1, True), 0.0)
    else:
        weights = (scores + attn_mask).softmax(-1)
        weights = weights.masked_fill((attn_mask == -math.inf).all(-1, True), 0.0)
    if dropout_p > 0:
        weights = minidynamo.nn.functional.dropout(weights, dropout_p)
    return weights.matmul(value).to(dtype)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """input1 (*, A), weight (O, A, B) and input2 (*, B) multiplied to (*, O), plus bias (O,)."""
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"[bilinear] input batch dimensions do not match; shapes {tuple(input1.shape)} and {tuple(input2.shape)}"
        )
    result = minidynamo.einsum("...a,oab,...b->...o", input1, weight, input2)
    if is_autocasting():
        result = result.to(input1.dtype)
    return result if bias is None else result + bias
