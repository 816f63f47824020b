"""torch's own marks for its compiler, which mean in our frames what ours mean."""

from __future__ import annotations

import types

from .. import _C
from .._C import _exchange_error_on_graph_break as exchange
from . import torch_operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Our call, and where torch has the same.
_CALLS = {
    "graph_break": ("graph_break", "decorators.graph_break"),
    "skip_frame": ("decorators.skip_frame",),
    "step_unsupported": ("decorators.step_unsupported",),
    "is_compiling_for_library": ("is_compiling", "external_utils.is_compiling"),
}
# Functions inside of these are what a disabled function becomes, and whether what it calls is disabled too.
_DISABLED = {"eval_frame.DisableContext.__call__": True, "external_utils.get_nonrecursive_disable_wrapper": False}


def load(dynamo: Any) -> None:
    """Registers what torch._dynamo has: called once, when a capture finds it imported."""
    for name, paths in _CALLS.items():
        for path in paths:
            function = _at(dynamo, path)
            if isinstance(function, types.FunctionType):
                _C._register_call(name, function)
    torch_operators.register_marked(dynamo)
    for path, recursive in _DISABLED.items():
        function = _at(dynamo, path)
        if isinstance(function, types.FunctionType):
            for code in _nested(function.__code__):
                _C._disable_code(code, recursive=recursive)
    _share_error_on_graph_break(dynamo)


def _share_error_on_graph_break(dynamo: Any) -> None:
    """torch._dynamo.error_on_graph_break, a context manager and a decorator, then sets ours, too."""
    manager = _at(dynamo, "decorators.ErrorOnGraphBreakDecoratorContextManager")
    read, write = _at(dynamo, "utils._get_error_on_graph_break"), _at(dynamo, "utils._set_error_on_graph_break")
    if manager is None or read is None or write is None:
        return
    leave_theirs = manager.__exit__

    def __enter__(self: Any) -> None:
        theirs = read()
        write(self.error_on_graph_break)
        self.prev_error_on_graph_break.append((exchange(self.error_on_graph_break), theirs))

    def __exit__(self: Any, *error: object) -> None:
        previous = self.prev_error_on_graph_break[-1]
        if not isinstance(previous, tuple):  # entered before this module was loaded
            return leave_theirs(self, *error)
        ours, theirs = self.prev_error_on_graph_break.pop()
        exchange(ours)
        write(theirs)

    manager.__enter__, manager.__exit__ = __enter__, __exit__


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
