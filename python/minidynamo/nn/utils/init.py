"""Modules whose parameters are not drawn."""

from __future__ import annotations

import inspect
from typing import Any

import minidynamo

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module whose parameters hold unspecified numbers; the random generator is left as it was.

    Raises RuntimeError unless module_cls is a subclass of Module with an argument `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = minidynamo.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        minidynamo.set_rng_state(state)


_explain_missing(__name__)
