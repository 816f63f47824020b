"""Modules that wrap another one: what compile() and disable() return for a module, of whatever library."""

from __future__ import annotations

import copy
import sys
from functools import partial

from .. import _families

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self


class ModuleWrapper:
    """Calls its _orig_mod through `captured`; attributes are read from and written to _orig_mod.

    Comes before a library's class of modules among the bases of that library's OptimizedModule. state_dict() has the
    names of _orig_mod prefixed with "_orig_mod.", as in torch. A copy is created alike: `capture` returns `captured`
    for a module.
    """

    _modules: dict[str, Any]
    _captured: Callable[..., Any]

    def __init__(self, module: Any, capture: Callable[[Any], Callable[..., Any]]) -> None:
        super().__init__()
        self._modules["_orig_mod"] = module
        self._set_capture(capture)

    def _set_capture(self, capture: Callable[[Any], Callable[..., Any]]) -> None:
        fields = self.__dict__
        fields["_capture"] = capture
        fields["_captured"] = capture(fields["_modules"]["_orig_mod"])

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        state = dict(state)
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
        fields = self.__dict__
        return fields["forward" if "forward" in fields else "_captured"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._captured(*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        # Not where a module's __init__ sets it, before there is a module.
        if "_orig_mod" in self.__dict__.get("_modules", ()):
            self._orig_mod.training = mode

    def train(self, mode: bool = True) -> Self:
        self._orig_mod.train(mode)
        return self

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules")
        if modules is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        module = modules["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod":
            self._modules["_orig_mod"] = value
            self._set_capture(self.__dict__["_capture"])
        elif hasattr(type(self), name):  # forward and the like: the wrapper is patched
            object.__setattr__(self, name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if hasattr(type(self), name):
            object.__delattr__(self, name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._orig_mod), *super().__dir__()})

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]


def capture_with(compile: Callable[..., Any], options: dict[str, Any], module: Any) -> Callable[..., Any]:
    """compile() of calls of the module; with the first two arguments a `capture` that can be pickled."""
    return compile(call_of(module), **options)


def change_with(policy: Callable[..., Any], change: dict[str, Any], module: Any) -> Callable[..., Any]:
    """Calls of the module under another policy: disable() and the like."""
    return policy(module.__call__, **change)


def wrapper_class(target: object) -> Callable[[Any, Callable[[Any], Callable[..., Any]]], Any] | None:
    """OptimizedModule of the library whose module the target is; None: it is no module."""
    # Programs without modules of ours never import minidynamo.nn.
    nn = sys.modules.get("minidynamo.nn")
    if nn is not None and isinstance(target, nn.Module):
        from .optimized_module import OptimizedModule

        return OptimizedModule
    return _families.module_wrapper(target)


def is_module(target: object) -> bool:
    """Whether the target is a module, of ours or of a library whose tensors are captured."""
    return wrapper_class(target) is not None


def is_builtin_module(target: object) -> bool:
    """Whether the module is of a class of its library's own package nn."""
    wrapper = wrapper_class(target)
    if wrapper is None:
        return False
    base: Any = wrapper.__bases__[-1]  # type: ignore[attr-defined]  # a class: OptimizedModule(ModuleWrapper, base)
    return type(target).__module__.startswith(base.__module__.partition(".nn.")[0] + ".nn.")


def compiled_module(module: Any, compile: Callable[..., Any], options: dict[str, Any]) -> Any:
    return wrapper_class(module)(module, partial(capture_with, compile, options))  # type: ignore[misc]  # is_module() held


def changed_module(module: Any, policy: Callable[..., Any], change: dict[str, Any]) -> Any:
    return wrapper_class(module)(module, partial(change_with, policy, change))  # type: ignore[misc]  # is_module() held


def call_of(module: Any, callee: Callable[..., Any] | None = None) -> Callable[..., Any]:
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
