"""The name of torch.fx.node that programs import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._missing_names import explain_missing as _explain_missing
from . import Node, _mapped

Target = Callable[..., Any] | str
Argument = Any


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """A structure of tuples, lists, dicts and slices with fn(node) in the place of each Node."""
    return _mapped(lambda each: fn(each) if isinstance(each, Node) else each, a)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """A structure of tuples, lists, dicts and slices with fn(leaf) in the place of each leaf."""
    return _mapped(fn, a)


def has_side_effect(fn: Any) -> Any:
    """The function: nothing removes calls of it."""
    return fn


__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

_explain_missing(__name__)
