"""Attention with a function of the scores, by name: it needs generated kernels, and raises what to use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing

__all__ = ["BlockMask", "create_block_mask", "create_mask", "flex_attention", "noop_mask"]

_INSTEAD = "use functional.scaled_dot_product_attention with a mask from create_mask() or a bias"


class BlockMask:
    """For isinstance() tests and annotations: none can be constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"BlockMask is not in minidynamo: {_INSTEAD}")


def flex_attention(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"flex_attention() is not in minidynamo: {_INSTEAD}")


def create_block_mask(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"create_block_mask() is not in minidynamo: {_INSTEAD}")


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True: every query sees every key."""
    return batch.new_ones(size=(), dtype=minidynamo.bool)


def create_mask(
    mod_fn: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
    B: int | None,  # noqa: N803  torch's names
    H: int | None,  # noqa: N803
    Q_LEN: int,  # noqa: N803
    KV_LEN: int,  # noqa: N803
    device: str = "cpu",
) -> Tensor:
    """mod_fn(batch, head, query, key) at all places: a mask (B, H, Q_LEN, KV_LEN), for scaled_dot_product_attention.

    mod_fn is called once, with index tensors that broadcast against each other.
    """
    batch = minidynamo.arange(1 if B is None else B).reshape(-1, 1, 1, 1)
    head = minidynamo.arange(1 if H is None else H).reshape(-1, 1, 1)
    query = minidynamo.arange(Q_LEN).reshape(-1, 1)
    key = minidynamo.arange(KV_LEN)
    sizes = batch.shape[0], head.shape[0], Q_LEN, KV_LEN
    return mod_fn(batch, head, query, key).expand(sizes).contiguous()


_explain_missing(__name__)
