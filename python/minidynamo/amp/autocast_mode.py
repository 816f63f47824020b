"""autocast: on CPUs the operations of torch's lists compute in a 16-bit dtype, or in float32, while it is on.

__init__, __enter__ and __exit__ of autocast are inlined by captures, and so are the functions that ask for its state.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import _C
from .._composites.autocast import cast as _cast_tensor
from .._missing_names import explain_missing as _explain_missing

# The dtypes that torch's autocast computes in, of devices that are not here.
_FAST = {"cuda": "float16", "xpu": "float16", "mps": "float16", "mtia": "float16", "hpu": "bfloat16"}
_OTHERS = ("ipu", "maia", "privateuseone", "xla")
_SUPPORTED = (_C._dtypes["bfloat16"], _C._dtypes["float16"])


def is_autocast_available(device_type: str) -> bool:
    """Whether torch has an autocast for this type of device."""
    return device_type == "cpu" or device_type in _FAST or device_type in _OTHERS


class autocast:
    """A context manager and decorator, of the state of this thread. On the CPU, with dtype bfloat16 (or float16),
    products, convolutions and attention compute in it, losses, transforms and decompositions in float32, and all else
    in the dtypes of its operands. Casts have gradients, in the dtypes of what was cast.

    enabled        False switches it off inside of another one
    cache_enabled  whether a parameter is cast once for all its uses, until autocast is off

    Warns and stays off for another dtype, and for a device that is not here.
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
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = _C.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._entered: list[_Block] = []
        if enabled and device_type != "cpu":
            _warn_absent(device_type)
            enabled = False
        elif enabled and self.fast_dtype not in _SUPPORTED:
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"CPU Autocast only supports dtypes of {', '.join(map(str, _SUPPORTED))} currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> autocast:
        block = _Block(self)
        block.__enter__()
        self._entered.append(block)
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        self._entered.pop().__exit__(exc_type, exc_value, traceback)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


class _Block:
    """One block under an autocast object, which recursion and threads may share."""

    def __init__(self, context: autocast) -> None:
        self._context = context

    def __enter__(self) -> None:
        context = self._context
        self._before = _C._is_autocasting(), _C._autocast_dtype(), _C.is_autocast_cache_enabled()
        if context.device == "cpu":
            set_autocast_enabled("cpu", context._enabled)
            set_autocast_dtype("cpu", context.fast_dtype)
            set_autocast_cache_enabled(context._cache_enabled)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        enabled, dtype, cache_enabled = self._before
        if self._context.device == "cpu":
            _C._exchange_autocast_enabled(enabled)
            _C._exchange_autocast_dtype(dtype)
            _C._exchange_autocast_cache(cache_enabled)
            if not enabled:
                _C.clear_autocast_cache()


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, each call of which runs in the context."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with _Block(autocast_instance):
            return func(*args, **kwargs)

    return decorate_autocast


def _warn_absent(device_type: str) -> None:
    if device_type == "cuda":
        text = "CUDA is not available or torch_xla is imported. Disabling autocast."
    else:
        text = f"{device_type.upper()} is not available. Disabling autocast."
    warnings.warn(text, stacklevel=3)


# ---- functions of autograd.Function


def _cast(value: Any, dtype: _C.dtype) -> Any:
    """Floating tensors of 16 or 32 bits in the dtype, in containers too."""
    if isinstance(value, _C.Tensor):
        return _cast_tensor(value, dtype)
    if isinstance(value, str | bytes) or hasattr(value, "__array_interface__"):
        return value
    if isinstance(value, Mapping):
        return {_cast(key, dtype): _cast(each, dtype) for key, each in value.items()}
    if isinstance(value, Iterable):
        parts = (_cast(each, dtype) for each in value)
        return type(value)(parts) if isinstance(value, list | tuple) else parts
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: _C.dtype | None = None
) -> Callable[..., Any]:
    """A decorator of forward(ctx, ...) of an autograd.Function. With cast_inputs, where autocast is on, the tensors
    among its arguments are cast to that dtype, and it runs with autocast off."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        is_on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """A decorator of backward(ctx, ...) of an autograd.Function: it runs under the autocast of its forward."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


# ---- what torch has at the top


def _require(function: str, name: str, position: int, value: object, kind: type, expected: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be {expected}, not {type(value).__name__}"
        )


def _require_device(function: str, device_type: object) -> None:
    _require(function, "device_type", 1, device_type, str, "str")
    if not is_autocast_available(str(device_type)):
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")


def get_autocast_dtype(device_type: str) -> _C.dtype:
    """The dtype that autocast computes in. RuntimeError for an unknown type of device."""
    _require("get_autocast_dtype", "device_type", 1, device_type, str, "str")
    if device_type == "cpu":
        return _C._autocast_dtype()
    if not is_autocast_available(device_type):
        raise RuntimeError("unsupported scalarType")
    return _C._dtypes[_FAST.get(device_type, "bfloat16")]


def set_autocast_dtype(device_type: str, dtype: _C.dtype) -> None:
    """Sets the dtype of this thread's autocast of the CPU; of other devices nothing is kept."""
    _require("set_autocast_dtype", "device_type", 1, device_type, str, "str")
    _require("set_autocast_dtype", "dtype", 2, dtype, _C.dtype, "torch.dtype")
    if device_type == "cpu":
        _C._exchange_autocast_dtype(dtype)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on in this thread; without an argument, that of "cuda". False but for the CPU."""
    if device_type is None:
        return False
    _require_device("is_autocast_enabled", device_type)
    return device_type == "cpu" and _C._is_autocasting()


def set_autocast_enabled(device_type: str | bool | None = None, enabled: bool | None = None) -> None:
    """Switches this thread's autocast of a device, without one that of "cuda", on or off. Warns, and stays off, for
    another device than the CPU."""
    device: object = device_type
    if enabled is None:
        if device_type is None:
            raise TypeError(
                "set_autocast_enabled() received an invalid combination of arguments - got (), but expected one of:\n"
                " * (str device_type, bool enabled)\n * (bool enabled)\n"
            )
        _require("set_autocast_enabled", "enabled", 1, device_type, bool, "bool")
        device, enabled = "cuda", bool(device_type)
    elif device_type is None:
        device = "cuda"
    _require_device("set_autocast_enabled", device)
    _require("set_autocast_enabled", "enabled", 2, enabled, bool, "bool")
    if device == "cpu":
        _C._exchange_autocast_enabled(enabled)
    elif enabled:
        _warn_absent(str(device))


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Sets whether this thread's autocast casts a parameter once for all its uses."""
    _require_flag(enabled)
    _C._exchange_autocast_cache(enabled)


def is_autocast_cpu_enabled() -> bool:
    """is_autocast_enabled("cpu")."""
    return _C._is_autocasting()


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """set_autocast_enabled("cpu", enabled)."""
    _require_flag(enabled)
    _C._exchange_autocast_enabled(enabled)


def _require_flag(enabled: object) -> None:
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")


def _require_dtype(dtype: object) -> None:
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")


def get_autocast_cpu_dtype() -> _C.dtype:
    """get_autocast_dtype("cpu")."""
    return _C._autocast_dtype()


def set_autocast_cpu_dtype(dtype: _C.dtype) -> None:
    """set_autocast_dtype("cpu", dtype)."""
    _require_dtype(dtype)
    _C._exchange_autocast_dtype(dtype)


def get_autocast_gpu_dtype() -> _C.dtype:
    """get_autocast_dtype("cuda")."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: _C.dtype) -> None:
    """set_autocast_dtype("cuda", dtype): nothing is kept."""
    _require_dtype(dtype)


is_autocast_cache_enabled = _C.is_autocast_cache_enabled
clear_autocast_cache = _C.clear_autocast_cache


_explain_missing(__name__)
