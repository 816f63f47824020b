"""Checks of numbers, which stay in the graph if the number is read from a tensor."""

from __future__ import annotations

from .._C import Tensor, _holds
from .._C import _dtypes as dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = Callable[[], object] | None


def _check_with(error_type: type[Exception], cond: Any, message: Message) -> None:
    """Raises error_type, with the text returned by `message`, if `cond` is False."""
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert"
                " that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if _holds(cond):
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    if message is None:
        raise error_type(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an"
            " enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raises RuntimeError, with the text returned by `message`, if `cond` is False."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raises RuntimeError if `i` is negative, or above `max` if that is not None."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """_check with IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """_check with ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """_check with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """_check with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes["bool"]:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raises RuntimeError, with the text returned by `message`, unless all elements of a tensor of bools are True."""
    _check_tensor_all_with(RuntimeError, cond, message)
