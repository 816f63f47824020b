"""The history of compiled code over torch's tensors: one autograd node for each run of a region with gradients."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Tensors = tuple[Any, ...]

# In the process already: this module is loaded with torch's family.
_torch: Any = __import__("torch")


class CompiledFunction(_torch.autograd.Function):  # type: ignore[misc]  # known when torch is there
    """Makes new tensors the results of one operation on `inputs`.

    `backward(saved, gradients)` returns the gradients of the inputs, as a tuple with None where there is none. Under
    grad mode (`create_graph`) they have a history themselves.
    """

    @staticmethod
    def forward(ctx: Any, backward: Callable[..., _Tensors], saved: _Tensors, results: _Tensors, *_: Any) -> _Tensors:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*saved)
        ctx.run_backward = backward
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> _Tensors:
        given = tuple(gradient if gradient is None else gradient.contiguous() for gradient in gradients)
        return (None, None, None, *ctx.run_backward(ctx.saved_tensors, given))


# Without what Function.apply() does for transforms, under which nothing is captured.
record = super(_torch.autograd.Function, CompiledFunction).apply
