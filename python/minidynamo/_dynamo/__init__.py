"""Capture: its flags, its errors, its backends, and what a program can say to it."""

import sys

from .. import _C, _polyfills
from . import config, exc
from .backends import list_backends, lookup_backend, register_backend
from .decorators import disable, error_on_graph_break, graph_break

if _C.frame_evaluation:
    _C._register_call("graph_break", graph_break)
    _polyfills.register(_C._register_polyfill)

# Imported when it is first used.
_LAZY_MODULES = ("testing",)

__all__ = [
    "config",
    "disable",
    "error_on_graph_break",
    "exc",
    "explain",
    "graph_break",
    "list_backends",
    "lookup_backend",
    "register_backend",
    "reset",
]


def reset():
    """Forgets everything captured so far, and which graph breaks were logged."""
    _C.reset()


def explain(function):
    """explain(function)(*args, **kwargs) calls the function captured anew, and returns an ExplainOutput."""
    from ._explain import explain

    return explain(function)


def __getattr__(name):
    if name in _LAZY_MODULES:
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
