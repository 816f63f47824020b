"""Adafactor: Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer
from .step_numbers import new_number, next_step, number_of

__all__ = ["Adafactor"]


class Adafactor(ParameterOptimizer):
    """Of the moving averages of g * g a matrix keeps those of its rows and columns, whose product stands for them."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value, is_right, words in (
            ("Learning rate", lr, 0.0 <= lr, ">= 0"),
            ("beta2_decay", beta2_decay, beta2_decay <= 0.0, "<= 0"),
            ("epsilon1", eps[0], eps[0] is None or 0.0 <= eps[0], ">= 0"),
            ("epsilon2", eps[1], 0.0 <= eps[1], ">= 0"),
            ("Clipping threshold d", d, 1.0 <= d, ">= 1"),
            ("weight_decay", weight_decay, 0.0 <= weight_decay, ">= 0"),
        ):
            if not is_right:
                raise ValueError(f"{what} should be {words} but is: {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if parameter.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if parameter.dim() < 2:
            return {"step": new_number(), "variance": minidynamo.zeros_like(parameter)}
        *stack, rows, columns = parameter.shape
        return {
            "step": new_number(),
            "row_var": parameter.new_zeros([*stack, rows, 1]),
            "col_var": parameter.new_zeros([*stack, 1, columns]),
        }

    # The parameter shrinks after its size has been taken.
    def _update_with(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        self._update(parameter, -gradient if group["maximize"] else gradient, state, group)

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        least, least_size = group["eps"]
        least = minidynamo.finfo(parameter.dtype).eps if least is None else least
        size = (_norm(parameter) / parameter.numel() ** 0.5).clamp(min=least_size)
        rate = size * _smaller(lr, step**-0.5)
        if group["weight_decay"] != 0:
            parameter.mul_(1 - lr * group["weight_decay"])
        squares = _squares(gradient, state, step ** group["beta2_decay"], least)
        update = squares.clamp(min=least * least).rsqrt() * gradient
        limit = (_norm(update) / (update.numel() ** 0.5 * group["d"])).clamp(min=1.0)
        parameter.sub_(update * (rate / limit).to(update.dtype))


def _squares(gradient: Tensor, state: dict[str, Any], weight: Any, least: float) -> Tensor:
    """The moving averages of gradient * gradient."""
    if gradient.dim() < 2:
        average: Tensor = _average_(state["variance"], gradient * gradient, weight)
        return average
    rows = _average_(state["row_var"], (gradient * gradient).mean(-1, keepdim=True), weight)
    columns = _average_(state["col_var"], (gradient * gradient).mean(-2, keepdim=True), weight)
    return rows @ columns / rows.mean(-2, keepdim=True).clamp(min=least)


def _average_(average: Tensor, value: Tensor, weight: Any) -> Any:
    return average.lerp_(value, weight.to(value.dtype) if isinstance(weight, Tensor) else weight)


def _norm(tensor: Tensor) -> Tensor:
    return tensor.norm(2).double()


def _smaller(a: Any, b: Any) -> Any:
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        return min(a, b)
    return minidynamo.minimum(*[minidynamo.as_tensor(each, dtype=minidynamo.float64) for each in (a, b)])


_explain_missing(__name__)
