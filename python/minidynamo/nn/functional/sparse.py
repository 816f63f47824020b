"""One-hot vectors, and sums of rows of a table."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor, _as_size
from ..._composites.registry import prims, require_data, widened

__all__ = ["embedding", "embedding_bag", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows `input` of weight.

    max_norm scales the rows that are used to that norm at most, in weight itself. In the gradient of weight the row
    padding_idx is zero, and with scale_grad_by_freq each row is divided by how often input has it. Gradients are dense:
    sparse changes nothing.
    """
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if max_norm is not None:
        used = minidynamo.zeros(weight.shape[0]).index_fill(0, input.reshape(-1), 1.0).unsqueeze(1) != 0
        (norms,) = widened(weight.detach().norm(norm_type, 1, keepdim=True))
        scale = minidynamo.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1.0)
        with minidynamo.no_grad():
            weight.mul_(scale)
    rows = prims.embedding(input, weight)
    if (padding_idx is None and not scale_grad_by_freq) or not (weight.requires_grad and minidynamo.is_grad_enabled()):
        return rows
    return _with_slopes(rows, input, weight.shape[0], padding_idx, scale_grad_by_freq)


def _with_slopes(rows: Tensor, input: Tensor, count: int, padding_idx: int | None, by_frequency: bool) -> Tensor:
    """The same rows, through which gradients go back as embedding() says."""
    values = rows.detach()
    if by_frequency:
        ones = minidynamo.ones(input.numel(), dtype=rows.dtype)
        times = minidynamo.zeros(count, dtype=rows.dtype).index_add(0, input.reshape(-1), ones)
        scaled = values + (rows - values) / prims.embedding(input, times.unsqueeze(1))
        rows = minidynamo.where(values.isfinite(), scaled, rows)
    if padding_idx is not None:
        rows = minidynamo.where((input == padding_idx % count).unsqueeze(-1), values, rows)
    return rows


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros except for a 1 at the index given by each element, in a new last dim of size num_classes.

    -1 stands for one more than the largest element: see config.capture_dynamic_output_shape_ops.
    """
    if tensor.dtype != minidynamo.int64:
        raise RuntimeError(f"[one_hot] is only applicable to index tensor of type LongTensor, got {tensor.dtype}")
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("[one_hot] Can not infer total number of classes from empty tensor.")
        require_data((tensor >= 0).all(), "[one_hot] Class values must be non-negative.")
        num_classes = _as_size(tensor.max() + 1)
    elif num_classes < 1 and tensor.numel() > 0:
        raise RuntimeError("[one_hot] num_classes should be positive")
    return minidynamo.zeros((*tensor.shape, num_classes), dtype=minidynamo.int64).scatter(-1, tensor.unsqueeze(-1), 1)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or max of the rows of weight selected by each bag: (B, D).

    Bags are the rows of input (B, N), or the parts of input (N) that begin at offsets (B), of which the last is the
    end of the last bag with include_last_offset. Indices padding_idx are ignored; an empty bag yields zeros. max_norm
    scales the rows that are used to that norm at most, in weight itself.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("embedding_bag(): mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"[embedding_bag] per_sample_weights was not None, which is only supported for mode='sum', not {mode!r}"
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError("embedding_bag(): If per_sample_weights is not None, it must have the same shape as the input")
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise RuntimeError("[embedding_bag] padding_idx must be within the number of embeddings")
        padding_idx = padding_idx % weight.shape[0]
    bag, count = _bags(input, offsets, include_last_offset)
    flat = input.reshape(-1)
    rows: Any = embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if mode != "max":
        (rows,) = widened(rows)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    used = None if padding_idx is None else flat != padding_idx
    if offsets is None and used is None:
        rows = rows.reshape(*input.shape, weight.shape[1])
        sums = mode == "sum" or input.shape[1] == 0
        result = rows.sum(1) if sums else rows.mean(1) if mode == "mean" else rows.amax(1)
    else:
        result = _reduced_bags(rows, bag, count, used, mode)
    return result.to(weight.dtype)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Any, int]:
    """The number of the bag of each index, flat, and how many bags there are."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "embedding_bag(): if input is 2D, then offsets has to be None, as input is treated is a mini-batch"
            )
        numbers = minidynamo.arange(input.shape[0], device=input.device).unsqueeze(1)
        return numbers.expand(input.shape).reshape(-1), input.shape[0]
    if input.dim() != 1:
        raise ValueError(f"embedding_bag(): input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None:
        raise ValueError("embedding_bag(): offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError(f"embedding_bag(): offsets has to be a 1D Tensor but got Tensor of dimension {offsets.dim()}")
    starts = offsets[:-1] if include_last_offset else offsets
    places = minidynamo.arange(input.shape[0])
    # The number of bags that have begun at a position, minus one.
    return minidynamo.searchsorted(starts.long().contiguous(), places, right=True) - 1, starts.shape[0]


def _reduced_bags(rows: Tensor, bag: Tensor, count: int, used: Any, mode: str) -> Tensor:
    """Reduces rows (N, D) by bag, ignoring unused ones."""
    width = rows.shape[1]
    kept = minidynamo.ones(rows.shape[0], dtype=rows.dtype) if used is None else used.to(rows.dtype)
    # A separate position collects rows in no bag: by torch's rules the first offset is 0, so there are none.
    bag = bag.clamp(min=0)
    sizes = minidynamo.zeros(count, dtype=rows.dtype).index_add(0, bag, kept).unsqueeze(1)
    if mode == "max":
        # The maximum per bag and column, by comparing every bag with every row.
        member = (minidynamo.arange(count).unsqueeze(1) == bag) & (kept != 0)
        spread = minidynamo.where(member.unsqueeze(2), rows, float("-inf"))
        largest = spread.amax(1) if rows.shape[0] > 0 else minidynamo.zeros(count, width, dtype=rows.dtype)
        return minidynamo.where(sizes > 0, largest, 0.0)
    if used is not None:
        rows = minidynamo.where(used.unsqueeze(1), rows, 0.0)
    total = minidynamo.zeros(count, width, dtype=rows.dtype).index_add(0, bag, rows)
    return total if mode == "sum" else total / sizes.clamp(min=1)
