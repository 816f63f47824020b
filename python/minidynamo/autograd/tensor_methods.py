"""What Tensor.backward, register_hook, register_post_accumulate_grad_hook and retain_grad do."""

from __future__ import annotations

from .. import _C
from .._missing_names import explain_missing as _explain_missing
from .engine import backward
from .hook_handles import NumberedHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._C import Tensor


def backward_of(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Tensor.backward."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def register_tensor_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> NumberedHook:
    """Tensor.register_hook."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    number = _C._add_gradient_hook(self, hook)
    return NumberedHook(self, number, _C._remove_gradient_hook)


def register_accumulated_hook(self: Tensor, hook: Callable[[Tensor], None]) -> NumberedHook:
    """Tensor.register_post_accumulate_grad_hook."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    number = _C._add_accumulated_hook(self, hook)
    return NumberedHook(self, number, _C._remove_gradient_hook)


def retain_grad(self: Tensor) -> None:
    """Tensor.retain_grad."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    _C._retain_gradient(self)


_explain_missing(__name__)
