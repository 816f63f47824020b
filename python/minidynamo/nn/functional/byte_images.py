"""Resamples byte images with integer weights, rounding after each dim, as torch does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import minidynamo

from ..._C import Tensor

__all__: list[str] = []

# Fraction bits of the weights, reduced so that the largest weight fits into 16 bits with its sign.
_BITS = 22
_LEAST_BITS = 14  # no weight is 2


def _whole_weights(weights: list[Tensor]) -> list[Tensor]:
    """As fractions of 2**_BITS."""
    largest = weights[0].max()
    for weight in weights[1:]:
        largest = largest.maximum(weight.max())
    step = minidynamo.ones((), dtype=largest.dtype)
    for bits in range(_BITS - 1, _LEAST_BITS - 1, -1):
        fits = largest * float(2 << bits) + 0.5 < 32768
        step = minidynamo.where(fits, step, float(1 << (_BITS - bits)))
    unit = float(1 << _BITS) / step
    return [(((weight * unit).abs() + 0.5).floor().copysign(weight) * step).int() for weight in weights]


def _rounded(total: Tensor, dtype: Any) -> Tensor:
    return ((total + (1 << (_BITS - 1))) >> _BITS).clamp(0, 255).to(dtype)


def weigh_bytes(input: Tensor, dim: int, indices: list[Tensor], weights: list[Tensor]) -> Tensor:
    """The sum over the taps of input.index_select(dim, indices[tap]) * weights[tap], rounded half up, within 0 to 255.

    indices increase from tap to tap; weights are float64. Taps that coincide at a border are merged and rounded once.
    """
    taps = list(weights)
    for at, (below, above) in enumerate(pairwise(indices)):
        met = below == above
        taps[at + 1] = minidynamo.where(met, taps[at] + taps[at + 1], taps[at + 1])
        taps[at] = taps[at].masked_fill(met, 0.0)
    shape = [1] * input.dim()
    shape[dim] = -1
    total: Any = None
    for index, weight in zip(indices, _whole_weights(taps), strict=True):
        part = input.index_select(dim, index).int() * weight.reshape(shape)
        total = part if total is None else total + part
    return _rounded(total, input.dtype)


def weigh_bytes_of_windows(windows: Tensor, dim: int, weights: Tensor) -> Tensor:
    """The sum over the dim behind `dim`; weights are float64, of the sizes of both dims."""
    shape = [1] * windows.dim()
    shape[dim : dim + 2] = weights.shape
    whole = _whole_weights([weights])[0].reshape(shape)
    return _rounded((windows.int() * whole).sum(dim + 1), windows.dtype)
