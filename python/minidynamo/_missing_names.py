"""Names that a module does not have: the text of the error, and a listener that notes them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Called with the names of the module and of what was asked for.
listener: Callable[[str, str], None] | None = None


def explain_missing(module: str, submodules: tuple[str, ...] = ()) -> None:
    """Gives a module that is being imported a `__getattr__`, which raises what missing() returns.

    submodules: those that it imports when they are first used.
    """
    names = vars(sys.modules[module])

    def __getattr__(name: str) -> object:
        if name in submodules:
            __import__(f"{module}.{name}")
            return sys.modules[f"{module}.{name}"]
        raise missing(module, name)

    names["__getattr__"] = __getattr__
    if submodules:
        names["__dir__"] = lambda: sorted({*names, *submodules})


def missing(module: str, name: str) -> AttributeError:
    """The AttributeError of a name. Those of the interpreter's protocols, `__path__` and the like, are not torch's."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__") and name.endswith("__"):
        return AttributeError(text)
    if listener is not None:
        listener(module, name)
    return AttributeError(f"{text}: not in minidynamo; docs/torch_names.md lists which of torch's names are")
