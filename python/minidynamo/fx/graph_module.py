"""The name of torch.fx.graph_module that programs import."""

from __future__ import annotations

from typing import Any

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from ..nn.module import Module
from ..nn.parameter import Parameter
from . import GraphModule

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """For isinstance() tests: a module that has the attributes of another."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Gives a module what another has at a dotted path, making the modules on the way; tensors become buffers."""
    *path, name = target.split(".")
    for part in path:
        from_module, own = getattr(from_module, part), getattr(to_module, part, None)
        if own is from_module:
            return
        if own is None:
            own = Module()
            setattr(to_module, part, own)
        to_module = own
    value = getattr(from_module, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


__all__ = ["GraphModule"]

_explain_missing(__name__)
