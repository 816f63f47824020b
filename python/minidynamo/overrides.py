"""__torch_function__ by name: functions here do not look for it, so that nothing overrides them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from ._C import Tensor
from ._missing_names import explain_missing as _explain_missing

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def has_torch_function(args: Iterable[Any]) -> bool:
    """False: no function of minidynamo calls __torch_function__."""
    return False


def has_torch_function_unary(arg: Any) -> bool:
    """False: no function of minidynamo calls __torch_function__."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """False: no function of minidynamo calls __torch_function__."""
    return False


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the first __torch_function__ among relevant_args returns, subclasses first, that is not NotImplemented.

    TypeError if there is none.
    """
    found: list[Any] = []
    for arg in relevant_args:
        if hasattr(type(arg), "__torch_function__") and all(type(arg) is not type(each) for each in found):
            place = next((i for i, each in enumerate(found) if issubclass(type(arg), type(each))), len(found))
            found.insert(place, arg)
    types = tuple(type(arg) for arg in found)
    for arg in found:
        result = arg.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}")


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[[_F], _F]:
    """A decorator that returns the function: its arguments are not asked for __torch_function__."""
    return lambda func: func


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or an object with __torch_function__."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a callable is a method of Tensor, or the getter of one of its properties."""
    if getattr(func, "__name__", "") == "__get__":
        return True
    return any(func == getattr(Tensor, name, None) for name in dir(Tensor))


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Empty: no function can be overridden."""
    return set()


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Empty: no function can be overridden."""
    return {}


class TorchFunctionMode:
    """For subclasses. RuntimeError when it is entered: no function would call it."""

    def __enter__(self) -> NoReturn:
        raise RuntimeError(
            "TorchFunctionMode is not in minidynamo, whose functions cannot be overridden: wrap the functions instead"
        )

    def __exit__(self, *args: object) -> None:
        pass


_explain_missing(__name__)
