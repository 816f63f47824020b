"""The state of the generator that operations draw from."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from ._C import Tensor, get_rng_state, initial_seed, manual_seed, set_rng_state
from ._missing_names import explain_missing as _explain_missing

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def seed() -> int:
    """Seeds the generator with a number from the system, and returns that: 64 bits."""
    number = int.from_bytes(os.urandom(8), "little") >> 1
    manual_seed(number)
    return number


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[object] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restores the generator's state after the block; with enabled=False it does nothing."""
    if not enabled:
        yield
        return
    before: Tensor = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)


_explain_missing(__name__)
