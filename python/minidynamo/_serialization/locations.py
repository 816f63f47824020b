"""map_location: where the storages of a file go. Only the CPU exists; all other places are refused as torch does."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Restore = Callable[[Any, str], Any]


def restorer(map_location: Any) -> Restore:
    """restore(storage, location): the storage on the CPU, or RuntimeError.

    map_location  None; a device or its name; a dict of names; a function of (storage, location), whose None means the
                  location itself
    """
    if map_location is None:
        return _at
    if isinstance(map_location, dict):
        return lambda storage, location: _at(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, _C.device)):
        name = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: _at(storage, name)
    return lambda storage, location: _by_function(map_location, storage, location)


def _by_function(function: Callable[[Any, str], Any], storage: Any, location: str) -> Any:
    result = function(storage, location)
    return _at(storage, location) if result is None else result


def _at(storage: Any, location: Any) -> Any:
    name = str(location)
    if name == "cpu" or name == "cpu:0":
        return storage
    if name.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {name}): "
        "minidynamo runs on the CPU only"
    )
