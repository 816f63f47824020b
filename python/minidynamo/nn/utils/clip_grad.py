"""Gradients of parameters that are too large: scaled by their common norm, or bounded one by one."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [parameter.grad for parameter in given if parameter.grad is not None]


@minidynamo.no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm () of all elements of the tensors as one vector; 0 for none.

    Raises RuntimeError for one that is not finite, with error_if_nonfinite. foreach changes nothing.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return minidynamo.tensor(0.0)
    norms = [minidynamo.linalg.vector_norm(tensor, norm_type) for tensor in tensors]
    total = minidynamo.linalg.vector_norm(minidynamo.stack(norms), norm_type)
    if error_if_nonfinite and not minidynamo.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@minidynamo.no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients of the parameters by max_norm / total_norm where that is below 1. foreach changes
    nothing."""
    gradients = _gradients(parameters)
    if not gradients:
        return
    # No branch on the norm: the factor 1 changes nothing.
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients so that the norm of all of them is at most max_norm; returns the norm () that it was.

    Raises RuntimeError for one that is not finite, with error_if_nonfinite. foreach changes nothing.
    """
    is_generator = isinstance(parameters, types.GeneratorType)
    given: Any = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if is_generator and not given:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The older name of clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@minidynamo.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bounds the elements of the gradients by -clip_value and clip_value. foreach changes nothing."""
    clip_value = float(clip_value)
    for gradient in _gradients(parameters):
        gradient.clamp_(min=-clip_value, max=clip_value)


_explain_missing(__name__)
