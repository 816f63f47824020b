"""SparseTensor: the elements that were given, by their indices, beside a tensor of all elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, SupportsIndex

import minidynamo

from .. import _C
from .._C import Tensor
from .creation import made


class SparseTensor(minidynamo.Tensor):
    """A tensor with all its elements that remembers which were specified. Results of operations are strided tensors."""

    _where: Tensor
    _what: Tensor
    _coalesced: bool

    @property
    def layout(self) -> Any:
        return _C._layouts["sparse_coo"]

    @property
    def is_sparse(self) -> bool:
        return True

    def indices(self) -> Tensor:
        """(sparse dims, specified elements), of a coalesced tensor. RuntimeError otherwise."""
        self._require_coalesced("indices")
        return self._where

    def values(self) -> Tensor:
        """The specified elements of a coalesced tensor. RuntimeError otherwise."""
        self._require_coalesced("values")
        return self._what

    def _require_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")

    def _indices(self) -> Tensor:
        return self._where

    def _values(self) -> Tensor:
        return self._what

    def _nnz(self) -> int:
        return self._where.shape[1]

    def sparse_dim(self) -> int:
        """How many of the first dims have indices."""
        return self._where.shape[0]

    def dense_dim(self) -> int:
        """How many of the last dims each specified element has."""
        return self._what.dim() - 1

    def is_coalesced(self) -> bool:
        """Whether each place is specified once, in order."""
        return self._coalesced

    def coalesce(self) -> SparseTensor:
        """The same tensor with each place specified once, in order: elements of one place are added."""
        if self._coalesced:
            return self
        sizes = self.shape[: self.sparse_dim()]
        flat = minidynamo.zeros(self._nnz(), dtype=minidynamo.int64)
        for index, size in zip(self._where, sizes):
            flat = flat * size + index
        places, inverse = flat.unique(return_inverse=True)
        what = self._what.new_zeros((len(places), *self._what.shape[1:])).index_add(0, inverse, self._what)
        where = minidynamo.stack(minidynamo.unravel_index(places, tuple(sizes)))
        return _made(self.to_dense(), where, what, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """The strided tensor of all elements, in memory of its own."""
        dense = self.detach()
        return dense.clone() if dtype is None else dense.to(dtype, copy=True)

    def to_sparse(self, *args: Any, **keywords: Any) -> SparseTensor:
        """The tensor itself."""
        return self

    def __repr__(self) -> str:
        return (
            f"tensor(indices={self._where!r},\n       values={self._what!r},\n"
            f"       size={tuple(self.shape)}, nnz={self._nnz()}, layout=minidynamo.sparse_coo)"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return memo.setdefault(
            id(self), _made(self.to_dense(), self._where.clone(), self._what.clone(), self._coalesced)
        )

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Callable[..., SparseTensor], tuple[Any, ...]]:
        return _made, (self.to_dense(), self._where, self._what, self._coalesced)


_C._register_tensor_type(SparseTensor)


def _made(dense: Tensor, where: Tensor, what: Tensor, coalesced: bool) -> Any:
    return made(SparseTensor, dense, where, what, coalesced)


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """The tensor with values (n, ...) at indices (sparse dims, n), and zeros elsewhere; values of one place are added.

    size: by default as small as the indices allow. RuntimeError for indices outside of it.
    """
    where = minidynamo.as_tensor(indices, dtype=minidynamo.int64)
    what = minidynamo.as_tensor(values, dtype=dtype)
    if where.dim() != 2 or what.dim() < 1 or where.shape[1] != what.shape[0]:
        raise RuntimeError(f"indices {tuple(where.shape)} and values {tuple(what.shape)} do not fit each other")
    if size is None:
        size = [*((where.amax(1) + 1).tolist() if where.numel() else [0] * where.shape[0]), *what.shape[1:]]
    shape = tuple(size)
    if where.shape[0] + what.dim() - 1 != len(shape) or tuple(what.shape[1:]) != shape[where.shape[0] :]:
        raise RuntimeError(f"values {tuple(what.shape)} at indices {tuple(where.shape)} do not fit the size {shape}")
    limits = minidynamo.tensor(shape[: where.shape[0]], dtype=minidynamo.int64).unsqueeze(-1)
    if where.numel() and not _C._data_holds(((where >= 0) & (where < limits)).all()):
        raise RuntimeError(f"indices are outside of the size {shape}")
    what = what.detach()
    dense = minidynamo.zeros(shape, dtype=what.dtype).index_put(tuple(where), what, accumulate=True)
    return _made(dense, where, what, bool(is_coalesced))


def sparse_of(input: Tensor, sparse_dim: int | None = None) -> Any:
    """What Tensor.to_sparse() gives: the elements that are not 0, or the slices that are not all 0."""
    count = input.dim() if sparse_dim is None else sparse_dim
    if not 0 <= count <= input.dim():
        raise RuntimeError(f"to_sparse: sparse_dim {count} must be at most {input.dim()}")
    kept = input != 0
    if count < input.dim():
        kept = kept.flatten(count).any(-1)
    where = kept.nonzero().t()
    dense = input.detach()
    return _made(dense.clone(), where, dense[tuple(where)] if count else dense.unsqueeze(0), True)


def FloatTensor(*args: Any) -> Any:
    """sparse_coo_tensor(indices, values, size) of float32, by its older name."""
    return sparse_coo_tensor(*args, dtype=minidynamo.float32)


def DoubleTensor(*args: Any) -> Any:
    """sparse_coo_tensor(indices, values, size) of float64, by its older name."""
    return sparse_coo_tensor(*args, dtype=minidynamo.float64)
