"""Modules whose forward is run under utils.checkpoint."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import Any

from ...._missing_names import explain_missing as _explain_missing
from ....nn import Module
from ....utils.checkpoint import checkpoint


class CheckpointImpl(enum.Enum):
    """How checkpoint() works, for arguments."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class CheckpointWrapper(Module):
    """A module called through checkpoint()."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        if checkpoint_fn is None:
            checkpoint_fn = checkpoint
            checkpoint_fn_kwargs["use_reentrant"] = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """A CheckpointWrapper of the module."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Puts a wrapper in the place of each submodule that check_fn is true for, the innermost first."""
    if auto_wrap_policy is not None:
        raise NotImplementedError("apply_activation_checkpointing(): minidynamo has no auto_wrap_policy=")
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if check_fn(child):
                setattr(module, name, checkpoint_wrapper_fn(child))


_explain_missing(__name__)
