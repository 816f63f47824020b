"""The history of compiled code over torch's tensors: one autograd node for each run of a region with gradients."""

from __future__ import annotations

from .imported_torch import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    _Tensors = tuple[Any, ...]


class CompiledFunction(torch.autograd.Function):  # type: ignore[misc]  # known when torch is there
    """Makes new tensors the results of one operation on `inputs`.

    `backward(saved, gradients)` returns the gradients of the inputs, as a tuple with None where there is none. Under
    grad mode (`create_graph`) they have a history themselves.
    """

    @staticmethod
    def forward(
        ctx: Any, backward: Callable[..., _Tensors], saved: _Tensors, results: _Tensors, *inputs: Any
    ) -> _Tensors:
        ctx.set_materialize_grads(False)
        ctx.input_count = len(inputs)
        ctx.save_for_backward(*saved)
        ctx.run_backward = backward
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> _Tensors:
        # torch goes on to what another result than those that are gone back to was computed from.
        if all(gradient is None for gradient in gradients):
            return (None,) * (3 + ctx.input_count)
        given = tuple(gradient if gradient is None else gradient.contiguous() for gradient in gradients)
        return (None, None, None, *ctx.run_backward(ctx.saved_tensors, given))


# Without what Function.apply() does for transforms, under which nothing is captured.
record = super(torch.autograd.Function, CompiledFunction).apply


def record_freed(result: Any, *leaves: Any) -> Any:
    """The result as one of a region that has gone back through what it computed from the leaves."""
    return record(_second_backward, (), (result,), *leaves)[0]


def _second_backward(saved: _Tensors, gradients: _Tensors) -> _Tensors:
    raise RuntimeError(_of_second_backward())


def _of_second_backward() -> str:
    """What torch says of a graph that was freed."""
    with torch.enable_grad():
        result = torch.zeros(1, requires_grad=True).exp()
    result.backward(torch.zeros(1))
    try:
        result.backward(torch.zeros(1))
    except RuntimeError as error:
        return str(error)
    return "Trying to backward through the graph a second time"


def accumulators() -> Iterator[tuple[Any, Any]]:
    """Leaves and the nodes that add to their gradients: without hooks, with one before the node, with one after it."""
    for register in (None, "register_prehook", "register_hook"):
        with torch.inference_mode(False), torch.enable_grad():
            leaf = torch.zeros(1, requires_grad=True)
            node = leaf.view_as(leaf).grad_fn.next_functions[0][0]
        if register is not None:
            getattr(node, register)(lambda *_: None)
        yield leaf, node
