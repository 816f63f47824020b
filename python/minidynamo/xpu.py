"""Intel's GPUs as devices: there are none."""

from __future__ import annotations

from ._missing_names import explain_missing as _explain_missing


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0


def synchronize(device: object = None) -> None:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("minidynamo runs on the CPU only: there is no XPU device")


def empty_cache() -> None:
    """Does nothing: no device is in use."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def is_initialized() -> bool:
    return False


def is_current_stream_capturing() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def current_device() -> int:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("minidynamo runs on the CPU only: there is no XPU device")


def memory_allocated(device: object = None) -> int:
    return 0


def max_memory_allocated(device: object = None) -> int:
    return 0


_explain_missing(__name__)
