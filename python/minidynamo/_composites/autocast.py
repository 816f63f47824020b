"""Autocast of composite operations: of those that torch computes as one operation, which has a rule of its own.

Such a function begins with the question whether autocast is on, and then computes itself again on operands that were
cast, without autocast inside. What has no rule consists of operations that have theirs.
"""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

is_autocasting = _C._is_autocasting


def full_precision(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """The function of the arguments, in float32."""
    return _computed(function, _C._dtypes["float32"], args, keywords)


def low_precision(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """The function of the arguments, in the dtype of autocast."""
    return _computed(function, _C._autocast_dtype(), args, keywords)


def as_given(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """The function of the arguments, in their dtypes: torch computes it without autocast."""
    return _computed(function, None, args, keywords)


def require_wide(op: str, input: Any) -> None:
    """Raises RuntimeError for 16-bit floats, as without autocast: under it, parts of the operation would take them."""
    if is_autocasting() and input.is_floating_point() and input.dtype.itemsize == 2:
        name = str(input.dtype).rpartition(".")[2]
        raise RuntimeError(f"[{op}] Low precision dtypes not supported. Got {name}")


def _computed(function: Callable[..., Any], dtype: Any, args: Any, keywords: dict[str, Any]) -> Any:
    if dtype is not None:
        args = [cast(each, dtype) for each in args]
        keywords = {name: cast(each, dtype) for name, each in keywords.items()}
    _C._exchange_autocast_enabled(False)
    try:
        return function(*args, **keywords)
    finally:
        _C._exchange_autocast_enabled(True)


def cast(value: Any, dtype: Any) -> Any:
    """A tensor of 16- or 32-bit floats in the dtype, in a list or tuple too; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [cast(each, dtype) for each in value]
    if not isinstance(value, _C.Tensor) or not value.is_floating_point() or value.dtype is _C._dtypes["float64"]:
        return value
    return value.to(dtype)
