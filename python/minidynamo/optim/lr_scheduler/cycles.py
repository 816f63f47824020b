"""Rates, and momenta against them, that rise and fall: Smith, "Cyclical learning rates for training neural networks"
(2017); Smith and Topin, "Super-convergence: very fast training of neural networks using large learning rates"
(2018)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from .base import LRScheduler, attributes_of_function, check_optimizer, set_option, value_of_each_group


class _WithMomentum(LRScheduler):
    """Sets the momentum of each group, or the first of its betas."""

    use_beta1: bool

    def _start_momenta(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Enters momenta in the groups, unless the schedule continues; returns the lowest and the highest of each."""
        defaults, groups = self.optimizer.defaults, self.optimizer.param_groups
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        lowest = value_of_each_group("base_momentum", self.optimizer, base_momentum)
        highest = value_of_each_group("max_momentum", self.optimizer, max_momentum)
        if last_epoch == -1:
            for least, most, group in zip(lowest, highest, groups, strict=True):
                self._set_momentum(group, most)
                group["max_momentum"] = most
                group["base_momentum"] = least
        return lowest, highest

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Rates go from base_lr to max_lr in step_size_up steps, and back in step_size_down.

    mode "triangular2" halves each cycle's height, "exp_range" multiplies it by gamma at each step; or scale_fn(cycle or
    step, as scale_mode says) gives it. With cycle_momentum the momentum goes from max_momentum to base_momentum and
    back.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = value_of_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = value_of_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momenta(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, or at a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        position = 1.0 + self.last_epoch / self.total_size - cycle
        is_rising = position <= self.step_ratio
        height = position / self.step_ratio if is_rising else (position - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for lowest, highest, group in zip(self.base_momentums, self.max_momentums, groups, strict=False):
                self._set_momentum(group, highest - (highest - lowest) * height * scale)
        return [
            lowest + (highest - lowest) * height * scale
            for lowest, highest in zip(self.base_lrs, self.max_lrs, strict=False)
        ]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of a scale_fn that is an object its attributes."""
        saved = super().state_dict()
        function = saved.pop("_scale_fn_custom")
        saved["_scale_fn_custom"] = None if function is None else attributes_of_function(function)
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() returned; scale_fn stays that of the constructor."""
        saved = state_dict.get("_scale_fn_custom")
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})


def _between_by_cosine(start: float, end: float, part: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _between_by_line(start: float, end: float, part: float) -> float:
    return (end - start) * part + start


_CURVES = {"cos": _between_by_cosine, "linear": _between_by_line}


def _phase(end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    return {
        "end_step": end_step,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


class OneCycleLR(_WithMomentum):
    """Rates go from max_lr / div_factor to max_lr in the share pct_start of the steps, then to the first one divided by
    final_div_factor; with three_phase first back in as many steps, then down. The momentum goes the other way.

    ValueError for options that make no sense, and from step() behind the last of total_steps (or epochs *
    steps_per_epoch) steps.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _number_of_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self._schedule_phases = self._phases(pct_start, three_phase)
        if anneal_strategy not in _CURVES:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highest = value_of_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momenta(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
        up = float(pct_start * self.total_steps)
        down, last = ("base_momentum", "max_momentum"), self.total_steps - 1
        first = _phase(up - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if not three_phase:
            return [first, _phase(last, "max_lr", "min_lr", *down)]
        return [
            first,
            _phase(float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", *down),
            _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
        ]

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        phase, part = self._place(step)
        curve = _CURVES[self._anneal_func_type]
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(curve(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                self._set_momentum(group, curve(group[phase["start_momentum"]], group[phase["end_momentum"]], part))
        return rates

    def _place(self, step: int) -> tuple[dict[str, Any], float]:
        """The phase of a step, and the part of it that is done."""
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                return phase, (step - start) / (phase["end_step"] - start)
            start = phase["end_step"]
        last = self._schedule_phases[-1]
        return last, (step - start) / (last["end_step"] - start)


def _number_of_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if epochs <= 0 or not isinstance(epochs, int):
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if steps_per_epoch <= 0 or not isinstance(steps_per_epoch, int):
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch
