"""LRScheduler: sets the learning rates of an optimizer's groups at each of its steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._C import Tensor
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)

_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def check_optimizer(optimizer: object) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def group_values(optimizer: Optimizer, option: str) -> list[Any]:
    """The option of each group; tensors copied, as those in groups are written in place."""
    values = [group[option] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def set_option(group: dict[str, Any], option: str, value: Any) -> None:
    """Sets an option of a group; a tensor there is written in place."""
    if isinstance(group[option], Tensor):
        group[option].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[option] = value


def value_of_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A list with a value for each group, of one value or such a list; ValueError if its length is another."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {groups}."
        )
    return list(value)


def attributes_of_function(function: object) -> dict[str, Any] | None:
    """What is saved of a callable: the attributes of an object, nothing of a function."""
    return None if hasattr(function, "__code__") else dict(function.__dict__)


class LRScheduler:
    """Base of schedulers: a subclass defines get_lr(), the rates at self.last_epoch.

    last_epoch is the number of steps done before, -1 for none: else each group must have its "initial_lr", or KeyError
    is raised.
    """

    _get_lr_called_within_step: bool = False
    # While the constructor sets the first rates.
    _is_initial: bool = False

    optimizer: Optimizer
    base_lrs: list[Any]
    last_epoch: int
    _step_count: int
    _last_lr: list[Any]
    # The rates of an epoch as a function of it alone, where a subclass has one: step(epoch) uses it.
    _get_closed_form_lr: Callable[[], list[Any]]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                rate = group["lr"]
                group.setdefault("initial_lr", rate.clone() if isinstance(rate, Tensor) else rate)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                    "a fresh training run (not recommended)"
                )
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        # The optimizer notes its first step from here on.
        optimizer.__dict__.setdefault("_opt_called", False)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The rates of self.last_epoch, one for each group; called by step()."""
        raise NotImplementedError

    def _check_within_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _current_lrs(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Sets the rates of the next epoch; a given epoch is deprecated, as in torch. Call it behind
        optimizer.step()."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not getattr(self.optimizer.step, "hooked", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_SEE}",
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer.__dict__.get("_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                f"to do this will result in PyTorch skipping the first value of the learning rate schedule. {_SEE}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_lrs(rates)

    def _set_lrs(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):
            set_option(group, "lr", rate)
        self._last_lr = group_values(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The older name."""
