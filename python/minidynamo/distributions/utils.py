"""Parameters of distributions: broadcast together, and probabilities in their two forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers, broadcast to one shape. Numbers get the dtype of the first tensor, or the default dtype."""
    if not all(isinstance(value, (Tensor, int, float)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    like = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = minidynamo.get_default_dtype() if like is None else like.dtype
    return tuple(
        minidynamo.broadcast_tensors(
            *[value if isinstance(value, Tensor) else minidynamo.full((), value, dtype=dtype) for value in values]
        )
    )


def clamp_probs(probs: Tensor) -> Tensor:
    """Away from 0 and 1 by the dtype's epsilon, for logarithms."""
    eps = minidynamo.finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: by sigmoid, or by softmax over the last dim."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of probabilities, or of the odds where is_binary."""
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A method that is called when its attribute is first read; the result takes its place."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of a lower triangle, row by row: (..., n, n) gives (..., k)."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = minidynamo.tril_indices(n, n, diag).unbind(0)
    return mat[..., rows, columns]


_explain_missing(__name__)
