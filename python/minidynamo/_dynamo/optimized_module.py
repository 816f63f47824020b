"""Returned by compile() and disable() for a module: a module that wraps another one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

from ..nn.module import Module, RemovableHandle


class OptimizedModule(Module):
    """Calls its _orig_mod through `captured`; attributes are read from and written to _orig_mod.

    state_dict() has the names of _orig_mod prefixed with "_orig_mod.", as in torch. A copy is created alike: `capture`
    returns `captured` for a module.
    """

    _own = frozenset({"_orig_mod", "_captured", "_capture", "training"})

    def __init__(self, module: Module, capture: Callable[[Module], Callable[..., Any]]) -> None:
        super().__init__()
        self._modules["_orig_mod"] = module
        self._set_capture(capture)

    def _set_capture(self, capture: Callable[[Module], Callable[..., Any]]) -> None:
        object.__setattr__(self, "_capture", capture)
        object.__setattr__(self, "_captured", capture(self._modules["_orig_mod"]))  # type: ignore[arg-type]  # not None

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        del state["_captured"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set_capture(state["_capture"])

    # Not those of _orig_mod, which __getattr__ finds.
    def __copy__(self) -> Self:
        made = type(self).__new__(type(self))
        made.__setstate__({**self.__getstate__(), "_modules": dict(self._modules)})
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        state = self.__getstate__()
        # Backends and guard filters are not copied.
        capture = state.pop("_capture")
        made.__setstate__({**copy.deepcopy(state, memo), "_capture": capture})
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._captured(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._captured(*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def train(self, mode: bool = True) -> Self:
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name: str) -> Any:
        modules = self._modules
        if modules is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        module = modules["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._own or self._modules is None:
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]

    def register_forward_hook(self, *args: Any, **kwargs: Any) -> RemovableHandle:
        return self._orig_mod.register_forward_hook(*args, **kwargs)

    def register_forward_pre_hook(self, *args: Any, **kwargs: Any) -> RemovableHandle:
        return self._orig_mod.register_forward_pre_hook(*args, **kwargs)


def capture_with(compile: Callable[..., Any], options: dict[str, Any], module: Module) -> Callable[..., Any]:
    """compile() of calls of the module; with the first two arguments a `capture` that can be pickled."""
    return compile(call_of(module), **options)


def change_with(policy: Callable[..., Any], change: dict[str, Any], module: Module) -> Callable[..., Any]:
    """Calls of the module under another policy: disable() and the like."""
    return policy(module.__call__, **change)


def compiled_module(module: Module, compile: Callable[..., Any], options: dict[str, Any]) -> OptimizedModule:
    return OptimizedModule(module, partial(capture_with, compile, options))


def changed_module(module: Module, policy: Callable[..., Any], change: dict[str, Any]) -> OptimizedModule:
    return OptimizedModule(module, partial(change_with, policy, change))


def call_of(module: Module, callee: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function that calls the module, or the given callable, with its own code object: its captures compete with no
    other module's."""
    callee = module if callee is None else callee

    def call(*args: Any, **kwargs: Any) -> Any:
        return callee(*args, **kwargs)

    name = type(module).__name__
    call.__code__ = call.__code__.replace(co_name=name, co_qualname=name)
    call.__name__ = call.__qualname__ = name
    call.__module__ = type(module).__module__
    return call
