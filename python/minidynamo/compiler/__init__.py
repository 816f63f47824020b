"""The public face of capture."""

from .. import _C
from .._compile import compile
from .._dynamo import (
    allow_in_graph,
    assume_constant_result,
    disable,
    error_on_graph_break,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "error_on_graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
]


def is_dynamo_compiling():
    """As is_compiling(): capture is the only compiler here."""
    return _C._is_tracing()


def is_exporting():
    """Always False: there is no export."""
    return False


if _C.frame_evaluation:
    _C._register_call("is_compiling", is_dynamo_compiling)
    _C._register_call("is_exporting", is_exporting)
