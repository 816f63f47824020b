"""oneDNN, which computes products and convolutions here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    return True


@contextlib.contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, **kwargs: object
) -> Iterator[None]:
    """The switches inside of the block: they change nothing."""
    names = globals()
    before = {name: names[name] for name in ("enabled", "deterministic", "allow_tf32")}
    names.update(enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)
    try:
        yield
    finally:
        names.update(before)
