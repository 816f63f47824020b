"""torch's own marks for its compiler, which mean in our frames what ours mean."""

from __future__ import annotations

import types

from .. import _C
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
    "is_compiling": ("is_compiling", "external_utils.is_compiling"),
}
# Functions inside of these are what a disabled function becomes.
_DISABLED = ("eval_frame.DisableContext.__call__", "external_utils.get_nonrecursive_disable_wrapper")


def load(dynamo: Any) -> None:
    """Registers what torch._dynamo has: called once, when a capture finds it imported."""
    for name, paths in _CALLS.items():
        for path in paths:
            function = _at(dynamo, path)
            if isinstance(function, types.FunctionType):
                _C._register_call(name, function)
    torch_operators.register_marked(dynamo)
    for path in _DISABLED:
        function = _at(dynamo, path)
        if isinstance(function, types.FunctionType):
            for code in _nested(function.__code__):
                _C._disable_code(code)


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
