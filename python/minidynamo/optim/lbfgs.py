"""L-BFGS: Nocedal and Wright, "Numerical optimization" (2006), algorithms 7.4 and 7.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .optimizer import Optimizer, ParamsT
from .step_numbers import checked_rate, number_of
from .wolfe_search import Point, search

__all__ = ["LBFGS"]

# Below this product of the changes of gradient and parameters the pair says nothing of the curvature.
_LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """step(closure) goes up to max_iter times along the quasi-Newton direction of the last history_size changes.

    It stops after max_eval calls of closure (5 / 4 of max_iter by default), where the largest element of the gradient
    is at most tolerance_grad, and where the largest change of a parameter is at most, or that of the loss below,
    tolerance_change. line_search_fn is None, a step of length lr, or "strong_wolfe". One group alone, or ValueError.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        checked_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # closure is needed
        """Runs closure, which computes the loss and its gradients, several times; returns the first loss."""
        with minidynamo.no_grad():
            return self._minimize(closure)

    def _minimize(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        def evaluate() -> Any:
            with minidynamo.enable_grad():
                return closure()

        first = evaluate()
        loss, gradient = float(first), self._flat_gradient()
        evaluations = 1
        state["func_evals"] += 1
        is_optimal = _largest(gradient) <= group["tolerance_grad"]
        iteration = 0
        while not is_optimal and iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group)
            state["prev_flat_grad"], state["prev_loss"] = gradient.clone(), loss
            length = number_of(group["lr"])
            if state["n_iter"] == 1:
                length *= min(1.0, 1.0 / gradient.abs().sum().item())
            state["t"] = length
            slope = gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            before = loss
            start = Point(0.0, loss, slope, gradient)
            loss, gradient, calls = self._advance(evaluate, start, direction, state, iteration == group["max_iter"])
            evaluations += calls
            state["func_evals"] += calls
            is_optimal = calls > 0 and _largest(gradient) <= group["tolerance_grad"]
            if evaluations >= group["max_eval"]:
                break
            if _largest(direction * state["t"]) <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _direction(self, state: dict[str, Any], gradient: Tensor, group: dict[str, Any]) -> Tensor:
        """The direction (n,) of a step, with the history brought up to date."""
        if state["n_iter"] == 1:
            state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return state["d"]
        change, moved = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(moved)
        if curvature.item() > _LEAST_CURVATURE:
            if len(state["old_dirs"]) == group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(moved)
            state["ro"].append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        state["d"] = _quasi_newton(gradient, state, group["history_size"])
        return state["d"]

    def _advance(
        self, evaluate: Callable[[], Any], start: Point, direction: Tensor, state: dict[str, Any], is_last: bool
    ) -> tuple[float, Tensor, int]:
        """Goes along a direction; the loss and the gradient there, and how often it was evaluated."""
        method = self.param_groups[0]["line_search_fn"]
        if method is None:
            self._add(direction, state["t"])
            # What the last step would find out is not used.
            if is_last:
                return start.loss, start.gradient, 0
            return float(evaluate()), self._flat_gradient(), 1
        if method != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = [parameter.detach().clone() for parameter in self._params]

        def point_at(length: float) -> Point:
            self._add(direction, length)
            loss, gradient = float(evaluate()), self._flat_gradient()
            for parameter, value in zip(self._params, origin, strict=True):
                parameter.copy_(value)
            return Point(length, loss, gradient.dot(direction).item(), gradient)

        found, calls = search(point_at, start, state["t"], _largest(direction))
        state["t"] = found.length
        self._add(direction, found.length)
        return found.loss, found.gradient, calls

    def _flat_gradient(self) -> Tensor:
        """The gradients of all parameters (n,), of complex ones both parts."""
        parts = []
        for parameter in self._params:
            gradient = minidynamo.zeros_like(parameter) if parameter.grad is None else parameter.grad
            parts.append((minidynamo.view_as_real(gradient) if gradient.is_complex() else gradient).reshape(-1))
        return minidynamo.cat(parts, 0)

    def _add(self, direction: Tensor, length: Any) -> None:
        at = 0
        for parameter in self._params:
            target = minidynamo.view_as_real(parameter) if parameter.is_complex() else parameter
            end = at + target.numel()
            target.add_(direction[at:end].view(target.shape), alpha=length)
            at = end


def _largest(vector: Tensor) -> float:
    return vector.abs().max().item()


def _quasi_newton(gradient: Tensor, state: dict[str, Any], history_size: int) -> Tensor:
    """Minus the approximate inverse of the Hessian times the gradient (n,): two passes over the history."""
    changes, moves, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    weights = state.setdefault("al", [None] * history_size)
    direction = -gradient
    for i in reversed(range(len(changes))):
        weights[i] = moves[i].dot(direction) * inverses[i]
        direction = direction - changes[i] * weights[i]
    direction = direction * state["H_diag"]
    for i in range(len(changes)):
        weight = changes[i].dot(direction) * inverses[i]
        direction = direction + moves[i] * (weights[i] - weight)
    return direction


_explain_missing(__name__)
