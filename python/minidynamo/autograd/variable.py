"""autograd.Variable, which was a class of its own once: tensors are its instances."""

from __future__ import annotations

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _VariableType(type):
    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableType):
    """Variable(data, requires_grad=False) is a tensor over the same elements."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: Any = None) -> Tensor:  # type: ignore[misc]  # a tensor
        return data.detach().requires_grad_(requires_grad)


_explain_missing(__name__)
