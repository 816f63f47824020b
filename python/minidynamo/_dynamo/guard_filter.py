"""guard_filter_fn: the entries passed to a filter, and the evaluation of its result."""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .. import _C
from .module_wrapper import is_builtin_module, is_module


class GuardSource:
    """The source of a guard."""

    def __init__(self, name: str, owners: list[object]) -> None:
        self.name = name
        self._owners = owners

    def is_unspecialized_nn_module(self) -> bool:
        """Whether the path goes through a module, or ends at one."""
        return any(map(is_module, self._owners))

    def is_unspecialized_builtin_nn_module(self) -> bool:
        """Whether the innermost module on the path is of one of its library's own classes."""
        modules = list(filter(is_module, self._owners))
        return bool(modules) and is_builtin_module(modules[-1])


@dataclass
class Guard:
    """One guard: its kind (the table is csrc/guards/guard_kinds.def) and its source."""

    guard_type: str
    source: GuardSource

    @property
    def name(self) -> str:
        return self.source.name

    def create_fn_name(self) -> str:
        return self.guard_type


@dataclass
class GuardFilterEntry:
    """The entry passed to guard_filter_fn for each guard.

    name                 its source, as in the guards log, a local by its bare name: x, x.weight, G['scale']
    has_value, value     whether an object exists there during capture, and the object
    guard_type           TENSOR_MATCH, TYPE_MATCH, EQUALS_MATCH, ID_MATCH ...
    derived_guard_types  always empty
    is_global            whether it is reached from a global
    orig_guard           a Guard
    """

    name: str
    has_value: bool
    value: Any
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: Guard


def kept_guards(
    guard_filter_fn: Callable[[list[GuardFilterEntry]], Iterable[bool]],
    rows: list[tuple[str, str, bool, Any, list[object], bool]],
) -> list[bool]:
    """The filter's result for the guards passed by the extension, as a list of bools."""
    entries = [_entry(*row) for row in rows]
    answer = guard_filter_fn(entries)
    kept = list(answer)
    if len(kept) != len(entries):
        raise AssertionError(f"guard_filter_fn must answer for each of {len(entries)} guards, not for {len(kept)}")
    for each in kept:
        if not isinstance(each, bool):
            raise AssertionError(f"guard_filter_fn must answer with bools, not {type(each).__name__}")
    return kept


def _entry(
    kind: str, name: str, has_value: bool, value: Any, owners: list[object], is_global: bool
) -> GuardFilterEntry:
    path = [*owners, value] if has_value else owners
    guard = Guard(kind, GuardSource(name, path))
    return GuardFilterEntry(_without_scope(name), has_value, value, kind, (), is_global, guard)


def _without_scope(name: str) -> str:
    return re.sub(r"L\['(.*?)'\]", r"\1", name)


_C._hold_module(sys.modules[__name__])
