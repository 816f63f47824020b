"""compile(): from a callable to its captured form."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType

from .. import _C
from ._overload import overload
from .backends import get_default_backend, known_name, lookup_backend
from .decorators import allow_in_graph
from .module_wrapper import is_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Callable = TypeVar("_Callable", bound=Callable[..., Any])

# Known to the extension by name; other backends are passed as callables.
_NATIVE_BACKENDS = ("onednn", "eager")
# There is only one way to optimise; the names are those used by programs for torch.
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@overload
def compile(
    model: _Callable,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
) -> _Callable: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
) -> Callable[[_Callable], _Callable]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
) -> Any:
    """Captures what a function does with tensors into graphs, and runs the graphs on a backend.

    model            a function, method, class, builtin or object with __call__; left out: a decorator is returned
    fullgraph        True: one graph or an error
    dynamic          False: a graph for each shape; True: shapes are symbolic from the start; None: when they change
    backend          a name of list_backends(), or callable(gm, example_inputs) -> callable; None: the default backend,
                     "onednn" unless compiler.set_default_backend() was called
    mode, options    are passed on to a callable backend. "onednn" has the options
                     "freeze": True promises that the parameters of torch's modules are not written, so that the plan
                     may keep them in its own layout;
                     "precision": "float32" or "bfloat16", to which the operands of products, convolutions and
                     attention of float32 are rounded where the processor multiplies bfloat16;
                     "weights": "float32" or "int8", in which weights of products are kept where the processor
                     multiplies bytes.
                     The other backends known by name have none. Of any backend
                     options may hold "guard_filter_fn": a function that is given the guards of each capture and says
                     which are kept (minidynamo.compiler.keep_tensor_guards_unsafe and the like)
    name             replaces the function's name in logs
    disable          True: returns the callable as it is
    recompile_limit  replaces config.recompile_limit for this function
    isolate_recompiles  True: captures, and their limit, of its own; otherwise compile() calls for one function with the
                     same arguments share them
    """
    _check_arguments(fullgraph, dynamic, name, disable, recompile_limit, isolate_recompiles)
    if backend is None:
        backend = get_default_backend()
    options_given = {
        "fullgraph": fullgraph,
        "dynamic": dynamic,
        "backend": backend,
        "mode": mode,
        "options": options,
        "name": name,
        "recompile_limit": recompile_limit,
        "isolate_recompiles": isolate_recompiles,
    }
    guard_filter, backend_options = _split_options(mode, options)
    own_options, backend_options = _split_own_options(backend, backend_options)
    arguments_of_options = {_OWN_OPTIONS[option][0]: value for option, value in own_options.items()}
    backend = _chosen_backend(backend, mode, backend_options)

    def decorate(target: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(target):
            raise AssertionError(f"compile() takes a function or another callable, not {type(target).__name__}")
        if disable or not _frames_can_be_evaluated():
            return target
        if is_module(target):
            return _compiled_module(target, options_given)
        compiled: Any = _C.CompiledFunction(
            _function_of(target),
            fullgraph=fullgraph,
            backend=backend,
            dynamic=dynamic,
            recompile_limit=recompile_limit,
            name=name,
            guard_filter=guard_filter,
            isolated=isolate_recompiles,
            **arguments_of_options,
        )
        if own_options:
            compiled._own_options = own_options
        return compiled

    return decorate if model is None else decorate(model)


# The place in the first documentation of torch.compile.
compile.allow_in_graph = allow_in_graph  # type: ignore[attr-defined]  # an attribute of a function


def _compiled_module(module: Any, options: dict[str, Any]) -> Any:
    from .module_wrapper import compiled_module

    return compiled_module(module, compile, options)


_UNMARKED = -1
_warned = False


def _frames_can_be_evaluated() -> bool:
    global _warned
    if not _C.frame_evaluation and not _warned:
        _warned = True
        version = sys.version.split()[0]
        _C.log_warning(f"minidynamo has no frame evaluator for Python {version}: compile() returns what it is given")
    return _C.frame_evaluation


def _check_arguments(
    fullgraph: object,
    dynamic: object,
    name: object,
    disable: object,
    recompile_limit: object,
    isolate_recompiles: object,
) -> None:
    flags = (("fullgraph", fullgraph), ("disable", disable), ("isolate_recompiles", isolate_recompiles))
    for argument, value in flags:
        if not isinstance(value, bool):
            raise TypeError(f"compile(): {argument} must be a bool, not {type(value).__name__}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"compile(): dynamic must be True, False or None, not {dynamic!r}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"compile(): name must be a str, not {type(name).__name__}")
    if recompile_limit is not None:
        if not isinstance(recompile_limit, int) or isinstance(recompile_limit, bool):
            raise TypeError(f"compile(): recompile_limit must be an int, not {type(recompile_limit).__name__}")
        if recompile_limit < 1:
            raise ValueError(f"compile(): recompile_limit must be at least 1, not {recompile_limit}")


def _split_options(
    mode: str | None, options: dict[str, Any] | None
) -> tuple[Callable[..., Any] | None, dict[str, Any] | None]:
    """The guard filter, and the options of the backend."""
    if mode is not None and options is not None:
        raise RuntimeError("compile(): mode and options cannot both be given")
    if not isinstance(options, dict) or "guard_filter_fn" not in options:
        return None, options
    rest = dict(options)
    guard_filter = rest.pop("guard_filter_fn")
    from . import guard_filter as _  # noqa: F401  asks the filter

    if guard_filter is not None and not callable(guard_filter):
        raise TypeError(f"compile(): guard_filter_fn must be callable, not {type(guard_filter).__name__}")
    return guard_filter, rest or None


# Options of the default backend: the argument of CompiledFunction, and the values.
_OWN_OPTIONS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "freeze": ("freezes", (False, True)),
    "precision": ("precision", ("float32", "bfloat16")),
    "weights": ("weights", ("float32", "int8")),
}


def _split_own_options(
    backend: str | Callable[..., Any], options: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The options of the default backend, checked, and the other options."""
    is_own = known_name(backend) == "onednn" or getattr(backend, "_stands_for_onednn", False)
    if not isinstance(options, dict) or not is_own:
        return {}, options
    rest, own = dict(options), {}
    for name, (_, values) in _OWN_OPTIONS.items():
        if name not in rest:
            continue
        value = own[name] = rest.pop(name)
        kind = type(values[0])
        if not isinstance(value, kind):
            raise TypeError(f"compile(): {name} must be a {kind.__name__}, not {type(value).__name__}")
        if value not in values:
            raise ValueError(f"compile(): {name} must be {' or '.join(map(repr, values))}, not {value!r}")
    return own, rest or None


def _chosen_backend(
    backend: str | Callable[..., Any], mode: str | None, options: dict[str, Any] | None
) -> str | Callable[..., Any]:
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"compile(): unknown mode {mode!r}; the modes are {', '.join(_MODES)}")
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"compile(): options must be a dict, not {type(options).__name__}")
    chosen = lookup_backend(backend)
    name = known_name(backend)
    if name in _NATIVE_BACKENDS:
        if options:
            unknown = ", ".join(map(repr, options))
            raise RuntimeError(f"compile(): the backend {backend!r} has no option {unknown}")
        return name
    from .. import fx  # noqa: F401  what the backend will be given

    settings = {key: value for key, value in (("mode", mode), ("options", options)) if value is not None}
    if settings:
        from functools import partial, update_wrapper

        return update_wrapper(partial(chosen, **settings), chosen)
    return chosen


def _function_of(target: Callable[..., Any]) -> Callable[..., Any]:
    """The function or bound method whose frame is captured for a callable."""
    if isinstance(target, _C.CompiledFunction):
        return target.__wrapped__  # type: ignore[attr-defined]  # in the dict of each
    if isinstance(target, FunctionType):
        return target
    if _C._call_mark(target) != _UNMARKED:
        # A custom operator, whose calls are captured specially.
        return _caller_of(target)
    if isinstance(target, MethodType) and isinstance(target.__func__, FunctionType):
        return target
    if not isinstance(target, type):
        method = getattr(type(target), "__call__", None)
        if isinstance(method, FunctionType):
            return MethodType(method, target)
    return _caller_of(target)


def _caller_of(target: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function that calls a class, a builtin or another object, with a code object of its own.

    Captures are stored per code object, so callables that share one would compete for its limit.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return target(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_name=getattr(target, "__name__", type(target).__name__))
    from functools import update_wrapper

    return update_wrapper(call, target, updated=())
