"""Hooks that a module's backward runs: around the gradients of its outputs and inputs, or at the node of its result.

Full hooks need two nodes: one behind which all gradients of the inputs are known, one before which all gradients of the
outputs are. Both are identities that the tensors pass through.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import minidynamo

from .._C import Tensor
from ..autograd.function import Function

_NO_INPUT_TEXT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHookFunction(Function):
    """Its results are its operands."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[tensor for tensor in args if not tensor.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        return grad_outputs


class HookedCall:
    """One call of a module with full backward hooks or pre-hooks."""

    def __init__(self, module: Any, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]) -> None:
        self._module = module
        self._hooks = hooks
        self._pre_hooks = pre_hooks
        # Of the backward that runs: the gradients of the outputs.
        self._grad_outputs: tuple[Any, ...] | None = None
        self._output_count = 0
        self._input_count = 0
        self._output_places: list[int] = []
        # None: no gradient of an input is asked for.
        self._input_places: list[int] | None = None
        self._input_layouts: list[tuple[Any, Any]] = []

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments to call forward() with."""
        self._input_count = len(args)
        found = _through_identity(args)
        if found is None:
            return args
        args, self._input_places, node = found
        self._input_layouts = [(args[place].shape, args[place].dtype) for place in self._input_places]
        node.register_hook(lambda grad_inputs, _: self._at_inputs(grad_inputs))
        return args

    def watch_outputs(self, result: Any) -> Any:
        """The result to return; RuntimeError in backward for hooks that return another number of gradients."""
        outputs = result if isinstance(result, tuple) else (result,)
        found = _through_identity(outputs)
        if found is None:
            return result
        outputs, self._output_places, node = found
        self._output_count = len(outputs)
        node.register_prehook(self._at_outputs)
        if not isinstance(result, tuple):
            return outputs[0]
        return type(result)(*outputs) if hasattr(result, "_fields") else outputs

    def _at_outputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        all_gradients = _spread(gradients, self._output_places, self._output_count)
        for hook in self._pre_hooks:
            changed = hook(self._module, all_gradients)
            all_gradients = _replaced(all_gradients, changed, "Backward pre hook", "grad_output")
        if self._input_places is None:
            self._call_without_inputs(all_gradients)
        else:
            self._grad_outputs = all_gradients
        return tuple(all_gradients[place] for place in self._output_places)

    def _call_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        if self._hooks:
            warnings.warn(_NO_INPUT_TEXT, stacklevel=2)
        for hook in self._hooks:
            changed = hook(self._module, (None,) * self._input_count, grad_outputs)
            if changed is not None and not (isinstance(changed, tuple) and all(each is None for each in changed)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )

    def _at_inputs(self, gradients: tuple[Any, ...]) -> tuple[Any, ...] | None:
        # Gradients that reach the inputs by another way than through the outputs are none of the module's.
        if self._grad_outputs is None or self._input_places is None:
            return None
        # A tensor that requires none has a gradient of zeros, as in torch.
        known = tuple(
            minidynamo.zeros(layout[0], dtype=layout[1]) if gradient is None else gradient
            for gradient, layout in zip(gradients, self._input_layouts, strict=True)
        )
        all_gradients = _spread(known, self._input_places, self._input_count)
        for hook in self._hooks:
            changed = hook(self._module, all_gradients, self._grad_outputs)
            all_gradients = _replaced(all_gradients, changed, "Backward hook", "grad_input")
        self._grad_outputs = None
        return tuple(all_gradients[place] for place in self._input_places)


def _replaced(gradients: tuple[Any, ...], changed: Any, hook: str, what: str) -> Any:
    """What a hook returned, or the gradients for None; RuntimeError for another number of them."""
    if changed is None:
        return gradients
    if len(changed) != len(gradients):
        raise RuntimeError(
            f"{hook} returned an invalid number of {what}, got {len(changed)}, but expected {len(gradients)}"
        )
    return changed


def _spread(gradients: tuple[Any, ...], places: list[int], count: int) -> tuple[Any, ...]:
    """The gradients of tensors among `count` values; None for the others."""
    spread: list[Any] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        spread[place] = gradient
    return tuple(spread)


def _through_identity(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any] | None:
    """The values with tensors that are results of one node, where these are, and the node; None without gradients."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not minidynamo.is_grad_enabled() or not any(values[place].requires_grad for place in places):
        return None
    passed = BackwardHookFunction.apply(*[values[place] for place in places])
    changed = list(values)
    for place, tensor in zip(places, passed, strict=True):
        changed[place] = tensor
    node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
    return tuple(changed), places, node


# ---- hooks at the node of the result


def watch_result(module: Any, hooks: list[Callable[..., Any]], args: tuple[Any, ...], result: Any) -> None:
    """Has hooks run behind the node that computed the result, or the first tensor in it."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, Mapping):
            first = next(value for value in first.values() if isinstance(value, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(partial(hook, module))
    _warn_of_node(args, result, node)


def _warn_of_node(args: tuple[Any, ...], result: Any, node: Any) -> None:
    text = _what_is_missed(args, result, node)
    if text is not None:
        what, missing = text
        warnings.warn(
            f"Using {what} is deprecated and will be removed in future versions. This hook will be missing some "
            f"{missing}. Please use register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )


def _what_is_missed(args: tuple[Any, ...], result: Any, node: Any) -> tuple[str, str] | None:
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(each, Tensor) for each in results):
        what = "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        return what, "of the grad_output"
    if not all(isinstance(each, Tensor) for each in args):
        what = "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        return what, "of the grad_input"
    result_nodes = {each.grad_fn for each in results if each.grad_fn is not None}
    if not result_nodes or (len(result_nodes) == 1 and node not in result_nodes):
        return "a non-full backward hook when outputs are nested in python data structure", "grad_output"
    if len(result_nodes) > 1:
        return "a non-full backward hook when outputs are generated by different autograd Nodes", "grad_output"
    before = {each for each, _ in node.next_functions if each is not None}
    if before != {each.grad_fn for each in args if each.grad_fn is not None}:
        return "a non-full backward hook when the forward contains multiple autograd Nodes", "grad_input"
    return None
