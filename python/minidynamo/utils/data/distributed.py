"""DistributedSampler: the part of a dataset that belongs to one of several processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import minidynamo

from ... import _C
from ..._missing_names import explain_missing as _explain_missing
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index of a dataset, from index `rank` on, in an order that seed + epoch decides.

    num_replicas, rank  must be given: there is no process group to ask, which is a RuntimeError
    drop_last           whether the last indices are left out where they do not divide evenly; else some are repeated
    Call set_epoch() before each epoch, or each has the same order. Raises ValueError for a rank that is not one of
    0 to num_replicas - 1. Source: torch.utils.data.distributed.DistributedSampler.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("Requires distributed package to be available")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        uneven = drop_last and count % num_replicas != 0
        self.num_samples = math.ceil((count - num_replicas if uneven else count) / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        indices = self._order()
        if not self.drop_last:
            missing = self.total_size - len(indices)
            indices += (indices * math.ceil(missing / max(len(indices), 1)))[:missing]
        indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})")
        return iter(indices[self.rank :: self.num_replicas])

    def _order(self) -> list[int]:
        if not self.shuffle:
            return list(range(len(self.dataset)))
        generator = _C.Generator()
        generator.manual_seed(self.seed + self.epoch)
        return minidynamo.randperm(len(self.dataset), generator=generator).tolist()

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration's order that of this epoch."""
        self.epoch = epoch


_explain_missing(__name__)
