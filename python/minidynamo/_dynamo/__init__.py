"""Capture: its flags, errors and backends, and the functions that control it from a program."""

from __future__ import annotations

import sys

from .. import _C
from .._missing_names import missing as _missing
from . import _polyfills, _slots, config, exc
from .backends import list_backends, lookup_backend, register_backend
from .decorators import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    error_on_graph_break,
    forbid_in_graph,
    graph_break,
    nonstrict_trace,
    run,
    set_stance,
    skip_frame,
    step_unsupported,
    substitute_in_graph,
)
from .dims import mark_dynamic, mark_static, mark_static_address, mark_unbacked, maybe_mark_dynamic
from .traced_calls import call_nonstrict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._explain import ExplainOutput
    from ._optimize import Optimize

if _C.frame_evaluation:
    for _call in (graph_break, skip_frame, step_unsupported, nonstrict_trace, call_nonstrict):
        _C._register_call(_call.__name__, _call)
    _C._mark_new_call(set_stance, "forbidden")
    del _call
    _polyfills.register(_C._register_polyfill, _C._register_made_class)
    _slots.register(_C._register_slot)

# Imported on first use.
_LAZY_MODULES = ("callback", "eval_frame", "testing", "traced_calls", "utils")

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "exc",
    "explain",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_disable_recursive",
    "is_dynamo_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "run",
    "skip_frame",
    "step_unsupported",
    "substitute_in_graph",
    "why",
]


def is_compiling() -> bool:
    """True in captured code, and while a function is traced; False in uncompiled Python."""
    return _C._is_tracing()


if _C.frame_evaluation:
    _C._register_call("is_compiling", is_compiling)


def is_dynamo_supported() -> bool:
    """Whether frames are evaluated here: False on versions of Python that are not supported."""
    return bool(_C.frame_evaluation)


def is_dynamo_disable_recursive(method: object) -> bool | None:
    """For a function under disable(): True if that includes its callees, False for recursive=False. None for others."""
    return getattr(method, "disables_callees", None) if isinstance(method, _C.PolicyFunction) else None


def optimize(
    backend: str | Callable[..., Any] | None = None,
    *,
    nopython: bool = False,
    error_on_graph_break: bool | None = None,
    guard_export_fn: None = None,
    guard_fail_fn: None = None,
    guard_filter_fn: Callable[..., Any] | None = None,
    disable: bool = False,
    dynamic: bool | None = None,
    package: None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: None = None,
) -> Optimize:
    """compile() of the first torchdynamo: a decorator, and a context manager that captures the functions called inside.

    nopython is compile()'s fullgraph, guard_filter_fn that of its options. error_on_graph_break applies to what is
    captured; None: as around it. guard_export_fn, guard_fail_fn, package and shapes_spec must be None.
    """
    from ._optimize import Optimize

    for name, value in (
        ("guard_export_fn", guard_export_fn),
        ("guard_fail_fn", guard_fail_fn),
        ("package", package),
        ("shapes_spec", shapes_spec),
    ):
        if value is not None:
            raise NotImplementedError(f"optimize(): there is no {name}")
    options: dict[str, Any] = {
        "fullgraph": nopython,
        "disable": disable,
        "dynamic": dynamic,
        "recompile_limit": recompile_limit,
        "isolate_recompiles": isolate_recompiles,
    }
    if guard_filter_fn is not None:
        options["options"] = {"guard_filter_fn": guard_filter_fn}
    return Optimize(backend, options, error_on_graph_break)


def optimize_assert(
    backend: str | Callable[..., Any] | None = None,
    *,
    dynamic: bool | None = None,
    package: None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
) -> Optimize:
    """optimize() of functions that must be one graph: a graph break is an error."""
    return optimize(
        backend,
        nopython=True,
        dynamic=dynamic,
        package=package,
        recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles,
    )


def reset() -> None:
    """Forgets everything captured so far, and which graph breaks were logged."""
    _C.reset()


def explain(function: Callable[..., Any]) -> Callable[..., ExplainOutput]:
    """explain(function)(*args, **kwargs) calls the function captured anew, and returns an ExplainOutput."""
    from ._explain import explain

    return explain(function)


def why(function: Callable[..., Any]) -> str:
    """What became of a function, in one sentence: captured whole, up to a graph break, or not at all, and why.

    Raises TypeError unless it is a function, a module or a compiled form of one.
    """
    from ._explain import why

    return why(function)


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":  # programs without modules never import minidynamo.nn
        from .optimized_module import OptimizedModule

        return OptimizedModule
    if name in _LAZY_MODULES:
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES, "OptimizedModule"})
