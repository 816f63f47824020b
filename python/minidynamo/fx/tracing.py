"""The names of torch.fx's symbolic tracing: minidynamo.compile captures instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

_F = TypeVar("_F", str, Callable[..., Any])

_INSTEAD = (
    "use minidynamo.compile, whose backend is given an fx.GraphModule of what was called: "
    "compile(model, backend=lambda gm, inputs: gm.forward)"
)


def wrap(fn_or_name: _F) -> _F:
    """The function or name itself, at the top level of a module: capture needs no marks of leaves.

    RuntimeError for anything else, NotImplementedError inside of a function.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if sys._getframe(1).f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    return fn_or_name


class Tracer:
    """For subclasses: trace() raises RuntimeError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a trace would keep the module as one node: layers of minidynamo.nn, but for Sequential."""
        return type(m).__module__.startswith("minidynamo.nn.") and type(m).__name__ != "Sequential"

    def trace(self, root: Any, concrete_args: Any = None) -> NoReturn:
        """Raises RuntimeError."""
        raise RuntimeError(f"fx.Tracer.trace() is not in minidynamo: {_INSTEAD}")


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Raises RuntimeError."""
    raise RuntimeError(f"fx.symbolic_trace() is not in minidynamo: {_INSTEAD}")


class Interpreter:
    """For subclasses. RuntimeError when it is constructed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("fx.Interpreter is not in minidynamo: call the GraphModule, or iterate over graph.nodes")


class Transformer(Interpreter):
    """For subclasses. RuntimeError when it is constructed."""
