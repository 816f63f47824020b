"""autocast: taken wherever torch takes it, and disabled, as torch disables it for a dtype that it cannot serve."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import _C
from .._missing_names import explain_missing as _explain_missing

# The dtypes that torch's autocast would compute in.
_FAST = {"cpu": "bfloat16", "cuda": "float16", "xpu": "float16", "mps": "float16", "mtia": "float16", "hpu": "bfloat16"}


def is_autocast_available(device_type: str) -> bool:
    """Whether torch has an autocast for this type of device."""
    return device_type in _FAST or device_type in ("ipu", "maia", "privateuseone", "xla")


class autocast:
    """A context manager and decorator. RuntimeError for an unknown device_type, ValueError for one that is no str.

    With enabled=True it warns: operations go on in the dtypes of their tensors, which are more precise.
    """

    def __init__(
        self,
        device_type: str,
        dtype: _C.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = False
        if enabled:
            _warn_disabled(device_type)

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """Does nothing."""

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)

        return wrapper


def _warn_disabled(device_type: str) -> None:
    if device_type == "cpu":
        text = "minidynamo computes in the dtypes of the tensors: convert them with .to(dtype). Disabling autocast."
    else:
        text = f"{device_type.upper()} is not available. Disabling autocast."
    warnings.warn(text, stacklevel=3)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: _C.dtype | None = None
) -> Callable[..., Any]:
    """The function itself: autocast is never enabled where it is called. Also a decorator with arguments."""
    return fwd if fwd is not None else _itself


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """The function itself, as custom_fwd."""
    return bwd if bwd is not None else _itself


def _itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


# ---- what torch has at the top


def get_autocast_dtype(device_type: str) -> _C.dtype:
    """The dtype that torch's autocast would compute in by default. RuntimeError for an unknown type of device."""
    if not is_autocast_available(device_type):
        raise RuntimeError("unsupported scalarType")
    return _C._dtypes[_FAST.get(device_type, "bfloat16")]


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """False."""
    return False


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Does nothing for False; warns for True, since autocast stays disabled."""
    if enabled is None:
        device_type, enabled = "cuda", bool(device_type)
    if enabled:
        _warn_disabled(str(device_type))


def is_autocast_cpu_enabled() -> bool:
    """False."""
    return False


def get_autocast_cpu_dtype() -> _C.dtype:
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> _C.dtype:
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled() -> bool:
    """True, as in torch: nothing is ever in the cache."""
    return True


def clear_autocast_cache() -> None:
    """Does nothing: there is no cache."""


_explain_missing(__name__)
