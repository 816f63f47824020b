"""The accelerator of the process: there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from ._C import device
from ._missing_names import explain_missing as _explain_missing

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def current_accelerator(check_available: bool = False) -> device | None:
    """None: there is no accelerator."""
    return None


def _none() -> RuntimeError:
    return RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> NoReturn:
    """Raises RuntimeError: there is no accelerator."""
    raise _none()


def set_device_index(device: object) -> NoReturn:
    """Raises RuntimeError: there is no accelerator."""
    raise _none()


def current_stream(device: object = None) -> NoReturn:
    """Raises RuntimeError: there is no accelerator."""
    raise _none()


def synchronize(device: object = None) -> NoReturn:
    """Raises RuntimeError: there is no accelerator."""
    raise _none()


current_device_idx, set_device_idx = current_device_index, set_device_index


def empty_cache() -> None:
    """Does nothing: no device is in use."""


def memory_allocated(device_index: object = None) -> int:
    return 0


def max_memory_allocated(device_index: object = None) -> int:
    return 0


class Stream:
    """For annotations and isinstance() tests: RuntimeError when it is constructed, without an accelerator."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _none()


class Event:
    """For annotations and isinstance() tests: RuntimeError when it is constructed, without an accelerator."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _none()


class AcceleratorError(RuntimeError):
    """For except clauses: nothing raises it."""


_explain_missing(__name__)
