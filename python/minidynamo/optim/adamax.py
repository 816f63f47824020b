"""Adamax: Kingma and Ba, "Adam: a method for stochastic optimization" (2015), section 7.1."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer, corrected
from .step_numbers import (
    add_quotient_,
    check_at_least_zero,
    check_betas,
    checked_rate,
    new_number,
    next_step,
    number_of,
)

__all__ = ["Adamax"]


class Adamax(ParameterOptimizer):
    """p -= lr / (1 - beta1 ** t) * m / u, where m is Adam's average of g, and u = max(beta2 * u, |g| + eps)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        checked_rate(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_number(),
            "exp_avg": minidynamo.zeros_like(parameter),
            "exp_inf": minidynamo.zeros_like(parameter),
        }

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(gradient, 1 - beta1)
        largest.copy_(minidynamo.maximum(largest * beta2, gradient.abs().add_(group["eps"])))
        add_quotient_(parameter, mean, largest, -(lr / corrected(beta1, step)))


_explain_missing(__name__)
