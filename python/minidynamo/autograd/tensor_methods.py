"""What Tensor.backward, register_hook, register_post_accumulate_grad_hook, retain_grad and copy.deepcopy do."""

from __future__ import annotations

import copy

from .. import _C
from .engine import backward
from .hook_handles import NumberedHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

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


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Tensor.__deepcopy__: of a leaf, with its gradient."""
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            "  If you were"
            " attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see"
            " https://github.com/pytorch/pytorch/pull/103001"
        )
    made: Tensor = copy._reconstruct(self, memo, *self.__reduce_ex__(4))  # type: ignore[attr-defined]  # what copy itself calls
    memo[id(self)] = made
    if self.requires_grad and self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    return made
