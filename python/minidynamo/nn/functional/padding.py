"""Padding at the ends of dims."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import full_precision, is_autocasting
from ..._composites.registry import require_tensor

__all__ = ["pad"]


def _constant(input: Tensor, pairs: list[Any], value: float) -> Tensor:
    sizes = list(input.shape)
    for dim, before, after in pairs:
        sizes[dim] = sizes[dim] + before + after
        # Sizes may depend on data: they are compared only where they can be too small.
        if (before < 0 or after < 0) and sizes[dim] < 0:
            raise RuntimeError(
                f"[pad] The input size {input.shape[dim]}, plus negative padding {before} and {after}, resulted"
                " in a negative"
                f" output size; shape {tuple(input.shape)}"
            )
    source = input
    for dim, before, after in pairs:
        if before < 0 or after < 0:
            # Slices off what negative numbers remove.
            cut = max(0, -before)
            source = source.narrow(dim, cut, source.shape[dim] - cut - max(0, -after))
    if source.requires_grad and minidynamo.is_grad_enabled():
        return _joined(source, pairs, value)
    result = inside = input.new_full(sizes, value) if value != 0 else input.new_zeros(sizes)
    for dim, before, _ in pairs:
        inside = inside.narrow(dim, max(0, before), source.shape[dim])
    inside.copy_(source)
    return result


def _joined(source: Tensor, pairs: list[Any], value: float) -> Tensor:
    """The same without a write, dim by dim: regions record no writes into tensors without a history."""
    padded = source
    for dim, before, after in pairs:
        ends = []
        for count in (before, after):
            sizes = list(padded.shape)
            sizes[dim] = max(count, 0)
            ends.append([padded.new_full(sizes, value)] if count > 0 else [])
        padded = minidynamo.cat([*ends[0], padded, *ends[1]], dim)
    return padded if padded is not source else source.clone()


def _mirrored(places: Tensor, extent: int) -> Tensor:
    places = places.abs()
    return (extent - 1) - ((extent - 1) - places).abs()


def _around(input: Tensor, dim: int, before: int, after: int) -> Tensor:
    """Wraps around, after negative numbers have removed their part."""
    extent = input.shape[dim]
    if extent + before + after < 0:
        raise RuntimeError(
            "[pad] Negative padding value is resulting in an empty dimension: padding"
            f" ({before}, {after}) at dimension {dim}; shape {tuple(input.shape)}"
        )
    kept = minidynamo.arange(max(-before, 0), extent - max(-after, 0))
    # The elements added at one end are those of the other end.
    parts = [kept]
    if before > 0:
        parts.insert(0, kept[kept.shape[0] - before :])
    if after > 0:
        parts.append(kept[:after])
    return input.index_select(dim, minidynamo.cat(parts) if len(parts) > 1 else kept)


def _by_places(input: Tensor, pairs: list[Any], mode: str) -> Tensor:
    if is_autocasting() and (mode == "replicate" or (mode == "reflect" and len(pairs) < 3)):
        return full_precision(_by_places, input, pairs, mode)
    for dim, before, after in pairs:
        extent = input.shape[dim]
        if mode == "reflect" and (before >= extent or after >= extent):
            raise RuntimeError(
                f"[pad] Padding size should be less than the corresponding input dimension, but got: padding"
                f" ({before}, {after}) at dimension {dim}; shape {tuple(input.shape)}"
            )
        if mode == "circular" and (before > extent or after > extent):
            raise RuntimeError(
                f"[pad] Padding value causes wrapping around more than once: padding ({before}, {after}) at"
                f" dimension {dim};"
                f" shape {tuple(input.shape)}"
            )
        if mode == "circular":
            input = _around(input, dim, before, after)
            continue
        places = minidynamo.arange(-before, extent + after)
        if mode == "reflect":
            places = _mirrored(places, extent)
        else:
            places = places.clamp(0, extent - 1)
        input = input.index_select(dim, places)
    return input


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """The last dims longer at their ends: pad is (before, after) of the last dim, then of the one before it, and so on.

    mode: "constant" fills with value, where negative numbers cut off; "reflect" mirrors without repeating the edge,
    "replicate" repeats the edge, "circular" wraps around.
    """
    require_tensor("pad", input)
    pad = list(pad)
    if len(pad) % 2 != 0:
        raise RuntimeError(f"[pad] Padding length must be divisible by 2, got {len(pad)}")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"[pad] Padding length should be less than or equal to two times the input dimension but got padding length"
            f" {len(pad)} and input of dimension {input.dim()}; shape {tuple(input.shape)}"
        )
    pairs = [(input.dim() - 1 - at, pad[2 * at], pad[2 * at + 1]) for at in range(len(pad) // 2)]
    if mode == "constant":
        return _constant(input, pairs, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"[pad] Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'[pad] Padding mode "{mode}" doesn\'t take in value argument')
    if not pairs or input.dim() not in (len(pairs) + 1, len(pairs) + 2) or len(pairs) > 3:
        raise NotImplementedError(
            "[pad] Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now"
            f"; padding {pad}, shape {tuple(input.shape)}"
        )
    return _by_places(input, pairs, mode)
