"""Names of torch.distributed that need several processes: classes and functions that say so when they are called."""

from __future__ import annotations

from typing import Any, NoReturn

INSTEAD = "minidynamo runs in one process (distributed.is_available() is False): leave it out"


def absent_class(module: str, name: str, *bases: type) -> Any:
    """A class for annotations, isinstance() tests and subclasses, of which there are no objects."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{module.partition('.')[2]}.{name}: {INSTEAD}")

    doc = "For annotations and isinstance() tests: there are none."
    return type(name, bases, {"__init__": __init__, "__doc__": doc, "__module__": module})


def absent_function(module: str, name: str) -> Any:
    """A function that raises RuntimeError."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{module.partition('.')[2]}.{name}(): {INSTEAD}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = "Raises RuntimeError: there is one process."
    return function
