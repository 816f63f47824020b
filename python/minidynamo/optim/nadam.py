"""NAdam: Dozat, "Incorporating Nesterov momentum into Adam" (2016)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .adam import update_moments_
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

__all__ = ["NAdam"]


class NAdam(ParameterOptimizer):
    """Adam with Nesterov's momentum, which grows to beta1 by beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        checked_rate(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_number(),
            "mu_product": new_number(1.0),
            "exp_avg": minidynamo.zeros_like(parameter),
            "exp_avg_sq": minidynamo.zeros_like(parameter),
        }

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        beta1, beta2 = group["betas"]
        decay = group["momentum_decay"]
        momentum = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
        next_momentum = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
        state["mu_product"] *= momentum
        product = number_of(state["mu_product"])
        mean, square = update_moments_(state, gradient, beta1, beta2)
        root = (square / corrected(beta2, step)).sqrt_().add_(group["eps"])
        add_quotient_(parameter, gradient, root, -lr * (1 - momentum) / (1 - product))
        add_quotient_(parameter, mean, root, -lr * next_momentum / (1 - product * next_momentum))


_explain_missing(__name__)
