"""The one device that exists, by the names that other devices' modules have."""

from __future__ import annotations

import contextlib

from .._missing_names import explain_missing as _explain_missing
from . import amp

__all__ = [
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: object) -> None:
    """Does nothing: there is one."""


def synchronize(device: object = None) -> None:
    """Does nothing: operations have finished when they return."""


class Stream:
    """Operations run in the order of the program."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Does nothing."""


_stream = Stream()


def current_stream(device: object = None) -> Stream:
    return _stream


def stream(stream: Stream | None) -> contextlib.AbstractContextManager[None]:
    """A block on a stream: it changes nothing."""
    return contextlib.nullcontext()


_explain_missing(__name__)
