"""Steps of torch's optimizers that branch on elements, where both ways are computed and elements select one, and those
that are one function in C: written over torch's own functions. Loaded where torch is."""

from __future__ import annotations

from .imported_torch import torch
from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _rate(lr: Any) -> Any:
    """A rate in a tensor without dims, as torch has it in its steps."""
    return lr.squeeze() if isinstance(lr, torch.Tensor) and lr.dim() != 0 else lr


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
    lr = _rate(lr)
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


def _refuse_scales(grad_scale: Any, found_inf: Any) -> None:
    if grad_scale is not None or found_inf is not None:
        decline("a step of scaled gradients")


def _number(lr: Any) -> Any:
    """A rate in a tensor as the double that these functions read."""
    return lr.item() if isinstance(lr, torch.Tensor) else lr


def _slope(grad: Any, param: Any, weight_decay: Any, maximize: Any) -> Any:
    slope = -grad if maximize else grad
    return slope if weight_decay == 0 else slope + param * weight_decay


def fused_adam(decoupled: bool) -> Callable[..., None]:
    def step(
        self: Any,
        grads: Any,
        exp_avgs: Any,
        exp_avg_sqs: Any,
        max_exp_avg_sqs: Any,
        state_steps: Any,
        *,
        lr: Any,
        beta1: Any,
        beta2: Any,
        weight_decay: Any,
        eps: Any,
        amsgrad: Any,
        maximize: Any,
        grad_scale: Any = None,
        found_inf: Any = None,
    ) -> None:
        _refuse_scales(grad_scale, found_inf)
        lr = _number(lr)
        for at, (param, grad, mean, square, counter) in enumerate(
            zip(self, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True)
        ):
            slope, step = _slope(grad, param, 0 if decoupled else weight_decay, maximize), counter.item()
            before = param * (1 - lr * weight_decay) if decoupled and weight_decay != 0 else param
            mean.copy_(mean * beta1 + slope * (1 - beta1))
            square.copy_(square * beta2 + slope * slope * (1 - beta2))
            largest = square
            if amsgrad:
                largest = max_exp_avg_sqs[at]
                largest.copy_(torch.maximum(largest, square))
            spread = largest.sqrt() / (1 - beta2**step) ** 0.5 + eps
            param.copy_(before - mean / spread * (lr / (1 - beta1**step)))

    return step


def fused_sgd(
    self: Any,
    grads: Any,
    momentum_buffer_list: Any,
    *,
    weight_decay: Any,
    momentum: Any,
    lr: Any,
    dampening: Any,
    nesterov: Any,
    maximize: Any,
    is_first_step: Any,
    grad_scale: Any = None,
    found_inf: Any = None,
) -> None:
    _refuse_scales(grad_scale, found_inf)
    lr = _number(lr)
    for at, (param, grad) in enumerate(zip(self, grads, strict=True)):
        slope = _slope(grad, param, weight_decay, maximize)
        if momentum != 0:
            moved = momentum_buffer_list[at]
            moved.copy_(slope if is_first_step else moved * momentum + slope * (1 - dampening))
            slope = slope + moved * momentum if nesterov else moved
        param.copy_(param - slope * lr)


def fused_adagrad(
    self: Any,
    grads: Any,
    state_sums: Any,
    state_steps: Any,
    *,
    lr: Any,
    lr_decay: Any,
    weight_decay: Any,
    eps: Any,
    maximize: Any,
    grad_scale: Any = None,
    found_inf: Any = None,
) -> None:
    _refuse_scales(grad_scale, found_inf)
    lr = _number(lr)
    for param, grad, total, counter in zip(self, grads, state_sums, state_steps, strict=True):
        slope = _slope(grad, param, weight_decay, maximize)
        total.copy_(total + slope * slope)
        param.copy_(param - slope / (total.sqrt() + eps) * (lr / (1 + (counter.item() - 1) * lr_decay)))


# What these functions in C write, torch does not count.
_FUSED: dict[str, Callable[..., Any]] = {
    "_fused_adam_": fused_adam(decoupled=False),
    "_fused_adamw_": fused_adam(decoupled=True),
    "_fused_sgd_": fused_sgd,
    "_fused_adagrad_": fused_adagrad,
}

TABLE = (
    StandIn("optim.radam._single_tensor_radam", radam, "Rewritten"),
    StandIn("optim.asgd._single_tensor_asgd", asgd, "Rewritten"),
    *(StandIn(name, step, "Rewritten", counts_writes=False) for name, step in _FUSED.items()),
)
