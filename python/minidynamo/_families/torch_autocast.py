"""torch.autocast where it changes nothing: setters of its state that are given what is set already."""

from __future__ import annotations

from .imported_torch import torch
from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Those whose dtypes captures are guarded by.
_DEVICES = ("cpu", "cuda")


def asked_dtype(device_type: str) -> Any:
    return torch.get_autocast_dtype(device_type)


def get_autocast_dtype(device_type: str) -> Any:
    if device_type not in _DEVICES:
        decline("autocast of another device")
    return asked_dtype(device_type)


def set_autocast_enabled(*args: Any) -> None:
    if len(args) != 2 or not isinstance(args[1], bool) or args[1] != torch.is_autocast_enabled(args[0]):
        decline("autocast that is switched")


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    if get_autocast_dtype(device_type) is not dtype:
        decline("another dtype of autocast")


def set_autocast_cache_enabled(enabled: Any) -> None:
    if enabled is not torch.is_autocast_cache_enabled():
        decline("autocast that keeps casts, or does no longer")


def clear_autocast_cache() -> None:
    """Outside of all blocks nothing is kept."""
    if torch.autocast_increment_nesting() > 1:
        decline("casts that are dropped")
    torch.autocast_decrement_nesting()


ASKED = (asked_dtype, torch.is_autocast_cache_enabled, torch._C._is_autocast_available)

BLOCKS = ((torch.autocast_increment_nesting, 1), (torch.autocast_decrement_nesting, -1))

TABLE = tuple(
    StandIn(function.__name__, function, "Rewritten")
    for function in (
        get_autocast_dtype,
        set_autocast_enabled,
        set_autocast_dtype,
        set_autocast_cache_enabled,
        clear_autocast_cache,
    )
)
