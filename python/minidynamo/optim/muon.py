"""Muon: Jordan and others, "Muon: an optimizer for hidden layers in neural networks" (2024)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer
from .step_numbers import add_scaled_, number_of

__all__ = ["Muon"]

# By the name of adjust_lr_fn: the factor of the learning rate for a matrix of that many rows and columns.
_ADJUSTMENTS: dict[str | None, Callable[[int, int], float]] = {
    None: lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


class Muon(ParameterOptimizer):
    """p -= lr * o, where o has the singular vectors of the moving average of g, and singular values near 1."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{what} should be >= 0 but is: {value}")
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.size()}"
                    )

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if parameter.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return {"momentum_buffer": minidynamo.zeros_like(parameter)}

    def _update_with(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._update(parameter, gradient, state, group)

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, momentum = number_of(group["lr"]), group["momentum"]
        average = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
        ahead = gradient.lerp(average, momentum) if group["nesterov"] else average
        direction = _orthogonalised(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
        parameter.mul_(1 - lr * group["weight_decay"])
        rate = lr * _ADJUSTMENTS[group["adjust_lr_fn"]](*parameter.shape)
        add_scaled_(parameter, direction.to(parameter.dtype), -rate)


def _orthogonalised(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Newton and Schulz's iteration with a polynomial of degree 5, in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    linear, cubic, quintic = coefficients
    is_tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.bfloat16().mT if is_tall else matrix.bfloat16()
    found = found / found.norm().clamp(min=eps)
    for _ in range(steps):
        gram = found @ found.mT
        factor = minidynamo.addmm(gram, gram, gram, beta=cubic, alpha=quintic)
        found = minidynamo.addmm(found, factor, found, beta=linear)
    return found.mT if is_tall else found


_explain_missing(__name__)
