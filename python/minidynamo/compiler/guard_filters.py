"""Guard filters for compile(options={"guard_filter_fn": ...}). Each takes the entries of the guards of a capture
(minidynamo._dynamo.guard_filter.GuardFilterEntry) and returns for each whether it is kept.

If a guard is dropped, the capture is used even if the guarded state has changed: hence `unsafe`. What a
capture itself reads when it runs (its input tensors, objects that it writes to) always stays guarded.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def keep_portable_guards_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Keeps the guards on tensors that are not globals, on relations between sizes, and on the modes of the thread."""
    return [
        entry.guard_type in ("GLOBAL_STATE", "SHAPE") or (entry.guard_type == "TENSOR_MATCH" and not entry.is_global)
        for entry in guard_entries
    ]


def keep_tensor_guards_unsafe(guard_entries: list[Any], keep_parameters: bool = False) -> list[bool]:
    """Keeps the guards on tensors; on parameters of modules only on request."""
    # Called while a frame runs, where nothing may be imported: without minidynamo.nn there are no parameters.
    nn = sys.modules.get("minidynamo.nn")
    parameter = () if nn is None else nn.Parameter
    return [
        entry.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(entry.value, parameter))
        for entry in guard_entries
    ]


def skip_guard_on_globals_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Drops the guards on objects reached from globals."""
    return [not entry.is_global for entry in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Drops the guards on modules of minidynamo.nn's own classes and on what they hold."""
    return [not entry.orig_guard.source.is_unspecialized_builtin_nn_module() for entry in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Drops the guards on modules and on what they hold."""
    return [not entry.orig_guard.source.is_unspecialized_nn_module() for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries: list[Any]) -> list[bool]:
    """Drops all guards."""
    return [False] * len(guard_entries)
