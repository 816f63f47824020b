"""Adam: Kingma and Ba, "Adam: a method for stochastic optimization" (2015); amsgrad: Reddi, Kale, Kumar, "On the
convergence of Adam and beyond" (2018); decoupled_weight_decay: Loshchilov and Hutter, "Decoupled weight decay
regularization" (2019)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .fused_options import check_fused, check_tensor_option
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

__all__ = ["Adam"]


def _check_tensor_betas(betas: tuple[Any, Any], foreach: bool | None, capturable: bool) -> None:
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if not isinstance(beta, Tensor):
            continue
        if foreach and not capturable:
            raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
        if beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")


class Adam(ParameterOptimizer):
    """p -= lr * m / (sqrt(v) + eps), where m and v are moving averages of g and g * g without their bias to 0.

    amsgrad: the largest v so far. weight_decay adds to g, or with decoupled_weight_decay shrinks p by lr *
    weight_decay. Raises ValueError for options that make no sense.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_tensor_option("lr", lr, foreach, capturable)
        checked_rate(lr)
        check_at_least_zero("epsilon value", eps)
        check_betas(betas)
        check_at_least_zero("weight_decay value", weight_decay)
        _check_tensor_betas(betas, foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {
            "step": new_number(),
            "exp_avg": minidynamo.zeros_like(parameter),
            "exp_avg_sq": minidynamo.zeros_like(parameter),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = minidynamo.zeros_like(parameter)
        return state

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        beta1, beta2 = (number_of(beta) for beta in group["betas"])
        mean, square = update_moments_(state, gradient, beta1, beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(minidynamo.maximum(largest, square))
        root = square.sqrt() / corrected(beta2, step) ** 0.5
        add_quotient_(parameter, mean, root.add_(group["eps"]), -(lr / corrected(beta1, step)))


def update_moments_(state: dict[str, Any], gradient: Tensor, beta1: Any, beta2: Any) -> tuple[Tensor, Tensor]:
    """The moving averages of the gradient and of its square, of the gradient's shape, one step on."""
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(gradient, 1 - beta1)
    square.mul_(beta2)
    if isinstance(beta2, Tensor):
        square.add_(gradient * gradient * (1 - beta2))
    else:
        square.addcmul_(gradient, gradient, value=1 - beta2)
    return mean, square


_explain_missing(__name__)
