"""Which modules fully sharded data parallelism would wrap: policies are functions of modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..._missing_names import explain_missing as _explain_missing
from ...nn import Module, ModuleDict, ModuleList, MultiheadAttention
from ..single_process import absent_function

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True"""
    return True


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Whether to descend, or to wrap a module of one of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Whether to descend, or to wrap a module that the function is true for."""
    return recurse or lambda_fn(module)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Whether to descend into, or to wrap, a module with that many parameters."""
    leaves = (MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
    excluded = (ModuleList, ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    is_large = nonwrapped_numel >= min_num_params
    return is_large and not isinstance(module, leaves if recurse else excluded)


class ModuleWrapPolicy:
    """Wraps the modules of these classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))


class CustomPolicy:
    """Wraps the modules that the function is true for, or gives options for."""

    def __init__(self, lambda_fn: Callable[[Module], Any]) -> None:
        self._lambda_fn = lambda_fn


enable_wrap = absent_function(__name__, "enable_wrap")
wrap = absent_function(__name__, "wrap")


_explain_missing(__name__)
