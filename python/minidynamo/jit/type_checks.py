"""isinstance() with types of elements: list[int], dict[str, Tensor], tuple[int, float], Optional and Union."""

from __future__ import annotations

import builtins
import types
import typing
from typing import Any


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether obj is of the type, or of one of a tuple of types; of a container, each element too."""
    if type(target_type) is tuple:
        return any(isinstance(obj, each) for each in target_type)
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, type(None) if each is None else each) for each in arguments)
    if origin is None:
        return builtins.isinstance(obj, _CLASSES.get(target_type, target_type))
    if not builtins.isinstance(obj, origin):
        return False
    return _elements_fit(obj, origin, arguments)


_CLASSES: dict[Any, Any] = {typing.List: list, typing.Dict: dict, typing.Tuple: tuple}  # noqa: UP006  without elements


def _elements_fit(obj: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if origin is dict:
        key, value = arguments
        return all(isinstance(k, key) and isinstance(v, value) for k, v in obj.items())
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(each, arguments[0]) for each in obj)
