"""Tensors that a module owns: Parameter and Buffer."""

import minidynamo
from minidynamo import _C

from .._composites.registry import require_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Parameter(minidynamo.Tensor):
    """A tensor that a Module lists among its parameters when it is set as an attribute.

    data           any tensor; it is shared, not copied. Left out: an empty tensor of shape (0,)
    requires_grad  needs a floating dtype
    """

    def __new__(cls, data=None, requires_grad=True):
        data = minidynamo.empty(0) if data is None else data
        require_tensor("Parameter", data, "data")
        return minidynamo.Tensor._make_subclass(cls, data.detach(), requires_grad)

    def __init__(self, data=None, requires_grad=True):
        pass

    def __repr__(self):
        return f"Parameter containing:\n{super().__repr__()}"

    def __deepcopy__(self, memo):
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return copy

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), self.detach(), self.requires_grad)


class Buffer(minidynamo.Tensor):
    """A tensor that a Module lists among its buffers when it is set as an attribute."""

    persistent: bool

    def __new__(cls, data=None, *, persistent=True):
        data = minidynamo.empty(0) if data is None else data
        buffer: Any = minidynamo.Tensor._make_subclass(cls, data.detach(), data.requires_grad)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data=None, *, persistent=True):
        pass


def _rebuild(cls, data, requires_grad):
    return cls(data, requires_grad)


# Both behave as Tensor does in every operation, so that capture treats them as tensors.
_C._register_tensor_type(Parameter)
_C._register_tensor_type(Buffer)
