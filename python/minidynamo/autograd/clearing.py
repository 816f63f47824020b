"""What zero_grad() of optimizers and modules does with a gradient."""

from __future__ import annotations

from .._tensor.grad_modes import no_grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._C import Tensor


def clear_gradient(parameter: Tensor, set_to_none: bool) -> None:
    """Sets the gradient of a tensor to None, or to zeros that have no history."""
    if set_to_none:
        parameter.grad = None
        return
    gradient = parameter.grad
    if gradient is None:
        return
    if gradient.grad_fn is not None:
        gradient = parameter.grad = gradient.detach()
    else:
        gradient.requires_grad_(False)
    with no_grad():
        gradient.zero_()
