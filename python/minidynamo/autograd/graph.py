"""The graph of nodes that backward() runs, and hooks on it: torch.autograd.graph's names."""

from __future__ import annotations

import threading

from .. import _C
from .._C import _GradNode as Node
from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal, NamedTuple

    from .._C import Tensor
else:
    from collections import namedtuple

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

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
    """With "all", fn(gradients) is called once all tensors got theirs (None for those that a backward does not reach);
    with "any", fn(gradient) for the first one."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    arrivals = _Arrivals(tensors, fn, mode)
    return _Handles([tensor.register_hook(arrivals.hook_of(index)) for index, tensor in enumerate(tensors)])


class _Arrivals:
    """The gradients of some tensors in each backward."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None], mode: str) -> None:
        self._edges = [get_gradient_edge(tensor) for tensor in tensors]
        self._fn, self._mode = fn, mode
        self._by_run: dict[int, list[Any]] = {}  # [how many are awaited, gradients], by the number of the backward

    def hook_of(self, index: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            number = _C._backward_number()
            if number not in self._by_run:
                self._begin(number)
            entry = self._by_run[number]
            entry[0] -= 1
            entry[1][index] = gradient
            if self._mode == "any":
                if not entry[2]:
                    entry[2] = True
                    self._fn(gradient)
            if entry[0] == 0:
                del self._by_run[number]
                if self._mode == "all":
                    self._fn(entry[1])

        return hook

    def _begin(self, number: int) -> None:
        awaited = sum([_C._will_run(edge.node) for edge in self._edges])
        self._by_run[number] = [awaited, [None] * len(self._edges), False]


class saved_tensors_hooks:
    """A context manager under which pack_hook(tensor) returns what is kept of each tensor that is saved for backward.

    unpack_hook(what was kept) gives the tensor when it is needed: of the same sizes and dtype. The innermost pair
    applies, in this thread. A tensor that pack_hook gets has no history; writing it is a RuntimeError.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _disabled.message is not None:
            raise RuntimeError(_disabled.message)
        _C._push_saved_tensor_hooks(self.pack_hook, self.unpack_hook)
        _disabled.depth += 1

    def __exit__(self, *args: object) -> None:
        _C._pop_saved_tensor_hooks()
        _disabled.depth -= 1


class _Disabled(threading.local):
    message: str | None = None
    depth = 0


_disabled = _Disabled()


class disable_saved_tensors_hooks:
    """A context manager under which using saved_tensors_hooks is a RuntimeError with this message."""

    def __init__(self, error_message: str) -> None:
        self._message = error_message

    def __enter__(self) -> None:
        if _disabled.depth > 0:
            raise RuntimeError(self._message)
        self._before = _disabled.message
        _disabled.message = self._message

    def __exit__(self, *args: object) -> None:
        _disabled.message = self._before


class save_on_cpu(saved_tensors_hooks):
    """A context manager under which saved tensors are copied: they are on the CPU already, and may be written behind
    it."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.clone(), lambda tensor: tensor)


class allow_mutation_on_saved_tensors:
    """Not possible here: NotImplementedError. save_on_cpu(), which copies, serves the same end."""

    def __init__(self) -> None:
        raise NotImplementedError(
            "allow_mutation_on_saved_tensors: minidynamo does not copy saved tensors when they are written;"
            " torch.autograd.graph.save_on_cpu() copies them when they are saved"
        )


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write into tensors that nothing else counts: saved before it, they cannot be used by a backward."""
    for each in (tensor,) if isinstance(tensor, _C.Tensor) else tensor:
        each._increment_version()


_explain_missing(__name__)
