"""The names of torch.export: nothing is exported; minidynamo.compile captures with fullgraph=True."""

from __future__ import annotations

from typing import Any, NoReturn

from .._missing_names import explain_missing as _explain_missing
from ..utils import _pytree

__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "register_dataclass", "save"]

_INSTEAD = "not in minidynamo: compile(model, fullgraph=True) captures the whole model"


class Dim:
    """A name for a size that varies, with its limits, for arguments."""

    AUTO: Dim
    DYNAMIC: Dim
    STATIC: Dim

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError("Dim(): argument 'name' must be str")
        if min is not None and max is not None and max <= min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__ = name
        self.min, self.max = min, max

    def __repr__(self) -> str:
        limits = [f"{key}={value}" for key, value in (("min", self.min), ("max", self.max)) if value is not None]
        return f"Dim({', '.join([repr(self.__name__), *limits])})"


Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = Dim("AUTO"), Dim("DYNAMIC"), Dim("STATIC")


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A Dim for each name, with the same limits."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ExportedProgram:
    """For annotations and isinstance() tests: there are none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"export.ExportedProgram is {_INSTEAD}")


def export(mod: Any, args: Any = (), kwargs: Any = None, **options: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"export.export() is {_INSTEAD}")


def save(ep: Any, f: Any, **options: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"export.save() is {_INSTEAD}; save(model.state_dict(), f) writes the weights")


def load(f: Any, **options: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError(f"export.load() is {_INSTEAD}; load(f) reads weights")


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """utils._pytree.register_dataclass()"""
    _pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


_explain_missing(__name__)
