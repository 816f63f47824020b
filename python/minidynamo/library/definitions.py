"""Library, define() and impl(): operators that are declared by the text of a schema, with kernels added afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .custom_op import _OPERATORS, CustomOpDef, defined, register_fake
from .schema import schema_of
from .schema_text import prototype_of

# Dispatch keys whose kernels compute on the CPU.
_CPU_KEYS = ("", "CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "BackendSelect")


class Library:
    """Operators of a namespace. kind: "DEF", "FRAGMENT" or "IMPL", which defines none.

    Raises ValueError for another kind, or a schema that names another namespace.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declares an operator; without a kernel a call of it raises NotImplementedError. Returns its name."""
        if self.kind == "IMPL":
            raise ValueError("define() is not possible in a Library of kind IMPL")
        name, prototype, written = prototype_of(schema)
        operator = CustomOpDef(self.ns, name, schema_of(prototype, written), prototype, written, ())
        operator._kernels.clear()
        defined(operator)
        return name

    def impl(self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Gives an operator its kernel. Kernels for "Meta" are its fake, those of other devices are never called.

        Kernels of torch's own operators are not replaced: RuntimeError.
        """
        name = getattr(op_name, "_name", op_name)
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        qualified = name if "::" in name else f"{self.ns}::{name}"
        if qualified not in _OPERATORS:
            raise RuntimeError(f"{qualified}: impl() needs an operator that was defined, and torch's are not replaced")
        register(qualified, dispatch_key or self.dispatch_key, fn)

    def _register_fake(self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, **more: Any) -> None:
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn)

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Raises RuntimeError: calls are not dispatched by keys."""
        raise RuntimeError("library: there is no dispatcher, and so no fallback")

    def _destroy(self) -> None:
        """Does nothing: the operators stay."""


def register(qualified: str, key: str, function: Callable[..., Any]) -> None:
    """A kernel by its dispatch key."""
    operator = _OPERATORS[qualified]
    if key == "Meta":
        operator.register_fake(function)
    elif key in _CPU_KEYS:
        operator.register_kernel("cpu" if key == "CPU" else None, function)


def define(qualname: str, schema: Any, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Declares "namespace::name" by the schema of its arguments, "(Tensor x) -> Tensor"."""
    namespace, separator, name = qualname.partition("::")
    if not separator or not name:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', got: {qualname!r}")
    (Library(namespace, "FRAGMENT") if lib is None else lib).define(name + schema, tags=tags)


def impl(qualname: Any, types: str | Iterable[str], func: Any = None, *, lib: Library | None = None) -> Any:
    """Gives an operator a kernel for device types ("cpu", "default", ...); also a decorator.

    impl(library, name, dispatch_key) is the older form of the decorator.
    """
    if isinstance(qualname, Library):
        key = func or ""

        def of_library(function: Any) -> Any:
            qualname.impl(types, function, key)
            return function

        return of_library

    def of_types(function: Any) -> Any:
        if qualname not in _OPERATORS:
            raise RuntimeError(f"{qualname}: impl() needs an operator that was defined")
        for each in [types] if isinstance(types, str) else types:
            key = {"cpu": "CPU", "default": "", "CompositeExplicitAutograd": ""}.get(each, each)
            register(qualname, key, function)
        return function

    return of_types if func is None else of_types(func)


def impl_abstract(qualname: Any, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """register_fake() by its older name."""
    return register_fake(qualname, func)
