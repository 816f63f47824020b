"""Methods of every tensor that name sparse ones."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .registry import composite, require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("method")
def to_sparse(input: Tensor, sparse_dim: int | None = None) -> Any:
    """The sparse tensor of the elements that are not 0; with sparse_dim, of the slices of the last dims."""
    require_tensor("to_sparse", input)
    return minidynamo.sparse.sparse_of(input, sparse_dim)


@composite("method")
def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, in the dtype."""
    require_tensor("to_dense", input)
    return input if dtype is None else input.to(dtype)


@composite("method")
def is_coalesced(input: Tensor) -> bool:
    """Raises RuntimeError: only sparse tensors are coalesced or not."""
    require_tensor("is_coalesced", input)
    raise RuntimeError("[is_coalesced] expected sparse coordinate tensor layout but got Strided")
