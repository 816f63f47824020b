"""GradScaler: scales losses so that small gradients do not vanish in half precision.

Micikevicius et al., "Mixed precision training" (2018), with the dynamic scale of the PyTorch documentation.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from ..optim.optimizer import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What has been done with an optimizer since the last update()."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """scale(loss).backward(), then step(optimizer), then update().

    step() divides the gradients by the scale, and leaves the optimizer out if one of them is not finite; update() then
    multiplies the scale by backoff_factor, and after growth_interval steps without such by growth_factor. With
    enabled=False, and for the device "cuda", which does not exist here, everything passes through.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        # Made by the first scale().
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._forget_optimizers()

    def _forget_optimizers(self) -> None:
        self._stages: defaultdict[int, OptState] = defaultdict(lambda: OptState.READY)
        # Whether a gradient of an optimizer was not finite, () of 0. or 1.
        self._found_inf: dict[int, Tensor] = {}

    def _made_scale(self, function: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {function} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each tensor in lists and tuples, times the scale. ValueError for anything else."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = minidynamo.tensor(float(self._init_scale))
            self._growth_tracker = minidynamo.tensor(self._init_growth_tracker, dtype=minidynamo.int32)
        return self._scaled(outputs, self._scale)

    def _scaled(self, value: Any, scale: Tensor) -> Any:
        if isinstance(value, Tensor):
            return value * scale
        if not isinstance(value, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = (self._scaled(each, scale) for each in value)
        return type(value)(scaled) if isinstance(value, list | tuple) else scaled

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimizer by the scale: to look at them, or clip them, before step().

        Raises RuntimeError for a second time before update(), and ValueError for gradients in float16.
        """
        if not self._enabled:
            return
        scale, _ = self._made_scale("unscale_")
        stage = self._stages[id(optimizer)]
        if stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._divide(optimizer, scale.double().reciprocal().float())
        self._stages[id(optimizer)] = OptState.UNSCALED

    @minidynamo.no_grad()
    def _divide(self, optimizer: Optimizer, inverse: Tensor) -> None:
        gradients = [
            parameter.grad
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        if any(gradient.dtype == minidynamo.float16 for gradient in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        if not gradients:
            return
        is_finite = [minidynamo.isfinite(gradient).all() for gradient in gradients]
        for gradient in gradients:
            gradient.mul_(inverse)
        self._found_inf[id(optimizer)] = minidynamo.logical_not(minidynamo.stack(is_finite).all()).float()

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(*args, **kwargs), if all gradients are finite; returns what it does, else None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._made_scale("step")
        if self._stages[id(optimizer)] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if self._stages[id(optimizer)] is OptState.READY:
            self.unscale_(optimizer)
        found = self._found_inf.get(id(optimizer))
        if found is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if found.item() else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapts the scale to what step() found, or sets it."""
        if not self._enabled:
            return
        scale, tracker = self._made_scale("update")
        if new_scale is not None:
            scale.fill_(new_scale.item() if isinstance(new_scale, Tensor) else float(new_scale))
        else:
            if not self._found_inf:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, any(found.item() for found in self._found_inf.values()))
        self._forget_optimizers()

    def _adapt(self, scale: Tensor, tracker: Tensor, is_too_large: bool) -> None:
        if is_too_large:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        tracker.add_(1)
        if tracker.item() < self._growth_interval:
            return
        grown = scale * self._growth_factor
        if minidynamo.isfinite(grown):
            scale.copy_(grown)
        tracker.zero_()

    def get_scale(self) -> float:
        """The scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale)

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale, the factors, the interval and the steps since the last change; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict() returned. RuntimeError for an empty one, unless disabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if not self._enabled:
            return state
        if self._stages:
            raise AssertionError(
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                "scaler.update()."
            )
        state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
        state["_scale"] = state["_growth_tracker"] = None
        del state["_stages"], state["_found_inf"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._enabled:
            self._forget_optimizers()


class _DeviceGradScaler(GradScaler):
    """GradScaler of the device that a subclass names; warns that torch has deprecated such classes."""

    _device_of_class: str

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        device = self._device_of_class
        warnings.warn(
            f"`torch.{device}.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('{device}', "
            "args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


_explain_missing(__name__)
