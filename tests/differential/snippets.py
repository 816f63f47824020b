"""The pieces of Python that the language tests run: a function, its arguments, and what may break."""

import sys
from dataclasses import dataclass

_SNIPPETS = {}


@dataclass(frozen=True)
class Snippet:
    function: object
    makers: tuple  # each returns fresh arguments; the first is called three times, then all of them twice in turn
    state: tuple  # names of globals that the function modifies
    raises: type | None
    breaks: int | None  # graph breaks of the first call; None: any number
    fullgraph: bool  # whether it is captured whole

    @property
    def name(self):
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__qualname__}"


def snippet(*makers, state=(), raises=None, breaks=None, fullgraph=None):
    """Registers the decorated function, which is returned unchanged."""

    def register(function):
        whole = breaks == 0 if fullgraph is None else fullgraph
        state_names = (state,) if isinstance(state, str) else tuple(state)
        entry = Snippet(function, makers or (_one_tensor,), state_names, raises, breaks, whole)
        if entry.name in _SNIPPETS:
            raise ValueError(f"two snippets are named {entry.name}")
        _SNIPPETS[entry.name] = entry
        return function

    return register


def whole(*makers, **options):
    """A snippet that must be captured in one graph."""
    return snippet(*makers, breaks=0, **options)


def whole_on_311(*makers, **options):
    """The same for code that captures parts of the standard library, which differ between versions; required on 3.11
    only."""
    return (whole if sys.version_info[:2] == (3, 11) else snippet)(*makers, **options)


def snippets():
    return list(_SNIPPETS.values())


def _one_tensor():
    from minidynamo import tensor

    return (tensor([1.0, -2.0, 3.0]),)
