"""The public interface of capture."""

from __future__ import annotations

from .. import _C
from .._dynamo import (
    allow_in_graph,
    assume_constant_result,
    disable,
    error_on_graph_break,
    is_compiling,
    list_backends,
    reset,
    substitute_in_graph,
)
from .._dynamo._compile import compile
from .._dynamo.backends import get_default_backend, set_default_backend
from .._dynamo.decorators import set_stance
from .._missing_names import explain_missing as _explain_missing
from .guard_filters import (
    keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe,
    skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "error_on_graph_break",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
]


def is_dynamo_compiling() -> bool:
    """As is_compiling(): capture is the only compiler here."""
    return _C._is_tracing()


def nested_compile_region(
    fn: Any = None, *, options: object = None, max_reuse_entries: int = 8, reuse_hash_fn: object = None
) -> Any:
    """Marks a function that compiled code calls often; returns it unchanged, since a capture costs little."""
    if fn is None:
        return lambda function: nested_compile_region(function)
    if not callable(fn):
        raise AssertionError(f"nested_compile_region() expects a callable, not {type(fn).__name__}")
    return fn


def is_exporting() -> bool:
    """Always False: there is no export."""
    return False


if _C.frame_evaluation:
    _C._register_call("is_compiling", is_dynamo_compiling)
    _C._register_call("is_exporting", is_exporting)


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there are no CUDA graphs."""


_explain_missing(__name__)
