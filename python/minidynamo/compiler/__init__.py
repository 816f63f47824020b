"""The public face of capture."""

from .._compile import compile
from .._dynamo import disable, error_on_graph_break, list_backends, reset

__all__ = ["compile", "disable", "error_on_graph_break", "list_backends", "reset"]
