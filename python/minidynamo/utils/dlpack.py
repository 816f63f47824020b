"""Memory that libraries share by DLPack."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._missing_names import explain_missing as _explain_missing

__all__ = ["from_dlpack", "to_dlpack"]


class _Holder:
    """An object whose memory is that of a capsule on the CPU."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(ext_tensor: Any) -> _C.Tensor:
    """The tensor over the memory of an object with __dlpack__(), or of a DLPack capsule."""
    return _C.from_dlpack(ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Holder(ext_tensor))


def to_dlpack(tensor: _C.Tensor) -> Any:
    """The memory of a tensor as a DLPack capsule, for one consumer."""
    return tensor.__dlpack__()


_explain_missing(__name__)
