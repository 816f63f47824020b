"""Rprop: Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning" (1993)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer
from .step_numbers import checked_rate, new_number, next_step, number_of

__all__ = ["Rprop"]


class Rprop(ParameterOptimizer):
    """Each element has a step size: it grows while the sign of the gradient stays, and shrinks where it changes, in
    which case the element itself waits for a step."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = number_of(group["lr"])
        # Of a complex tensor both parts have a step size.
        size = complex(lr, lr) if parameter.is_complex() else lr
        return {
            "step": new_number(),
            "prev": minidynamo.zeros_like(parameter),
            "step_size": minidynamo.zeros_like(parameter) + size,
        }

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        next_step(state)
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        previous, size = state["prev"], state["step_size"]
        agreement = (gradient * previous).sign()
        has_turned = agreement < 0
        factor = minidynamo.where(agreement > 0, grow, minidynamo.where(has_turned, shrink, agreement * 0 + 1))
        size.mul_(factor).clamp_(smallest, largest)
        moved = gradient.masked_fill(has_turned, 0)
        parameter.addcmul_(moved.sign(), size, value=-1)
        previous.copy_(moved)


_explain_missing(__name__)
