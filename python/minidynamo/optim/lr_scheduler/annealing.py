"""Rates along a half wave of the cosine, once or again and again: Loshchilov and Hutter, "SGDR: stochastic gradient
descent with warm restarts" (2017)."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler


def _wave(position: float, length: float) -> float:
    """From 1 at 0 to 0 at `length`."""
    return (1 + math.cos(math.pi * position / length)) / 2


class CosineAnnealingLR(LRScheduler):
    """eta_min + (rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2, computed from the rate before."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: int,  # noqa: N803  torch's name
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        rates = self._current_lrs()
        if self._is_initial:
            return rates
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the lowest point the quotient below is not defined.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, rates, strict=False)]
        part = _wave(self.last_epoch, self.T_max) / _wave(self.last_epoch - 1, self.T_max)
        return [part * (rate - self.eta_min) + self.eta_min for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        part = _wave(self.last_epoch, self.T_max)
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A half wave in T_0 epochs, then again from the start, each T_mult times as long as the one before.

    step(epoch) may be given fractions. ValueError unless T_0 > 0, T_mult >= 1 and eta_min is a number.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803  torch's names
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, int | float):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        part = _wave(self.T_cur, self.T_i)
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Sets the rates of the next epoch, or of a given one. ValueError for a negative one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_lrs(rates)

    def _go_to(self, epoch: float) -> None:
        """Finds the wave in which an epoch is, and where in it."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            waves = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**waves - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**waves
