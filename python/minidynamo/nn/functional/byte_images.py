"""Images of bytes at other resolutions, weighed in whole numbers and rounded after each dim, as torch does."""

from __future__ import annotations

from itertools import pairwise

import minidynamo

from ..._C import Tensor

__all__: list[str] = []

# Of the weights' fractions: the largest weight fits 16 bits with its sign.
_BITS = 15


def _whole_weights(weights: list[Tensor]) -> list[Tensor]:
    """Rounded to fractions of 2**_BITS; to half as many where the largest would not fit."""
    largest = weights[0].max()
    for weight in weights[1:]:
        largest = largest.maximum(weight.max())
    one = float(1 << _BITS)
    fits = (largest * one + 0.5) < one
    unit = minidynamo.where(fits, one, one / 2)
    step = minidynamo.where(fits, 1, 2)
    return [((weight * unit).abs() + 0.5).floor().copysign(weight).int() * step.int() for weight in weights]


def weigh_bytes(input: Tensor, dim: int, indices: list[Tensor], weights: list[Tensor]) -> Tensor:
    """The sum over the taps of input.index_select(dim, indices[tap]) * weights[tap], rounded half up, within 0 to 255.

    indices rise from tap to tap; weights are float64. Taps that meet at a border are one, which is rounded once.
    """
    taps = list(weights)
    for at, (below, above) in enumerate(pairwise(indices)):
        met = below == above
        taps[at + 1] = minidynamo.where(met, taps[at] + taps[at + 1], taps[at + 1])
        taps[at] = taps[at].masked_fill(met, 0.0)
    shape = [1] * input.dim()
    shape[dim] = -1
    total = None
    for index, weight in zip(indices, _whole_weights(taps), strict=True):
        part = input.index_select(dim, index).int() * weight.reshape(shape)
        total = part + (1 << (_BITS - 1)) if total is None else total + part
    assert total is not None
    return (total >> _BITS).clamp(0, 255).to(input.dtype)
