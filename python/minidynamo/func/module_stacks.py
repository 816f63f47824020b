"""stack_module_state: parameters and buffers of several models, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from ..nn.module import Module
from ..nn.parameter import Parameter


def stack_module_state(models: Sequence[Module] | Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """(parameters, buffers) by name, each stacked over the models along a new first dim.

    Raises RuntimeError without models, unless all are in one mode and of one class, and unless all or none of the
    parameters of a name require gradients.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _stacked([each[name] for each in parameters], True) for name in parameters[0]},
        {name: _stacked([each[name] for each in buffers], False) for name in buffers[0]},
    )


def _stacked(tensors: list[Any], as_parameter: bool) -> Tensor:
    needs_grad = [tensor.requires_grad for tensor in tensors]
    if any(needs_grad) and not all(needs_grad):
        raise RuntimeError("Expected parameters from different models to have the same .requires_grad")
    stacked = minidynamo.stack([tensor.detach() for tensor in tensors])
    return Parameter(stacked, True) if as_parameter and all(needs_grad) else stacked
