"""RAdam: Liu, Jiang, He, Chen, Liu, Gao, Han, "On the variance of the adaptive learning rate and beyond" (2020)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .adam import update_moments_
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer, corrected, take_step_
from .step_numbers import check_at_least_zero, check_betas, checked_rate, new_number, next_step, number_of

__all__ = ["RAdam"]


class RAdam(ParameterOptimizer):
    """Adam from the step on where the variance of its averages of squares is known; before it, momentum alone."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_number(),
            "exp_avg": minidynamo.zeros_like(parameter),
            "exp_avg_sq": minidynamo.zeros_like(parameter),
        }

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        beta1, beta2 = group["betas"]
        mean, square = update_moments_(state, gradient, beta1, beta2)
        mean = mean / corrected(beta1, step)
        adapted = _rectified(square, step, beta2, group["eps"])
        take_step_(parameter, mean if adapted is None else mean * adapted, lr)


def _rectified(square: Tensor, step: Any, beta2: float, eps: float) -> Tensor | None:
    """What Adam's direction is multiplied by, of the shape of `square`; None: 1, while the variance is not known."""
    bias = corrected(beta2, step)
    length_at_end = 2 / (1 - beta2) - 1
    length = length_at_end - 2 * step * beta2**step / bias
    if not isinstance(length, Tensor) and length <= 5.0:
        return None
    variance = (length - 4) * (length - 2) * length_at_end / ((length_at_end - 4) * (length_at_end - 2) * length)
    adapted = bias**0.5 / (square.sqrt().add_(eps)) * variance**0.5
    return minidynamo.where(length > 5.0, adapted, 1.0) if isinstance(length, Tensor) else adapted


_explain_missing(__name__)
