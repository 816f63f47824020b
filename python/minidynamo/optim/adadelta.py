"""Adadelta: Zeiler, "ADADELTA: an adaptive learning rate method" (2012)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer, take_step_
from .step_numbers import check_at_least_zero, checked_rate, new_number, next_step, number_of

__all__ = ["Adadelta"]


class Adadelta(ParameterOptimizer):
    """p -= lr * d, d = g * sqrt(u + eps) / sqrt(v + eps), where u and v are moving averages of d * d and g * g."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least_zero("epsilon value", eps)
        check_at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_number(),
            "square_avg": minidynamo.zeros_like(parameter),
            "acc_delta": minidynamo.zeros_like(parameter),
        }

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        next_step(state)
        rho, eps = group["rho"], group["eps"]
        square = state["square_avg"].mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        changes = state["acc_delta"]
        change = (changes + eps).sqrt_().div_((square + eps).sqrt_()).mul_(gradient)
        changes.mul_(rho).addcmul_(change, change, value=1 - rho)
        take_step_(parameter, change, number_of(group["lr"]))


_explain_missing(__name__)
