"""Apple's Metal devices: there are none."""

from __future__ import annotations

from ._missing_names import explain_missing as _explain_missing


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def synchronize(device: object = None) -> None:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("minidynamo runs on the CPU only: there is no MPS device")


def empty_cache() -> None:
    """Does nothing: no device is in use."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def current_allocated_memory() -> int:
    return 0


def driver_allocated_memory() -> int:
    return 0


_explain_missing(__name__)
