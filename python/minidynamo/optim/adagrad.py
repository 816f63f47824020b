"""Adagrad: Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic optimization"
(2011)."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .fused_options import check_fused
from .optimizer import ParamsT
from .parameter_optimizer import ParameterOptimizer
from .step_numbers import add_quotient_, check_at_least_zero, checked_rate, new_number, next_step, number_of

__all__ = ["Adagrad"]


class Adagrad(ParameterOptimizer):
    """p -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps), s the sum of all g * g."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        checked_rate(lr)
        check_at_least_zero("lr_decay value", lr_decay)
        check_at_least_zero("weight_decay value", weight_decay)
        check_at_least_zero("initial_accumulator_value value", initial_accumulator_value)
        check_at_least_zero("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        # Unlike that of other optimizers the state is there before the first step.
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = self._initial_state(parameter, group)

    def share_memory(self) -> None:
        """Has processes that are forked share the sums. Raises RuntimeError where tensors cannot."""
        for state in self.state.values():
            share = getattr(state["sum"], "share_memory_", None)
            if share is None:
                raise RuntimeError("share_memory(): tensors of this build cannot be shared between processes")
            share()

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        value = group["initial_accumulator_value"]
        start = complex(value, value) if parameter.is_complex() else value
        return {"step": new_number(), "sum": minidynamo.zeros_like(parameter).detach() + start}

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        step, lr = next_step(state), number_of(group["lr"])
        total = state["sum"].addcmul_(gradient, gradient, value=1)
        root = total.sqrt().add_(group["eps"])
        add_quotient_(parameter, gradient, root, -(lr / (1 + (step - 1) * group["lr_decay"])))


_explain_missing(__name__)
