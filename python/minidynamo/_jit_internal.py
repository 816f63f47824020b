"""The names of torch._jit_internal that programs import; torch.jit has the public ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035  under these names

from .jit import _overload, _overload_method, export, ignore, is_scripting, unused
from .jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tuple",
    "Union",
    "_overload",
    "_overload_method",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls if_true or if_false by one of its arguments, a bool."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        if arg_name in kwargs:
            flag = kwargs[arg_name]
        else:
            flag = args[arg_index] if arg_index < len(args) else default
        return if_true(*args, **kwargs) if flag else if_false(*args, **kwargs)

    fn.__name__ = func_name
    fn.__module__ = module_name
    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    return fn


def _copy_to_script_wrapper(fn: Any) -> Any:
    """The function: there is no TorchScript that it is copied to."""
    return fn
