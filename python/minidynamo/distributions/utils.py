"""Parameters of distributions: broadcast together, and probabilities in their two forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
    return minidynamo.randn(tuple(shape), dtype=dtype, device=device)


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


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of tril_matrix_to_vec: (..., k) gives (..., n, n), 0 above the diagonal of this number."""
    k = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * k + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not round(n) - n <= minidynamo.finfo(vec.dtype).eps:
        raise ValueError(f"The size of last dimension is {k} which cannot be expressed as the lower triangular part.")
    n = round(n.real) if isinstance(n, complex) else round(n)
    rows, columns = minidynamo.tril_indices(n, n, diag).unbind(0)
    flat = vec.new_zeros([*vec.shape[:-1], n * n])
    index = (rows * n + columns).expand(vec.shape)
    return flat.scatter(-1, index, vec).reshape([*vec.shape[:-1], n, n])


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last dims, as many as dim."""
    return value if dim == 0 else value.reshape([*value.shape[: value.dim() - dim], -1]).sum(-1)


_explain_missing(__name__)
