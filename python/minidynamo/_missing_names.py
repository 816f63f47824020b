"""Names that a module does not have: the text of the error, and a listener that notes them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Called with the names of the module and of what was asked for.
listener: Callable[[str, str], None] | None = None


def explain_missing(module: str) -> None:
    """Gives a module that is being imported a `__getattr__`, which raises what missing() returns."""

    def __getattr__(name: str) -> object:
        raise missing(module, name)

    vars(sys.modules[module])["__getattr__"] = __getattr__


def missing(module: str, name: str) -> AttributeError:
    """The AttributeError of a name. Those of the interpreter's protocols, `__path__` and the like, are not torch's."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__") and name.endswith("__"):
        return AttributeError(text)
    if listener is not None:
        listener(module, name)
    return AttributeError(f"{text}: not in minidynamo; docs/torch_names.md lists which of torch's names are")
