"""Datasets: map-style ones have __getitem__, iterable-style ones __iter__; and those made of others."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import minidynamo

from ... import _C
from ..._missing_names import explain_missing as _explain_missing

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")


class Dataset(Generic[_T_co]):
    """A map from keys to samples: subclasses define __getitem__, and __len__ for the samplers of DataLoader.

    A subclass may define __getitems__(indices) -> list of samples: DataLoader then asks for a whole batch at once.
    `one + other` is ConcatDataset([one, other]). Source: torch.utils.data.Dataset.
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A stream of samples: subclasses define __iter__.

    In worker processes each has its own copy: get_worker_info() says which part of the stream is its own.
    `one + other` is ChainDataset([one, other]). Source: torch.utils.data.IterableDataset.
    """

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[_C.Tensor, ...]]):
    """Samples are the tuples of rows of tensors with one size in dimension 0.

    Raises AssertionError if the sizes differ. A DataLoader that collates as default_collate does takes a whole batch
    by one index into each tensor. Source: torch.utils.data.TensorDataset.
    """

    tensors: tuple[_C.Tensor, ...]

    def __init__(self, *tensors: _C.Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[_C.Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Samples are tuples (of datasets given by position) or dicts (by name) of the samples of all datasets.

    Raises ValueError without datasets, with both kinds, or if the lengths differ.
    Source: torch.utils.data.StackDataset.
    """

    datasets: tuple[Dataset[Any], ...] | dict[str, Dataset[Any]]

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [_length(each) for each in self._parts()]
        if any(length != lengths[0] for length in lengths):
            raise ValueError("Size mismatch between datasets")
        self._length = lengths[0]

    def _parts(self) -> list[Dataset[Any]]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _sample(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._sample([dataset[index] for dataset in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for dataset in self._parts():
            whole = _whole_batch_function(dataset)
            column = [dataset[index] for index in indices] if whole is None else whole(indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._sample(parts) for parts in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """The samples of several map-style datasets, one dataset after the other.

    Raises AssertionError without datasets and for an IterableDataset; an index below -len() is a ValueError.
    Source: torch.utils.data.ConcatDataset.
    """

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The sums of the lengths up to each dataset."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __init__(self, datasets: Iterable[Dataset[_T_co]]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> _T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of cumulative_sizes; warns."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """The samples of several IterableDatasets, one after the other; others are an AssertionError when they are reached.

    Source: torch.utils.data.ChainDataset.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[IterableDataset[Any]]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield each

    def __iter__(self) -> Iterator[Any]:
        for each in self._streams():
            yield from each

    def __len__(self) -> int:
        return sum(_length(each) for each in self._streams())


class Subset(Dataset[_T_co]):
    """The samples of a dataset at `indices`.

    A subclass that defines __getitem__ must define __getitems__ too, else NotImplementedError: DataLoader asks for
    whole batches. Source: torch.utils.data.Subset.
    """

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        if type(self).__getitem__ is not Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{type(self).__name__} overrides __getitem__ but not __getitems__. "
                "When subclassing Subset and overriding __getitem__, you must also override "
                "__getitems__ to ensure DataLoader works correctly with your custom logic. "
                "A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> _T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[each] for each in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        whole = _whole_batch_function(self.dataset)
        if whole is not None:
            return whole([self.indices[each] for each in indices])
        return [self.dataset[self.indices[each]] for each in indices]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[_T], lengths: Sequence[int | float], generator: _C.Generator | None = None
) -> list[Subset[_T]]:
    """Divides a dataset at random into Subsets of the given lengths, or fractions whose sum is 1.

    What rounding down fractions leaves over goes to the splits in turn. Raises ValueError for a fraction outside of
    0 to 1 and for lengths whose sum is not len(dataset). Source: torch.utils.data.random_split.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(_length(dataset), lengths)
        for i, length in enumerate(lengths):
            if length == 0:
                text = f"Length of split at index {i} is 0. This might result in an empty dataset."
                warnings.warn(text, stacklevel=2)
    total = sum(lengths)
    if total != _length(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = minidynamo.randperm(int(total), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]


def _lengths_of_fractions(total: int, fractions: Sequence[float]) -> list[int]:
    lengths = []
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths.append(math.floor(total * fraction))
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    return lengths


def _length(dataset: Any) -> int:
    return len(dataset)


def _whole_batch_function(dataset: Any) -> Callable[[list[Any]], list[Any]] | None:
    found = getattr(dataset, "__getitems__", None)
    return found if callable(found) else None


_explain_missing(__name__)
