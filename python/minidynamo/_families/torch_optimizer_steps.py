"""Steps of torch's optimizers that branch on elements, written over torch's own functions: both ways are computed, and
elements select one. Loaded where torch is."""

from __future__ import annotations

from .imported_torch import torch
from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _in_double(number: Any) -> Any:
    return torch.tensor(number, dtype=torch.float64)


def radam(
    params: Any,
    grads: Any,
    exp_avgs: Any,
    exp_avg_sqs: Any,
    state_steps: Any,
    *,
    beta1: Any,
    beta2: Any,
    lr: Any,
    weight_decay: Any,
    eps: Any,
    decoupled_weight_decay: Any,
    differentiable: Any,
    maximize: Any,
    capturable: Any,
    has_complex: Any,
) -> None:
    if differentiable or capturable or has_complex:
        decline("a step that is differentiable, capturable or of complex numbers")
    lr = torch.optim.optimizer._to_scalar(lr)
    end = 2 / (1 - beta2) - 1
    for param, grad, mean, square, counter in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        slope = -grad if maximize else grad
        counter.add_(1)
        step = counter.item()
        if weight_decay != 0 and decoupled_weight_decay:
            param.mul_(1 - lr * weight_decay)
        elif weight_decay != 0:
            slope = slope.add(param, alpha=weight_decay)
        mean.lerp_(slope, 1 - beta1)
        square.mul_(beta2).addcmul_(slope, slope, value=1 - beta2)
        bias = 1 - beta2**step
        length = _in_double(end - 2 * step * (beta2**step) / bias)
        # Where the length is small, this is NaN.
        rectified = ((length - 4) * (length - 2) * end / ((end - 4) * (end - 2) * length)) ** 0.5
        move = mean / (1 - beta1**step) * lr
        adapted = move * ((bias**0.5) / square.sqrt().add_(eps)) * rectified
        param.sub_(torch.where(length > 5.0, adapted, move))


def asgd(
    params: Any,
    grads: Any,
    axs: Any,
    mus: Any,
    etas: Any,
    state_steps: Any,
    *,
    lambd: Any,
    lr: Any,
    t0: Any,
    alpha: Any,
    weight_decay: Any,
    maximize: Any,
    differentiable: Any,
    capturable: Any,
    has_complex: Any,
) -> None:
    if differentiable or capturable or has_complex:
        decline("a step that is differentiable, capturable or of complex numbers")
    if isinstance(lr, torch.Tensor) or lambd < 0:
        decline("a rate in a tensor, or a negative decay")
    for param, grad, average, mu, eta, counter in zip(params, grads, axs, mus, etas, state_steps, strict=True):
        slope = -grad if maximize else grad
        counter.add_(1)
        if weight_decay != 0:
            slope = slope.add(param, alpha=weight_decay)
        rate, step = eta.item(), counter.item()
        param.mul_(1 - lambd * rate)
        param.sub_(slope * rate)
        average.copy_(torch.where(mu != 1, average + (param - average) * mu, param))
        eta.copy_(lr / _in_double(1 + lambd * lr * step) ** alpha)
        mu.copy_(1 / _in_double(step - t0).clamp_min(1))


TABLE = (
    StandIn("optim.radam._single_tensor_radam", radam, "Rewritten"),
    StandIn("optim.asgd._single_tensor_asgd", asgd, "Rewritten"),
)
