"""ParameterOptimizer: what optimizers share that update each parameter from its own gradient and state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .optimizer import Optimizer
from .step_numbers import add_scaled_, new_number, number_of


class ParameterOptimizer(Optimizer):
    """A subclass says what the state of a parameter is, and how one is updated.

    Everything that changes is written in place. The options foreach, fused and capturable are accepted, and change
    nothing; maximize and weight_decay are dealt with here.
    """

    def _initial_state(self, parameter: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state before the first step; an entry for each tensor that is kept."""
        raise NotImplementedError

    def _update(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """One step. Elements are real: of complex tensors the real and imaginary parts are given."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Files of earlier releases of torch lack options, and have counters that are numbers.
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        for of_parameter in self.state.values():
            if isinstance(of_parameter, dict) and isinstance(of_parameter.get("step"), int | float):
                of_parameter["step"] = new_number(float(of_parameter["step"]))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient; returns what closure does, which runs with gradients."""
        loss = None
        if closure is not None:
            with minidynamo.enable_grad():
                loss = closure()
        if self.defaults.get("differentiable"):
            with minidynamo.enable_grad():
                self._update_all()
        else:
            with minidynamo.no_grad():
                self._update_all()
        return loss

    def _update_all(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is not None:
                    self._update_one(parameter, gradient, group)

    def _update_one(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state.update(self._initial_state(parameter, group))
        self._update_with(parameter, gradient, state, group)

    def _update_with(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        gradient = decayed(parameter, gradient, group)
        if parameter.is_complex():
            state = {name: real_parts(value) for name, value in state.items()}
            parameter, gradient = real_parts(parameter), real_parts(gradient)
        self._update(parameter, gradient, state, group)


def decayed(parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> Tensor:
    """The gradient to descend along, its negative to maximize, with weight_decay times the parameter.

    With decoupled_weight_decay the parameter shrinks instead: Loshchilov and Hutter, "Decoupled weight decay
    regularization" (2019).
    """
    if group["maximize"]:
        gradient = -gradient
    weight_decay = group.get("weight_decay", 0)
    if weight_decay == 0:
        return gradient
    if group.get("decoupled_weight_decay", False):
        parameter.mul_(1 - number_of(group["lr"]) * weight_decay)
        return gradient
    factor = number_of(weight_decay)
    if isinstance(factor, Tensor):
        return gradient + parameter * factor
    return gradient.add(parameter, alpha=factor)


def real_parts(value: Any) -> Any:
    """A view of a complex tensor (..., 2) of reals; anything else unchanged."""
    return minidynamo.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value


def corrected(decay: Any, step: Any) -> Any:
    """What a moving average that started at 0 has to be divided by: Kingma and Ba (2015), section 3."""
    return 1 - decay**step


def take_step_(parameter: Tensor, direction: Tensor, lr: Any) -> None:
    """parameter -= lr * direction"""
    add_scaled_(parameter, direction, -lr)
