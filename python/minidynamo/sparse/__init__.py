"""Sparse tensors by torch's names. They are kept with all their elements: results are right, memory is not saved."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.registry import require_tensor
from .._missing_names import explain_missing as _explain_missing
from .coo import DoubleTensor as DoubleTensor
from .coo import FloatTensor as FloatTensor
from .coo import SparseTensor
from .coo import sparse_of as sparse_of

__all__ = ["SparseTensor", "addmm", "check_sparse_tensor_invariants", "mm", "softmax", "sum"]


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The strided product of two matrices, of which any may be sparse. NotImplementedError for a reduce."""
    if reduce not in (None, "sum"):
        raise NotImplementedError(f"sparse.mm: minidynamo has no reduce={reduce!r}")
    return minidynamo.mm(mat1, mat2)


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """mm()"""
    require_tensor("spmm", input)
    return minidynamo.mm(input, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2)"""
    return minidynamo.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over all dims, or over some; the result is strided."""
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """softmax over the elements that are specified; the others are 0. The result is strided."""
    filled = minidynamo.where(_specified(input), input.to_dense(), -minidynamo.inf)
    return filled.softmax(dim, dtype=dtype).nan_to_num(0.0)


def _specified(input: Any) -> Tensor:
    mask = minidynamo.zeros(input.shape, dtype=minidynamo.bool)
    mask[tuple(input._indices())] = True
    return mask


class check_sparse_tensor_invariants:
    """A switch that torch has: whether new sparse tensors are checked. They always are."""

    def __init__(self, enable: bool = True) -> None:
        pass

    @staticmethod
    def is_enabled() -> bool:
        return True

    @staticmethod
    def enable() -> None:
        """Does nothing."""

    @staticmethod
    def disable() -> None:
        """Does nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        pass


_explain_missing(__name__)
