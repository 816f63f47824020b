"""RMSprop: Hinton, "Neural networks for machine learning", lecture 6 (2012); centered: Graves, "Generating sequences
with recurrent neural networks" (2013)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer, take_step_
from .step_numbers import add_quotient_, check_at_least_zero, checked_rate, new_number, next_step, number_of

__all__ = ["RMSprop"]


class RMSprop(ParameterOptimizer):
    """p -= lr * g / (sqrt(v) + eps), v a moving average of g * g; centered: without the square of g's own average.

    momentum: p -= lr * b, b = momentum * b + g / (sqrt(v) + eps).
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_rate(lr)
        check_at_least_zero("epsilon value", eps)
        check_at_least_zero("momentum value", momentum)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": new_number(), "square_avg": minidynamo.zeros_like(parameter)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = minidynamo.zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = minidynamo.zeros_like(parameter)
        return state

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        next_step(state)
        alpha, momentum, lr = group["alpha"], group["momentum"], number_of(group["lr"])
        square = state["square_avg"].mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(gradient, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt().add_(group["eps"])
        if momentum > 0:
            take_step_(parameter, state["momentum_buffer"].mul_(momentum).addcdiv_(gradient, root), lr)
        else:
            add_quotient_(parameter, gradient, root, -lr)


_explain_missing(__name__)
