"""Names of torch._C that programs touch in passing: each does what it does in torch without TorchScript."""

from __future__ import annotations

import sys

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DispatchKey:
    """Torch's keys by name, as DispatchKey.CPU: operations are not dispatched by them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


_KEYS = (
    "AutocastCPU",
    "AutocastCUDA",
    "AutocastXPU",
    "Autograd",
    "AutogradCPU",
    "AutogradCUDA",
    "BackendSelect",
    "CPU",
    "CUDA",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
    "Meta",
    "Python",
    "Undefined",
)
for _name in _KEYS:
    setattr(DispatchKey, _name, DispatchKey(_name))
del _name


class DispatchKeySet:
    """A set of keys; `|` joins two. Nothing is dispatched by it."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys | other._keys))

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether the key is in it."""
        return key in self._keys


class ExcludeDispatchKeyGuard:
    """A block that changes nothing: nothing is dispatched by keys."""

    def __init__(self, keys: DispatchKeySet) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


class DisableTorchFunctionSubclass:
    """A block that changes nothing: no function calls __torch_function__."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        pass


def _log_api_usage_once(event: str) -> None:
    """Does nothing."""


def _get_tracing_state() -> None:
    """None: TorchScript does not trace."""
    return None


def _disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Calls the function."""
    return func(*args, **(kwargs or {}))


def _switch_of_torchscript(enabled: bool = False, *args: Any) -> bool:
    """Does nothing; False: there is no TorchScript."""
    return False


def _default_device() -> str:
    """cpu"""
    return "cpu"


def _accelerator(check: bool = False) -> Any:
    """The device cpu: there is no other."""
    return _C.device("cpu")


def _privateuse1_backend_name() -> str:
    """The name that torch has for a type of device of no library."""
    return "privateuseone"


_NAMES = {
    "DisableTorchFunction": DisableTorchFunctionSubclass,
    "DisableTorchFunctionSubclass": DisableTorchFunctionSubclass,
    "DispatchKey": DispatchKey,
    "DispatchKeySet": DispatchKeySet,
    "_ExcludeDispatchKeyGuard": ExcludeDispatchKeyGuard,
    "_disabled_torch_function_impl": _disabled_torch_function_impl,
    "_get_accelerator": _accelerator,
    "_get_default_device": _default_device,
    "_get_privateuse1_backend_name": _privateuse1_backend_name,
    "_get_tracing_state": _get_tracing_state,
    "_jit_can_fuse_on_cpu": _switch_of_torchscript,
    "_jit_can_fuse_on_gpu": _switch_of_torchscript,
    "_jit_override_can_fuse_on_cpu": _switch_of_torchscript,
    "_jit_override_can_fuse_on_gpu": _switch_of_torchscript,
    "_jit_set_bailout_depth": _switch_of_torchscript,
    "_jit_set_nvfuser_guard_mode": _switch_of_torchscript,
    "_jit_set_nvfuser_enabled": _switch_of_torchscript,
    "_jit_set_profiling_executor": _switch_of_torchscript,
    "_jit_set_profiling_mode": _switch_of_torchscript,
    "_jit_set_texpr_fuser_enabled": _switch_of_torchscript,
    "_log_api_usage_once": _log_api_usage_once,
}


def _lookup(name: str) -> Any:
    """Module `__getattr__` of _C."""
    if name == "_LinAlgError":
        return sys.modules[__name__.partition(".")[0]].linalg.LinAlgError
    if name in _NAMES:
        return _NAMES[name]
    raise AttributeError(f"module {_C.__name__!r} has no attribute {name!r}")


_C.__dict__["__getattr__"] = _lookup
