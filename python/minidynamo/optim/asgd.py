"""Averaged stochastic gradient descent: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging"
(1992), with the rates of Xu, "Towards optimal one pass large scale learning with averaged stochastic gradient
descent" (2011)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer, take_step_
from .step_numbers import check_at_least_zero, checked_rate, new_number, next_step, number_of, rounded, set_number

__all__ = ["ASGD"]


class ASGD(ParameterOptimizer):
    """p = p * (1 - lambd * eta) - eta * g, eta = lr / (1 + lambd * lr * t) ** alpha; state "ax" is p's average since
    t0."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        checked_rate(lr)
        check_at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
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
            "eta": new_number() + number_of(group["lr"]),
            "mu": new_number(1.0),
            "ax": minidynamo.zeros_like(parameter),
        }

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        eta, share = number_of(state["eta"]), number_of(state["mu"])
        parameter.mul_(1 - group["lambd"] * eta)
        take_step_(parameter, gradient, eta)
        average = state["ax"]
        if isinstance(share, Tensor):
            average.copy_(minidynamo.where(share == 1, parameter, average + (parameter - average) * share))
        elif share == 1:
            average.copy_(parameter)
        else:
            average.add_((parameter - average) * share)
        # In float32, whatever the dtype of the state, as torch has them.
        set_number(state["eta"], rounded(lr / (1 + group["lambd"] * lr * step) ** group["alpha"]))
        since = step - group["t0"]
        set_number(state["mu"], rounded(1 / (since.clamp(min=1) if isinstance(since, Tensor) else max(1, since))))


_explain_missing(__name__)
