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


class UninitializedTensor:
    """What UninitializedParameter and UninitializedBuffer share: a tensor (0,) until its sizes are known."""

    requires_grad: bool
    _places: list[tuple[Any, str]]

    def note_place(self, table: Any, name: str) -> None:
        """Remembers a table of a module that holds it."""
        places = self.__dict__.setdefault("_places", [])
        if not any(known is table and at == name for known, at in places):
            places.append((table, name))

    def materialize(
        self, shape: Any, device: minidynamo.device | str | None = None, dtype: minidynamo.dtype | None = None
    ) -> None:
        """Puts a tensor of these sizes, whose numbers are unspecified, in its place in the module that has it.

        Raises RuntimeError if no LazyModuleMixin has it.
        """
        places = self.__dict__.get("_places", [])
        if not places:
            raise RuntimeError(f"materialize(): this {type(self).__name__} belongs to no lazy module")
        dtype = self.__dict__.get("_dtype") if dtype is None else dtype
        made = self.filled(minidynamo.empty(tuple(shape), dtype=dtype, device=device))
        for table, name in places:
            table[name] = made

    def filled(self, value: Tensor) -> Tensor:
        """The initialized tensor with a copy of these elements."""
        raise NotImplementedError


class UninitializedParameter(UninitializedTensor, Parameter):
    """A parameter of a lazy module before its sizes are known."""

    def __new__(
        cls,
        requires_grad: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> Self:
        made: Any = minidynamo.Tensor._make_subclass(cls, minidynamo.empty(0, dtype=dtype), requires_grad)
        made._dtype = dtype
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def filled(self, value: Tensor) -> Tensor:
        return Parameter(value.detach().clone(), self.requires_grad)

    def __repr__(self) -> str:
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = type(self)(self.requires_grad, dtype=self._dtype)
        return copy

    _dtype: minidynamo.dtype | None


class UninitializedBuffer(UninitializedTensor, minidynamo.Tensor):
    """A buffer of a lazy module before its sizes are known."""

    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
        persistent: bool = True,
    ) -> Self:
        made: Any = minidynamo.Tensor._make_subclass(cls, minidynamo.empty(0, dtype=dtype), requires_grad)
        made._dtype, made.persistent = dtype, persistent
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def filled(self, value: Tensor) -> Tensor:
        return value.detach().clone()

    def __repr__(self) -> str:
        return "<UninitializedBuffer>"


def is_lazy(param: object) -> bool:
    """Whether its sizes are not known yet."""
    return isinstance(param, UninitializedTensor)


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


# All behave as Tensor does in every operation, so that capture treats them as tensors.
_C._register_tensor_type(Parameter)
_C._register_tensor_type(Buffer)
_C._register_tensor_type(UninitializedParameter)
_C._register_tensor_type(UninitializedBuffer)

_explain_missing(__name__)
