"""Tensors that a module owns: Parameter and Buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, SupportsIndex

import minidynamo
from minidynamo import _C

from .._C import Tensor
from .._composites.registry import require_tensor
from .._missing_names import explain_missing as _explain_missing


class Parameter(minidynamo.Tensor):
    """A tensor that a Module lists among its parameters when it is set as an attribute.

    data           any tensor; it is shared, not copied. Left out: an empty tensor of shape (0,)
    requires_grad  needs a floating dtype
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        data = minidynamo.empty(0) if data is None else data
        require_tensor("Parameter", data, "data")
        return minidynamo.Tensor._make_subclass(cls, data.detach(), requires_grad)  # type: ignore[return-value]  # of the class cls

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return copy

    def __reduce_ex__(
        self, protocol: SupportsIndex
    ) -> tuple[Callable[..., Parameter], tuple[type[Parameter], Tensor, bool]]:
        return _rebuild, (type(self), self.detach(), self.requires_grad)


class Buffer(minidynamo.Tensor):
    """A tensor that a Module lists among its buffers when it is set as an attribute."""

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        data = minidynamo.empty(0) if data is None else data
        buffer: Any = minidynamo.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        pass


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


# Both behave as Tensor does in every operation, so that capture treats them as tensors.
_C._register_tensor_type(Parameter)
_C._register_tensor_type(Buffer)

_explain_missing(__name__)
