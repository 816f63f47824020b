"""Attention with a function of the scores, by name: it needs generated kernels, and raises what to use instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

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


_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What else flex_attention() is asked for, for arguments."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What flex_attention() gives for an AuxRequest."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def and_masks(*mask_mods: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A mask that is True where all are."""
    return _joined(mask_mods, True, "and")


def or_masks(*mask_mods: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A mask that is True where one of them is."""
    return _joined(mask_mods, False, "or")


def _joined(mask_mods: Sequence[Callable[..., Tensor]], start: bool, name: str) -> Callable[..., Tensor]:
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def joined(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
        result = batch.new_full((), start, dtype=minidynamo.bool)
        for each in mask_mods:
            found = each(batch, head, token_q, token_kv)
            result = result & found if name == "and" else result | found
        return result

    return joined


_explain_missing(__name__)
