"""Device queries: only the CPU exists."""

from __future__ import annotations

from ._missing_names import explain_missing as _explain_missing


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def current_device() -> int:
    raise RuntimeError("minidynamo runs on the CPU only: there is no CUDA device")


def synchronize(device: object = None) -> None:
    raise RuntimeError("minidynamo runs on the CPU only: there is no CUDA device")


def empty_cache() -> None:
    """Does nothing: no device is in use."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


_explain_missing(__name__)
