"""Python's multiprocessing. Tensors are sent as copies: there is no memory that processes share."""

from __future__ import annotations

import multiprocessing as _multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from multiprocessing.connection import wait
from typing import Any

from ._missing_names import missing as _missing

__all__ = [
    *_multiprocessing.__all__,
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


def get_all_sharing_strategies() -> set[str]:
    """Of one: tensors are copied."""
    return {"copy"}


def get_sharing_strategy() -> str:
    """How tensors are sent: as copies."""
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Does nothing for torch's strategies, of memory that is shared. ValueError for other texts."""
    if new_strategy not in ("copy", "file_descriptor", "file_system"):
        raise ValueError(f"unknown sharing strategy {new_strategy!r}")


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> list[Any] | None:
    """Calls fn(i, *args) in nprocs new processes, i from 0.

    With join waits for all, and raises RuntimeError if one failed, after the others are ended; without, returns the
    processes.
    """
    context: Any = _multiprocessing.get_context(start_method)
    processes: list[Any] = []
    for number in range(nprocs):
        process = context.Process(target=fn, args=(number, *args), daemon=daemon)
        process.start()
        processes.append(process)
    if not join:
        return processes
    _joined(processes)
    return None


def _joined(processes: list[Any]) -> None:

    waiting = {process.sentinel: (number, process) for number, process in enumerate(processes)}
    while waiting:
        for sentinel in wait(list(waiting)):
            number, process = waiting.pop(sentinel)
            process.join()
            if process.exitcode != 0:
                for _, other in waiting.values():
                    other.terminate()
                raise RuntimeError(f"process {number} terminated with exit code {process.exitcode}")


def __getattr__(name: str) -> Any:
    # Not its __path__: the modules below Python's are not below this one.
    if not name.startswith("__") and hasattr(_multiprocessing, name):
        return getattr(_multiprocessing, name)
    raise _missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for name in dir(_multiprocessing) if not name.startswith("_"))})
