"""Samplers: iterables of indices into a dataset, or of lists of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import minidynamo

from ... import _C
from ..._missing_names import explain_missing as _explain_missing

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)

# Indices with replacement are drawn in blocks of this size, as torch draws them.
_BLOCK = 32


def random_seed(generator: _C.Generator | None) -> int:
    """A seed of 63 bits: the number of `empty((), dtype=int64).random_(generator=generator)`."""
    drawn = minidynamo.empty((), dtype=minidynamo.int64).random_(generator=generator)
    return drawn.item() & (2**63 - 1)


class Sampler(Generic[_T_co]):
    """Base of samplers: subclasses define __iter__, and __len__ where the number of indices is known.

    Source: torch.utils.data.Sampler.
    """

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices 0 to len(data_source) - 1 in order. Source: torch.utils.data.SequentialSampler."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in a random order, by default each once.

    replacement  whether indices may repeat
    num_samples  how many, len(data_source) by default; without replacement the order begins anew after each round
    generator    None: one that is seeded from the default generator at each iteration
    Raises TypeError if replacement is not a bool, ValueError if num_samples is not a positive int.
    Source: torch.utils.data.RandomSampler.
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: _C.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            generator = _C.Generator()
            generator.manual_seed(random_seed(None))
        n, count = len(self.data_source), self.num_samples
        if self.replacement:
            for _ in range(count // _BLOCK):
                yield from minidynamo.randint(n, (_BLOCK,), generator=generator).tolist()
            yield from minidynamo.randint(n, (count % _BLOCK,), generator=generator).tolist()
            return
        for _ in range(count // n):
            yield from minidynamo.randperm(n, generator=generator).tolist()
        # Also for no index: the generator's next numbers are torch's.
        yield from minidynamo.randperm(n, generator=generator)[: count % n].tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in a random order, each once. Source: torch.utils.data.SubsetRandomSampler."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: _C.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in minidynamo.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to `weights`, a sequence of numbers.

    Raises ValueError for a num_samples that is no positive int, a replacement that is no bool, weights that are not
    one-dimensional. Source: torch.utils.data.WeightedRandomSampler.
    """

    weights: _C.Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: _C.Generator | None = None,
    ) -> None:
        if not _is_positive_int(num_samples):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        tensor = minidynamo.as_tensor(weights, dtype=minidynamo.float64)
        if tensor.dim() != 1:
            shape = tuple(tensor.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.weights = tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = minidynamo.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of batch_size indices of another sampler; the last one is shorter, or left out with drop_last.

    Raises ValueError for a batch_size that is no positive int and a drop_last that is no bool.
    Source: torch.utils.data.BatchSampler.
    """

    sampler: Sampler[int] | Iterable[int]
    batch_size: int
    drop_last: bool

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_positive_int(batch_size):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        left = iter(self.sampler)
        while batch := list(itertools.islice(left, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # an iterable without a length is a TypeError here
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _is_positive_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


_explain_missing(__name__)
