"""Sizes as tensors, for graphs that torch exports; here they are what Python says."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Tensor) -> Tensor:
    """The sizes of x as a tensor of int64."""
    return minidynamo.tensor(list(x.shape), dtype=minidynamo.int64)


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """x.reshape(sizes in a tensor)."""
    return x.reshape([int(size) for size in shape])


_explain_missing(__name__)
