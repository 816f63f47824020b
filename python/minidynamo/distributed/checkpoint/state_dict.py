"""The state_dicts of modules of one process, by the names of torch.distributed.checkpoint.state_dict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._missing_names import explain_missing as _explain_missing
from ...nn import Module
from ..single_process import absent_function

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """strict and ignore_frozen_params are followed; the others are about several processes."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """model.state_dict(), without parameters that need no gradients where ignore_frozen_params says so."""
    if submodules is not None:
        raise NotImplementedError("get_model_state_dict(): minidynamo has no submodules=")
    found = dict(model.state_dict())
    if options is not None and options.ignore_frozen_params:
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                found.pop(name, None)
    return found


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """model.load_state_dict()"""
    return model.load_state_dict(model_state_dict, strict=options is None or options.strict)


get_optimizer_state_dict = absent_function(__name__, "get_optimizer_state_dict")
get_state_dict = absent_function(__name__, "get_state_dict")
set_optimizer_state_dict = absent_function(__name__, "set_optimizer_state_dict")
set_state_dict = absent_function(__name__, "set_state_dict")


_explain_missing(__name__)
