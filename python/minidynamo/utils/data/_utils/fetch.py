"""How a batch, or one sample, is taken from a dataset."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from minidynamo import as_tensor

from .... import _C
from ..dataset import IterableDataset, Subset, TensorDataset
from .collate import default_collate

Fetch = Callable[[Any], Any]


def fetcher(dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
    """The function from an index, or a list of them, to what a DataLoader yields.

    It raises StopIteration where an IterableDataset ends.
    """
    if isinstance(dataset, IterableDataset):
        return _StreamFetcher(dataset, auto_collation, collate_fn, drop_last).fetch
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])

    def fetch(indices: Any) -> Any:
        if collate_fn is default_collate:
            whole = _rows_of_tensors(dataset, indices)
            if whole is not None:
                return whole
        if getattr(dataset, "__getitems__", None):
            return collate_fn(dataset.__getitems__(indices))
        return collate_fn([dataset[index] for index in indices])

    return fetch


class _StreamFetcher:
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self._samples = iter(dataset)
        self._auto_collation = auto_collation
        self._collate_fn = collate_fn
        self._drop_last = drop_last
        self._ended = False

    def fetch(self, index: Any) -> Any:
        if self._ended:
            raise StopIteration
        if not self._auto_collation:
            return self._collate_fn(next(self._samples))
        batch = []
        for _ in index:
            try:
                batch.append(next(self._samples))
            except StopIteration:
                self._ended = True
                break
        if not batch or self._drop_last and len(batch) < len(index):
            raise StopIteration
        return self._collate_fn(batch)


def _rows_of_tensors(dataset: Any, indices: Any) -> list[_C.Tensor] | None:
    """What default_collate makes of these samples, by one index into each tensor.

    None where the dataset is of another kind, or the indices are not plain ints: then sample by sample.
    """
    if type(indices) is not list:
        return None
    while type(dataset) is Subset:
        try:
            indices = [dataset.indices[each] for each in indices]
        except IndexError:
            return None
        dataset = dataset.dataset
    # Bools are no indices of rows.
    if type(dataset) is not TensorDataset or set(map(type, indices)) != {int}:
        return None
    tensors = dataset.tensors
    if not all(type(each) is _C.Tensor for each in tensors):
        return None
    # An index out of range raises as that sample would alone.
    length = len(dataset)
    if min(indices) < -length or max(indices) >= length:
        return None
    rows = as_tensor(array("q", indices))
    return [each[rows] for each in tensors]
