"""Calls of modules with hooks in backward, and with hooks of all modules.

Calls look for these from the first one that is registered on (Module._look_for_every_hook): before that they cost
nothing.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import minidynamo

from ..utils.hooks import RemovableHandle, add_hook
from . import global_hooks
from .backward_hooks import HookedCall, watch_result
from .module_state import ModuleState


class ModuleHooks(ModuleState):
    """The base of Module with its hooks in backward."""

    # Tables of hooks, made when the first is registered.
    _backward_hooks: dict[int, Callable[..., Any]] | None = None
    _backward_pre_hooks: dict[int, Callable[..., Any]] | None = None
    # Whether the backward hooks are full ones; None: none was registered.
    _is_full_backward_hook: bool | None = None

    if TYPE_CHECKING:
        forward: Callable[..., Any]
        _compiled_call_impl: Callable[..., Any] | None
        _forward_pre_hooks: dict[int, Callable[..., Any]]
        _forward_hooks: dict[int, Callable[..., Any]]
        _forward_hooks_with_kwargs: dict[int, bool]
        _forward_hooks_always_called: dict[int, bool]
        _run_pre_hooks: Callable[..., Any]
        _run_hook: Callable[..., Any]
        _look_for_every_hook: Callable[[], None]

    def _set_kind_of_backward_hooks(self, is_full: bool) -> None:
        if self._is_full_backward_hook is (not is_full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                "one of them."
            )
        self._is_full_backward_hook = is_full

    def _enter_backward_hook(self, table: str, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        self._look_for_every_hook()
        return add_hook(self.__dict__.setdefault(table, OrderedDict()), hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_outputs) is called before the module's backward; a tuple replaces the gradients."""
        return self._enter_backward_hook("_backward_pre_hooks", hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_inputs, grad_outputs) is called behind it; a tuple replaces the gradients of the inputs.

        RuntimeError if the module has hooks of register_backward_hook.
        """
        self._set_kind_of_backward_hooks(True)
        return self._enter_backward_hook("_backward_hooks", hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As register_full_backward_hook, but at the last node of the module's forward alone."""
        self._set_kind_of_backward_hooks(False)
        return self._enter_backward_hook("_backward_hooks", hook, False)

    def _get_backward_hooks(self) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
        """Full hooks and others, those of all modules first."""
        full: list[Callable[..., Any]] = []
        others: list[Callable[..., Any]] = []
        (full if global_hooks.kind.is_full else others).extend(global_hooks.backward_hooks.values())
        (full if self._is_full_backward_hook else others).extend((self._backward_hooks or {}).values())
        return full, others

    def _get_backward_pre_hooks(self) -> list[Callable[..., Any]]:
        return [*global_hooks.backward_pre_hooks.values(), *(self._backward_pre_hooks or {}).values()]

    def _has_hooks(self) -> bool:
        return bool(
            self._forward_pre_hooks
            or self._forward_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or global_hooks.forward_pre_hooks
            or global_hooks.forward_hooks
            or global_hooks.backward_pre_hooks
            or global_hooks.backward_hooks
        )

    def _call_looking_for_hooks(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        return self._call_uncompiled_looking_for_hooks(*args, **kwargs)

    def _call_uncompiled_looking_for_hooks(self, *args: Any, **kwargs: Any) -> Any:
        if not self._has_hooks():
            return self.forward(*args, **kwargs)
        called: set[int] = set()
        try:
            return self._call_with_every_hook(args, kwargs, called)
        except BaseException:
            for key, hook, takes_kwargs, is_always_called in self._hooks_behind_forward():
                if is_always_called and key not in called:
                    self._run_forward_hook(hook, takes_kwargs, args, kwargs, None)
            raise

    def _call_with_every_hook(self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
        full, others = self._get_backward_hooks()
        pre_hooks = self._get_backward_pre_hooks()
        for hook in tuple(global_hooks.forward_pre_hooks.values()):
            changed = hook(self, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        args, kwargs = self._run_pre_hooks(args, kwargs)
        watched = HookedCall(self, full, pre_hooks) if full or pre_hooks else None
        if watched is not None:
            args = watched.watch_inputs(args)
        result = self.forward(*args, **kwargs)
        for key, hook, takes_kwargs, _ in self._hooks_behind_forward():
            called.add(key)
            result = self._run_forward_hook(hook, takes_kwargs, args, kwargs, result)
        if watched is not None:
            if not isinstance(result, minidynamo.Tensor | tuple):
                warnings.warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {type(result)}",
                    stacklevel=4,
                )
            result = watched.watch_outputs(result)
        if others:
            watch_result(self, others, args, result)
        return result

    def _hooks_behind_forward(self) -> Iterator[tuple[int, Callable[..., Any], bool, bool]]:
        """(key, hook, takes kwargs, is called after an exception, too): those of all modules first."""
        for key, hook in tuple(global_hooks.forward_hooks.items()):
            always = key in global_hooks.forward_hooks_always_called
            yield key, hook, key in global_hooks.forward_hooks_with_kwargs, always
        for key, hook in tuple(self._forward_hooks.items()):
            yield key, hook, key in self._forward_hooks_with_kwargs, key in self._forward_hooks_always_called

    def _run_forward_hook(
        self, hook: Callable[..., Any], takes_kwargs: bool, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        changed = hook(self, args, kwargs, result) if takes_kwargs else hook(self, args, result)
        return result if changed is None else changed
