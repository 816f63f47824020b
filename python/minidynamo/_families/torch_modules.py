"""torch's modules under compile() and disable()."""

from __future__ import annotations

from .._dynamo.module_wrapper import ModuleWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# In the process already, unless a pickle is read.
_Module: Any = __import__("torch").nn.Module


class OptimizedModule(ModuleWrapper, _Module):  # type: ignore[misc]  # known when torch is there
    """A torch.nn.Module, with hooks of its own, which are called outside of captures, beside those of the module."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fields = self.__dict__
        if (
            fields["_forward_hooks"]
            or fields["_forward_pre_hooks"]
            or fields["_backward_hooks"]
            or fields["_backward_pre_hooks"]
        ):
            return _Module.__call__(self, *args, **kwargs)
        return fields["forward" if "forward" in fields else "_captured"](*args, **kwargs)
