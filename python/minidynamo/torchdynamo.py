"""The names of the first torchdynamo, for programs of that age: `from minidynamo import torchdynamo`."""

from ._dynamo import (
    allow_in_graph,
    config,
    disable,
    disallow_in_graph,
    exc,
    explain,
    graph_break,
    list_backends,
    optimize,
    reset,
    run,
    testing,
    utils,
)

__all__ = [
    "allow_in_graph",
    "config",
    "disable",
    "disallow_in_graph",
    "exc",
    "explain",
    "graph_break",
    "list_backends",
    "optimize",
    "reset",
    "run",
    "testing",
    "utils",
]
