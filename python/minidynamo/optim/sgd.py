"""Stochastic gradient descent with momentum: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and
momentum in deep learning" (2013), in the form of the PyTorch documentation."""

from __future__ import annotations

from typing import Any

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .fused_options import check_fused
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer, decayed, take_step_
from .step_numbers import number_of

__all__ = ["SGD"]


class SGD(ParameterOptimizer):
    """p -= lr * g, or with momentum p -= lr * b, b = momentum * b + (1 - dampening) * g, where b starts as g.

    nesterov: p -= lr * (g + momentum * b). Raises ValueError for options that make no sense.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            number = value.item() if isinstance(value, Tensor) else value
            if number < 0.0:
                raise ValueError(f"Invalid {what}: {number}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    # Without momentum a parameter has no state, not even an empty one. Complex tensors need no splitting: all is
    # linear.
    def _update_one(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        gradient = decayed(parameter, gradient, group)
        if momentum != 0:
            average = self._momentum_of(parameter, gradient, group)
            gradient = gradient.add(average, alpha=momentum) if group["nesterov"] else average
        take_step_(parameter, gradient, number_of(group["lr"]))

    def _momentum_of(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
        state = self.state[parameter]
        average = state.get("momentum_buffer")
        if average is None:
            average = state["momentum_buffer"] = gradient.detach().clone()
        else:
            average.mul_(group["momentum"]).add_(gradient, alpha=1 - group["dampening"])
        return average


_explain_missing(__name__)
