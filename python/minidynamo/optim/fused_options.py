"""The options that choose an implementation in torch: there is one here, so that only contradictions matter."""

from __future__ import annotations

from typing import Any

from .._C import Tensor


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """RuntimeError for options that exclude each other."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_tensor_option(name: str, value: Any, foreach: bool | None, capturable: bool) -> None:
    """ValueError for a tensor as option together with foreach, as in torch."""
    if isinstance(value, Tensor) and foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
