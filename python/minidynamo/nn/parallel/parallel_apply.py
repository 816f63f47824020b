"""parallel_apply: modules called one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from ..module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Any) -> Tensor | None:
    """The first tensor in lists, tuples and dicts."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, dict):
        obj = list(obj.items())
    if isinstance(obj, (list, tuple)):
        return next((found for each in obj if (found := get_a_var(each)) is not None), None)
    return None


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Each module called with its inputs, a tuple of arguments or one argument, and its keywords."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = kwargs_tup or [{}] * len(modules)
    arguments = [each if isinstance(each, (list, tuple)) else (each,) for each in inputs]
    return [module(*given, **named) for module, given, named in zip(modules, arguments, keywords, strict=True)]


_explain_missing(__name__)
