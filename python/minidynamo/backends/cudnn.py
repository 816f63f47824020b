"""cuDNN is not here: is_available() is False, and the switches, which programs set, change nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
deterministic = False
benchmark = False
benchmark_limit: int | None = None
allow_tf32 = True


def is_available() -> bool:
    return False


def version() -> int | None:
    """None: there is no cuDNN."""
    return None


def is_acceptable(tensor: object) -> bool:
    """False: no tensor can be given to cuDNN."""
    return False


_SWITCHES = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[object, ...]:
    """Sets the switches that are given; returns what they were."""
    names = globals()
    before = tuple(names[name] for name in _SWITCHES)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    names.update((name, value) for name, value in zip(_SWITCHES, given, strict=True) if value is not None)
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """The switches inside of the block."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        globals().update(zip(_SWITCHES, before, strict=True))
