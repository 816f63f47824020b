"""Iterators over a DataLoader: what both kinds share, and the one that loads in its own process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ._utils.fetch import fetcher
from .dataset import IterableDataset
from .sampler import random_seed

if TYPE_CHECKING:
    from .dataloader import DataLoader


class _BaseDataLoaderIter:
    """Draws a seed from the loader's generator, then the sampler's indices as they are needed."""

    _multiprocess = False

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.pin_memory:
            text = (
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used."
            )
            warnings.warn(text, stacklevel=3)
        self._dataset = loader.dataset
        self._index_sampler = loader._index_sampler
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = random_seed(loader.generator)
        self._reported_length = loader._IterableDataset_len_called
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)

    def _reset(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._reported_length = loader._IterableDataset_len_called
        self._num_yielded = 0

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        reported = self._reported_length
        if reported is not None and self._num_yielded > reported and isinstance(self._dataset, IterableDataset):
            self._warn_of_length(reported)
        return data

    def _warn_of_length(self, reported: int) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {reported}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._multiprocess:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(text, stacklevel=3)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetch = fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        return self._fetch(next(self._sampler_iter))
