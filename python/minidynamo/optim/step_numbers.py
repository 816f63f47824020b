"""Numbers of a step that tensors hold: counters, learning rates, products.

Eagerly their arithmetic is Python's, in double. While a step is captured they stay 0-d tensors of float64, which the
rest of the step computes with in the same way: nothing depends on the value, so that one graph serves all steps.
"""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor, _is_tracing


def new_number(value: float = 0.0) -> Tensor:
    """A 0-d tensor of float32, or of float64 where that is the default dtype."""
    return minidynamo.tensor(value, dtype=_dtype_of_numbers())


def rounded(value: Any) -> Tensor:
    """A number, or a 0-d tensor, as new_number() would hold it."""
    return value.to(_dtype_of_numbers()) if isinstance(value, Tensor) else new_number(value)


def _dtype_of_numbers() -> minidynamo.dtype:
    is_double = minidynamo.get_default_dtype() == minidynamo.float64
    return minidynamo.float64 if is_double else minidynamo.float32


def number_of(value: Any) -> Any:
    """A number to compute with: of a tensor its element, or while capturing itself as float64, 0-d."""
    if not isinstance(value, Tensor):
        return value
    if _is_tracing():
        return value.detach().double().reshape(())
    return value.item()


def next_step(state: dict[str, Any]) -> Any:
    """Counts a step; returns how many there were, for arithmetic."""
    step = state["step"]
    step += 1
    return number_of(step)


def set_number(tensor: Tensor, value: Any) -> None:
    """Writes a number or 0-d tensor into a 0-d tensor."""
    if isinstance(value, Tensor):
        tensor.copy_(value)
    else:
        tensor.fill_(value)


def add_scaled_(target: Tensor, direction: Tensor, factor: Any) -> None:
    """target += factor * direction, of one shape; factor is a number or 0-d."""
    if isinstance(factor, Tensor):
        target.add_(direction * factor)
    else:
        target.add_(direction, alpha=factor)


def add_quotient_(target: Tensor, numerator: Tensor, denominator: Tensor, factor: Any) -> None:
    """target += factor * numerator / denominator, of one shape; factor is a number or 0-d."""
    if isinstance(factor, Tensor):
        target.add_(numerator / denominator * factor)
    else:
        target.addcdiv_(numerator, denominator, value=factor)


def checked_rate(lr: Any) -> None:
    """ValueError for a learning rate that is a tensor of several elements, or that is not at least 0."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_at_least_zero("learning rate", lr)


def check_at_least_zero(what: str, value: Any) -> None:
    number = value.item() if isinstance(value, Tensor) else value
    if not 0.0 <= number:
        raise ValueError(f"Invalid {what}: {number}")


def check_betas(betas: tuple[Any, Any]) -> None:
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
