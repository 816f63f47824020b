"""Sequences of several lengths: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The steps of all sequences, longest first.

    data              (sum of lengths, *): step 0 of all sequences, then step 1 of those that have one, and so on
    batch_sizes       (longest length,), int64: how many sequences have each step
    sorted_indices    which sequence of the batch is at each place; None for the order of the batch
    unsorted_indices  the inverse permutation
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a tuple or list of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequences with data.to(...); itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._of(data)

    def _of(self, data: Tensor) -> Self:
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def cpu(self) -> Self:
        return self

    def double(self) -> Self:
        return self.to(dtype=minidynamo.double)

    def float(self) -> Self:
        return self.to(dtype=minidynamo.float)

    def half(self) -> Self:
        return self.to(dtype=minidynamo.half)

    def long(self) -> Self:
        return self.to(dtype=minidynamo.long)

    def int(self) -> Self:
        return self.to(dtype=minidynamo.int)

    def short(self) -> Self:
        return self.to(dtype=minidynamo.short)

    def char(self) -> Self:
        return self.to(dtype=minidynamo.int8)

    def byte(self) -> Self:
        return self.to(dtype=minidynamo.uint8)

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation (n,); None of None."""
    if permutation is None:
        return None
    places = minidynamo.arange(0, permutation.numel(), dtype=permutation.dtype)
    return minidynamo.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs (L, B, *), with batch_first (B, L, *), of which each sequence has its own length.

    lengths: a list or a tensor (B,); decreasing, unless enforce_sorted is False. Raises RuntimeError for lengths
    that are not, that are below 1, or not as many as sequences.
    """
    lengths = lengths if isinstance(lengths, Tensor) else minidynamo.tensor(lengths, dtype=minidynamo.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = minidynamo.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps = input.transpose(0, 1) if batch_first else input
    sizes = _batch_sizes(steps, lengths.to(minidynamo.int64))
    data = minidynamo.cat([steps[at, :size] for at, size in enumerate(sizes)])
    return PackedSequence(data, minidynamo.tensor(sizes, dtype=minidynamo.int64), sorted_indices, None)


def _batch_sizes(steps: Tensor, lengths: Tensor) -> list[int]:
    """How many sequences have each step, of decreasing lengths."""
    if steps.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    counts = lengths.tolist()
    if len(counts) != steps.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={steps.shape[1]})"
        )
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(counts, counts[1:])):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass"
            " `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you"
            " do not need ONNX exportability."
        )
    if counts[0] > steps.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {steps.shape[0]}, the number of steps, but got {counts[0]}")
    return [sum(count > at for count in counts) for at in range(counts[0])]


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """(L, B, *), with batch_first (B, L, *), padded with a value, and the lengths (B,).

    total_length: L, at least the longest length, else ValueError.
    """
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got"
                f" total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    data = sequence.data
    padded = data.new_full((longest, sizes[0], *data.shape[1:]), padding_value)
    for at, part in enumerate(data.split(sizes)):
        padded[at, : sizes[at]] = part
    lengths = minidynamo.tensor([sum(size > row for size in sizes) for row in range(sizes[0])], dtype=minidynamo.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices
        return padded.index_select(0 if batch_first else 1, order), lengths[order]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors (L_i, *) as one: (L, B, *), with batch_first (B, L, *), padded with a value on one side."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    rows = tuple(sequences)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if not rows:
        raise RuntimeError("received an empty list of sequences")
    longest = max([row.shape[0] for row in rows])
    padded = rows[0].new_full((len(rows), longest, *rows[0].shape[1:]), padding_value)
    for at, row in enumerate(rows):
        start = 0 if padding_side == "right" else longest - row.shape[0]
        padded[at, start : start + row.shape[0]] = row
    return padded if batch_first else padded.transpose(0, 1).contiguous()


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences (L_i, *) of a padded tensor."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(padded_sequences.unbind(0), lengths.tolist())]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (L_i, *)."""
    lengths = minidynamo.tensor([row.shape[0] for row in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences (L_i, *) of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


_explain_missing(__name__)
