"""Schedulers that multiply the rates by a factor: of a function, at steps, or along a curve.

Most go on from the rates that the groups have, so that schedulers can be chained; _get_closed_form_lr depends on the
epoch alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, attributes_of_function


class _OfFunctions(LRScheduler):
    """With a function of the epoch for each group."""

    lr_lambdas: list[Callable[[int], float]]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, list | tuple):
            lr_lambda = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of functions nothing, of other callables their attributes."""
        saved = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}
        saved["lr_lambdas"] = [attributes_of_function(function) for function in self.lr_lambdas]
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() returned; the functions stay those of the constructor."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_OfFunctions):
    """Initial rate times lr_lambda(epoch); a function or one for each group, else ValueError."""

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        return [
            base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=False)
        ]


class MultiplicativeLR(_OfFunctions):
    """At each step the rates times lr_lambda(epoch); a function or one for each group, else ValueError."""

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        rates = self._current_lrs()
        if self._is_initial:
            return rates
        return [rate * function(self.last_epoch) for rate, function in zip(rates, self.lr_lambdas, strict=False)]


class StepLR(LRScheduler):
    """Rates times gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._current_lrs()
        return [rate * self.gamma for rate in self._current_lrs()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Rates times gamma at each of the milestones."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        if self.last_epoch not in self.milestones:
            return self._current_lrs()
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._current_lrs()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Rates times factor up to epoch total_iters. ValueError unless factor is in [0, 1]."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._current_lrs()]
        if self.last_epoch != self.total_iters:
            return self._current_lrs()
        return [rate * (1.0 / self.factor) for rate in self._current_lrs()]

    def _get_closed_form_lr(self) -> list[Any]:
        is_over = self.last_epoch >= self.total_iters
        return [base * (self.factor + is_over * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """Rates times a factor that goes from start_factor to end_factor in total_iters epochs.

    ValueError unless start_factor is in (0, 1] and end_factor in [0, 1].
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        rates = self._current_lrs()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in rates]
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [rate * (1.0 + rise / before) for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        rise = self.end_factor - self.start_factor
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + rise * part) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Rates times gamma at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        if self._is_initial:
            return self._current_lrs()
        return [rate * self.gamma for rate in self._current_lrs()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Initial rates times (1 - epoch / total_iters) ** power, then 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        rates = self._current_lrs()
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates
        left, left_before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return [rate * (left / left_before) ** self.power for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
