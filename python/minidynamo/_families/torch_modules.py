"""torch's modules under compile() and disable()."""

from __future__ import annotations

from .._dynamo.module_wrapper import ModuleWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# In the process already, unless a pickle is read.
_Module: Any = __import__("torch").nn.Module

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


class OptimizedModule(ModuleWrapper, _Module):  # type: ignore[misc]  # known when torch is there
    """A torch.nn.Module, with hooks of its own, which are called outside of captures, beside those of the module."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fields = self.__dict__
        if any(map(fields.get, _HOOKS)):
            return _Module.__call__(self, *args, **kwargs)
        return super().__call__(*args, **kwargs)
