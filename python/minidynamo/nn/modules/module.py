"""The names of torch.nn.modules.module: the class of minidynamo.nn itself, and hooks of all modules."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from ..._missing_names import explain_missing as _explain_missing
from ...utils.hooks import RemovableHandle, add_hook
from .. import global_hooks
from ..global_hooks import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..module import Module
from ..module_state import _IncompatibleKeys as _IncompatibleKeys

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, args) is called before the forward() of every module, and before the module's own hooks."""
    Module._look_for_every_hook()
    return add_hook(global_hooks.forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """hook(module, args[, kwargs], output) is called behind the forward() of every module."""
    Module._look_for_every_hook()
    marks = []
    if with_kwargs:
        marks.append(global_hooks.forward_hooks_with_kwargs)
    if always_call:
        marks.append(global_hooks.forward_hooks_always_called)
    return add_hook(global_hooks.forward_hooks, hook, *marks)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, grad_outputs) is called before the backward of every module."""
    Module._look_for_every_hook()
    return add_hook(global_hooks.backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, grad_inputs, grad_outputs) is called behind the backward of every module."""
    global_hooks.set_kind(True)
    Module._look_for_every_hook()
    return add_hook(global_hooks.backward_hooks, hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As register_module_full_backward_hook, but at the last node of each module's forward alone."""
    global_hooks.set_kind(False)
    Module._look_for_every_hook()
    return add_hook(global_hooks.backward_hooks, hook)


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803  torch's names
    """The text with every line but the first one indented, as far as it is not blank."""
    first, newline, rest = s_.partition("\n")
    return first + newline + textwrap.indent(rest, " " * numSpaces)


_explain_missing(__name__)
