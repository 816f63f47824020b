"""What compile() and disable() return for a module of ours."""

from __future__ import annotations

from typing import Any

from ..nn.module import Module
from ..utils.hooks import RemovableHandle
from .module_wrapper import ModuleWrapper


class OptimizedModule(ModuleWrapper, Module):
    """The wrapper of a module of ours, whose hooks are those of the module itself."""

    def register_forward_hook(self, *args: Any, **kwargs: Any) -> RemovableHandle:
        return self._orig_mod.register_forward_hook(*args, **kwargs)

    def register_forward_pre_hook(self, *args: Any, **kwargs: Any) -> RemovableHandle:
        return self._orig_mod.register_forward_pre_hook(*args, **kwargs)
