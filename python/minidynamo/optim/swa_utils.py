"""Averages of a model's parameters: Izmailov, Podoprikhin, Garipov, Vetrov, Wilson, "Averaging weights leads to wider
optima and better generalization" (2018), and exponential moving averages: Polyak and Juditsky (1992)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, Literal

import minidynamo

from .. import nn
from .._C import Tensor
from .._composites.registry import is_inexact
from .._missing_names import explain_missing as _explain_missing
from .lr_scheduler.base import LRScheduler, check_optimizer, value_of_each_group
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """f(averages, values, count) that moves each average to its value by 1 - decay. ValueError unless in [0, 1]."""
    _check_decay(decay)

    @minidynamo.no_grad()
    def ema_update(ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any) -> None:
        for average, value in zip(ema_param_list, current_param_list, strict=True):
            if is_inexact(average):
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """f(averages, values, count) that makes each the average of count + 1 values."""

    @minidynamo.no_grad()
    def swa_update(
        averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num_averaged: Any
    ) -> None:
        for average, value in zip(averaged_param_list, current_param_list, strict=True):
            if is_inexact(average):
                average.lerp_(value, 1 / (float(num_averaged) + 1))
            else:
                average.copy_(average + (value - average) / (float(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """f(average, value, count) -> the average moved to the value by 1 - decay. ValueError unless in [0, 1]."""
    _check_decay(decay)

    @minidynamo.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """f(average, value, count) -> the average of count + 1 values."""

    @minidynamo.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(nn.Module):
    """A copy of a model whose parameters are averages: update_parameters(model) adds those of a model.

    avg_fn        f(average, value, count) -> average, or
    multi_avg_fn  f(averages, values, count), in place; None: equal weights
    use_buffers   average the buffers, too, which are else copied
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: nn.Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", minidynamo.tensor(0, dtype=minidynamo.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: nn.Module) -> None:
        """Takes the parameters of the first model, and averages those of the following ones."""
        averages, values = ([tensor.detach() for tensor in self._averaged(each)] for each in (self.module, model))
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif self.avg_fn is not None:
            for average, value in zip(averages, values, strict=True):
                average.copy_(self.avg_fn(average, value, self.n_averaged))
        else:
            self._average_lists(averages, values)
        if not self.use_buffers:
            for average, value in zip(self.module.buffers(), model.buffers(), strict=False):
                average.detach().copy_(value.detach())
        self.n_averaged += 1

    def _averaged(self, model: nn.Module) -> Iterable[Tensor]:
        return itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()

    def _average_lists(self, averages: list[Tensor], values: list[Tensor]) -> None:
        """Calls multi_avg_fn with the tensors of each dtype."""
        average_all = get_swa_multi_avg_fn() if self.multi_avg_fn is None else self.multi_avg_fn
        by_dtype: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for average, value in zip(averages, values, strict=True):
            lists = by_dtype.setdefault(average.dtype, ([], []))
            lists[0].append(average)
            lists[1].append(value)
        for some_averages, some_values in by_dtype.values():
            average_all(some_averages, some_values, self.n_averaged)


def update_bn(loader: Iterable[Any], model: nn.Module, device: Any = None) -> None:
    """Computes the running numbers of all batch normalizations anew, as averages over the batches of a loader.

    Of a batch that is a list or tuple the first entry is the input.
    """
    norms = [module for module in model.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    with minidynamo.no_grad():
        for batch in loader:
            given = batch[0] if isinstance(batch, list | tuple) else batch
            model(given if device is None else given.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


def _half_wave(part: float) -> float:
    return (1 - math.cos(math.pi * part)) / 2


def _line(part: float) -> float:
    return part


_CURVES = {"cos": _half_wave, "linear": _line}


class SWALR(LRScheduler):
    """Rates go to swa_lr in anneal_epochs steps along a half wave or a line, and stay there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        rates = value_of_each_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in _CURVES:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: float) -> float:
        """How much of the rates is swa_lr."""
        return _CURVES[self._anneal_strategy](max(0.0, min(1.0, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[Any]:
        self._check_within_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            final = group["swa_lr"]
            first = final if before == 1 else (group["lr"] - before * final) / (1 - before)
            rates.append(final * share + first * (1 - share))
        return rates


_explain_missing(__name__)
