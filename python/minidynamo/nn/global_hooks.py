"""Hooks of all modules: around calls, in backward, and when a parameter, buffer or submodule is registered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..utils.hooks import RemovableHandle, add_hook

# By the numbers of their handles, in the order of calls.
forward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
forward_hooks: dict[int, Callable[..., Any]] = OrderedDict()
forward_hooks_with_kwargs: dict[int, bool] = OrderedDict()
forward_hooks_always_called: dict[int, bool] = OrderedDict()
backward_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
backward_hooks: dict[int, Callable[..., Any]] = OrderedDict()

_parameter_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_buffer_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_module_hooks: dict[int, Callable[..., Any]] = OrderedDict()


class _Kind:
    """Whether the backward hooks of all modules are full ones; None: none was registered."""

    is_full: bool | None = None


kind = _Kind()


def set_kind(is_full: bool) -> None:
    if kind.is_full is (not is_full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    kind.is_full = is_full


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, name, buffer) is called before a buffer is registered; a tensor that it returns replaces it."""
    return add_hook(_buffer_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, name, submodule) is called before a submodule is registered; one that it returns replaces it."""
    return add_hook(_module_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(module, name, parameter) is called before a parameter is registered; one that it returns replaces it."""
    return add_hook(_parameter_hooks, hook)


def parameter_to_register(module: Any, name: str, parameter: Any) -> Any:
    return _replaced(_parameter_hooks, module, name, parameter) if _parameter_hooks else parameter


def buffer_to_register(module: Any, name: str, buffer: Any) -> Any:
    return _replaced(_buffer_hooks, module, name, buffer) if _buffer_hooks else buffer


def module_to_register(module: Any, name: str, submodule: Any) -> Any:
    return _replaced(_module_hooks, module, name, submodule) if _module_hooks else submodule


def _replaced(hooks: dict[int, Callable[..., Any]], module: Any, name: str, value: Any) -> Any:
    for hook in hooks.values():
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value
