"""Creation of sparse tensors. No frame of this file is captured: a call is one graph break, not one an attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C

if TYPE_CHECKING:
    from .._C import Tensor
    from .coo import SparseTensor

_C._leave_files(__file__)


def made(kind: type[SparseTensor], dense: Tensor, where: Tensor, what: Tensor, coalesced: bool) -> Any:
    """A tensor of that class over the memory of `dense`."""
    tensor: Any = _C.Tensor._make_subclass(kind, dense, False)
    tensor._where, tensor._what, tensor._coalesced = where, what, coalesced
    return tensor
