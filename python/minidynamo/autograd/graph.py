"""The graph of nodes that backward() runs, and hooks on it: torch.autograd.graph's names."""

from __future__ import annotations

from .._C import _GradNode as Node
from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal, NamedTuple

    from .._C import Tensor
else:
    from collections import namedtuple

__all__ = ["GradientEdge", "Node", "get_gradient_edge", "register_multi_grad_hook"]

if TYPE_CHECKING:

    class GradientEdge(NamedTuple):
        node: Node
        output_nr: int

else:
    GradientEdge = namedtuple("GradientEdge", ("node", "output_nr"))
    GradientEdge.__doc__ = "A result of a node: where a gradient starts or ends."


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The node that computed a tensor, or that accumulates the gradient of a leaf, and which of its results it is."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    if node is None:  # of a view's node the first operand is the leaf's
        node = tensor.view_as(tensor).grad_fn.next_functions[0][0]
    return GradientEdge(node, tensor.output_nr)


class _NodeHook:
    """remove() removes the hook of a node, which it holds."""

    def __init__(self, node: Node, number: int) -> None:
        self._node, self._number = node, number

    def remove(self) -> None:
        self._node._remove_hook(self._number)

    def __enter__(self) -> _NodeHook:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def _register_hook(self: Node, fn: Callable[..., Any]) -> _NodeHook:
    """fn(gradients of operands, gradients of results) is called behind the node; a tuple replaces the former."""
    return _NodeHook(self, self._add_hook(fn))


def _register_prehook(self: Node, fn: Callable[..., Any]) -> _NodeHook:
    """fn(gradients of results) is called before the node; a tuple replaces them."""
    return _NodeHook(self, self._add_prehook(fn))


Node.register_hook = _register_hook  # type: ignore[attr-defined]  # a type of C, completed here
Node.register_prehook = _register_prehook  # type: ignore[attr-defined]


class _Handles:
    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> _Handles:
    """With "all", fn(gradients) is called once all tensors got theirs (None for those that a backward does not reach); with
    "any", fn(gradient) for the first one."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    found: list[Tensor | None] = [None] * len(tensors)
    arrived = [0]

    def hook_of(index: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            arrived[0] += 1
            if mode == "any":
                if arrived[0] == 1:
                    fn(gradient)
                return
            found[index] = gradient
            if arrived[0] == len(tensors):
                gradients = list(found)
                found[:] = [None] * len(tensors)
                arrived[0] = 0
                fn(gradients)

        return hook

    return _Handles([tensor.register_hook(hook_of(index)) for index, tensor in enumerate(tensors)])


_explain_missing(__name__)
