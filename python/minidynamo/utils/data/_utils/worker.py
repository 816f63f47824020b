"""Which worker process of a DataLoader this is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker process of a DataLoader this is.

    id             0 to num_workers - 1
    seed           the seed of Python's and the default generator in this worker: the loader's base seed + id
    dataset        this process's copy of the dataset
    rng            None
    worker_method  "multiprocessing"
    Source: torch.utils.data._utils.worker.WorkerInfo.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader its WorkerInfo; None elsewhere. Source: torch.utils.data.get_worker_info."""
    return _worker_info
