"""TorchScript's names: there is no TorchScript here, and functions, classes and modules stay as they are.

script(), trace() and their like return what they are given, and say so once in the log "minidynamo.jit" (level INFO):
minidynamo.compile makes programs fast, without a language of its own. Files of scripted modules are not read or
written: save() and load() raise what to use instead. isinstance(x, ScriptModule) is True for subclasses alone.
"""

from __future__ import annotations

import builtins
import contextlib
import logging
import os
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, TypeVar

from .._missing_names import explain_missing as _explain_missing
from ..nn.module import Module
from .annotations import BroadcastingList2 as BroadcastingList2  # torch.jit.annotations is there from now on
from .type_checks import isinstance

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_T = TypeVar("_T")
_log = logging.getLogger("minidynamo.jit")
_noted: set[str] = set()

Attribute = namedtuple("Attribute", ["value", "type"])


class Error(Exception):
    """For except clauses: nothing here raises it."""


class ScriptModule(Module):
    """A module by torch.jit's name: subclasses run as they are written. No module becomes one by script()."""


class RecursiveScriptModule(ScriptModule):
    """For isinstance() tests: there are none."""


class TracedModule(ScriptModule):
    """For isinstance() tests: there are none."""


class TopLevelTracedModule(TracedModule):
    """For isinstance() tests: there are none."""


class ScriptFunction:
    """For isinstance() tests: there are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("ScriptFunction cannot be constructed: minidynamo has no TorchScript")


class CompilationUnit:
    """RuntimeError if it is given source: there is no TorchScript."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            raise RuntimeError("minidynamo has no TorchScript: write the function in Python")


class TracerWarning(Warning):
    """For warnings.filterwarnings(): nothing here warns with it."""


def _note(name: str) -> None:
    if name not in _noted:
        _noted.add(name)
        _log.info("jit.%s() returns what it is given: there is no TorchScript; minidynamo.compile captures it", name)


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False


def script(
    obj: _T, optimize: None = None, _frames_up: int = 0, _rcb: object = None, example_inputs: object = None
) -> _T:
    """obj itself. TypeError for a number or a text, RuntimeError for a class of modules."""
    if builtins.isinstance(obj, type) and issubclass(obj, Module):
        raise RuntimeError(
            f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    if builtins.isinstance(obj, (bool, int, float, str, bytes, complex)):
        raise TypeError(f"{type(obj)} is a built-in class")
    _note("script")
    return obj


def trace(func: _T, example_inputs: object = None, *args: Any, **kwargs: Any) -> _T:
    """func itself, a function or module: what it does depends on all of its arguments, as before.

    It is not called with the example. RuntimeError for what cannot be called.
    """
    if not callable(func):
        raise RuntimeError("Could not get name of python class object")
    _note("trace")
    return func


def trace_module(mod: Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Module:
    """The module itself. AttributeError if `inputs` is no dict of methods."""
    if not builtins.isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    _note("trace_module")
    return mod


def freeze(mod: Module, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Module:
    """The module itself, with its parameters. RuntimeError in training mode, and for anything but a module."""
    if not builtins.isinstance(mod, Module):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
            "'nn.Module'."
        )
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
            "before freezing."
        )
    _note("freeze")
    return mod


def optimize_for_inference(mod: Module, other_methods: list[str] | None = None) -> Module:
    """The module itself. RuntimeError for anything but a module."""
    if not builtins.isinstance(mod, Module):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace "
            "to script your 'nn.Module'."
        )
    _note("optimize_for_inference")
    return mod


def run_frozen_optimizations(mod: Module, *args: Any, **kwargs: Any) -> None:
    """Does nothing."""


def script_method(fn: _T) -> _T:
    """The method itself."""
    return fn


def script_if_tracing(fn: _T) -> _T:
    """The function itself: nothing traces."""
    return fn


_script_if_tracing = script_if_tracing


def export(fn: _T) -> _T:
    """The function itself."""
    return fn


def unused(fn: _T) -> _T:
    """The function itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; also a decorator with `drop`. RuntimeError for anything but a function or a bool."""
    if callable(drop):
        return drop
    if not builtins.isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return unused


def _overload(func: _T) -> _T:
    """The function itself: the last definition is the one that runs."""
    return func


def _overload_method(func: _T) -> _T:
    """The method itself: the last definition is the one that runs."""
    return func


def interface(obj: _T) -> _T:
    """The class itself. RuntimeError for anything but a class."""
    if not builtins.isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def annotate(the_type: object, the_value: _T) -> _T:
    """The value."""
    return the_value


class Future:
    """The result of fork(), which has run when there is a Future."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self) -> Any:
        return self._result

    value = wait

    def done(self) -> bool:
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Calls the function, at once, and returns a Future of its result."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """What the function under fork() returned."""
    return future.wait()


def save(m: object, f: object, _extra_files: object = None) -> NoReturn:
    """Raises RuntimeError: there is no TorchScript to write."""
    raise RuntimeError(
        "jit.save() is not in minidynamo, which writes no TorchScript: save(model.state_dict(), path) and the "
        "model's Python code"
    )


def load(f: object, map_location: object = None, _extra_files: object = None, _restore_shapes: bool = False) -> Any:
    """Raises RuntimeError, after ValueError for a path where there is no file: TorchScript is not run here."""
    if builtins.isinstance(f, str):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    raise RuntimeError(
        "jit.load() is not in minidynamo, which runs no TorchScript: make the model from its Python code, and "
        "load_state_dict() what torch.jit.load(path).state_dict() holds"
    )


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Does nothing; there is no strategy."""
    return []


def onednn_fusion_enabled() -> bool:
    """False: of TorchScript alone."""
    return False


def enable_onednn_fusion(enabled: bool) -> None:
    """Does nothing."""


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """Does nothing. Exception for a name that torch does not have."""
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Does nothing."""
    yield


class strict_fusion:  # noqa: N801  torch's name
    """Does nothing, as torch's does outside of TorchScript."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


_explain_missing(__name__)
