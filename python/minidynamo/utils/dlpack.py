"""Memory that libraries share by DLPack."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._missing_names import explain_missing as _explain_missing

__all__ = ["from_dlpack", "to_dlpack"]

from_dlpack = _C.from_dlpack


def to_dlpack(tensor: _C.Tensor) -> Any:
    """The memory of a tensor as a DLPack capsule, for one consumer."""
    return tensor.__dlpack__()


_explain_missing(__name__)
