"""guard_filter_fn: what a program is shown of the guards of a capture, and how its answer is read."""

import re
import sys
from dataclasses import dataclass
from typing import Any

from .. import _C


class GuardSource:
    """Where a guard looks."""

    def __init__(self, name, owners):
        self.name = name
        self._owners = owners

    def is_unspecialized_nn_module(self):
        """Whether the way there goes through a module, or ends at one."""
        return any(map(_is_module, self._owners))

    def is_unspecialized_builtin_nn_module(self):
        """Whether the innermost module on the way is one of minidynamo.nn's own classes."""
        modules = list(filter(_is_module, self._owners))
        return bool(modules) and type(modules[-1]).__module__.startswith("minidynamo.nn")


@dataclass
class Guard:
    """One guard: its kind (the table is csrc/guards/guard_kinds.def) and where it looks."""

    guard_type: str
    source: GuardSource

    @property
    def name(self):
        return self.source.name

    def create_fn_name(self):
        return self.guard_type


@dataclass
class GuardFilterEntry:
    """What guard_filter_fn is given for each guard.

    name                 where it looks, as in the guards log, a local by its name alone: x, x.weight, G['scale']
    has_value, value     whether something is there while capturing, and what
    guard_type           TENSOR_MATCH, TYPE_MATCH, EQUALS_MATCH, ID_MATCH ...
    derived_guard_types  always empty
    is_global            whether it is reached from a global
    orig_guard           a Guard
    """

    name: str
    has_value: bool
    value: Any
    guard_type: str
    derived_guard_types: tuple
    is_global: bool
    orig_guard: Guard


def kept_guards(guard_filter_fn, rows):
    """The filter's answer for what the extension tells of the guards, as a list of bools."""
    entries = [_entry(*row) for row in rows]
    answer = guard_filter_fn(entries)
    kept = list(answer)
    if len(kept) != len(entries):
        raise AssertionError(f"guard_filter_fn must answer for each of {len(entries)} guards, not for {len(kept)}")
    for answer in kept:
        if not isinstance(answer, bool):
            raise AssertionError(f"guard_filter_fn must answer with bools, not {type(answer).__name__}")
    return kept


def _entry(kind, name, has_value, value, owners, is_global):
    path = [*owners, value] if has_value else owners
    guard = Guard(kind, GuardSource(name, path))
    return GuardFilterEntry(_without_scope(name), has_value, value, kind, (), is_global, guard)


def _without_scope(name):
    return re.sub(r"L\['(.*?)'\]", r"\1", name)


def _is_module(value):
    return any(each.__module__ == "minidynamo.nn.module" and each.__name__ == "Module" for each in type(value).__mro__)


_C._hold_module(sys.modules[__name__])
