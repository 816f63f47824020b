"""The table of functions that stand in for torch's."""

from __future__ import annotations

import sys
import types
from collections import namedtuple

import minidynamo

from ..decline import decline as decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])


def _unbound(value: Any) -> Any:
    """What a class method in Python or in C is made of when it is read: the object that capture finds in the class."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, type):
        found = next((vars(base)[value.__name__] for base in owner.__mro__ if value.__name__ in vars(base)), None)
        if isinstance(found, types.ClassMethodDescriptorType):
            return found
    return getattr(value, "__func__", value)


class StandIn:
    """A function of ours, with torch's parameters, in the place of torch's at `places`.

    counts_writes: whether torch raises the versions of the tensors that its function writes.
    """

    def __init__(
        self, places: str, function: Callable[..., Any], kind: str = "StandIn", *, counts_writes: bool = True
    ) -> None:
        self.places = places.split()
        self.function = function
        self.kind = kind
        self.options = {} if counts_writes else {"counts_writes": False}

    def register(self, torch: Any, add: Callable[..., None]) -> None:
        """Adds it for each place that this torch has."""
        for path in self.places:
            value, name = torch, "torch"
            for part in path.split("."):
                name = f"{name}.{part}"
                # torch deletes the names of some of its modules.
                value = getattr(value, part, sys.modules.get(name))
            if value is not None:
                method = path.startswith("Tensor.")
                add(_unbound(value), path, self.kind, self.function, method=method, **self.options)


TABLE: list[StandIn] = []


def stands_in(places: str, *, counts_writes: bool = True) -> Callable[[_Function], _Function]:
    """Enters a function over our tensors."""

    def enter(function: _Function) -> _Function:
        TABLE.append(StandIn(places, function, counts_writes=counts_writes))
        return function

    return enter


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The form of a function over our tensors that writes into its first argument."""

    def write(self: Any, *args: Any, **keywords: Any) -> Any:
        result = function(self, *args, **keywords)
        if result.dtype != self.dtype or result.shape != self.shape:
            decline("a result that does not fit into the tensor")
        return self.copy_(result)

    return write


def decline_gradient(weight: Any, is_other: Any, what: str) -> None:
    """Of a function whose gradient of the weight is another one than ours if `is_other`."""
    if is_other and weight.requires_grad and minidynamo.is_grad_enabled():
        decline(what)


def both(*names: str) -> str:
    """The places of functions that are methods as well."""
    return " ".join([place for name in names for place in (name, f"Tensor.{name}")])


# By the name of torch's struct sequence: the named tuple in whose place it is returned.
RESULTS: dict[str, Any] = {}


def results(name: str, fields: str) -> Any:
    """A named tuple that becomes torch.return_types.NAME."""
    RESULTS[name] = namedtuple(name, fields)
    return RESULTS[name]
