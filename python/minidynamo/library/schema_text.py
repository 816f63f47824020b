"""The text of a schema, "name(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor", as annotations and as a signature."""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Callable
from typing import Any

from .. import _C

_ANNOTATIONS: dict[str, Any] = {
    "Tensor": _C.Tensor,
    "int": int,
    "SymInt": int,
    "float": float,
    "SymFloat": float,
    "bool": bool,
    "SymBool": bool,
    "str": str,
    "Scalar": int | float | bool,
    "ScalarType": _C.dtype,
    "Device": _C.device,
}


def annotation_of(word: str) -> Any:
    """The Python type of a schema type. ValueError for an unknown one."""
    if word.endswith("?"):
        return annotation_of(word[:-1]) | None
    if word.endswith("]"):
        return types.GenericAlias(list, annotation_of(word[: word.rindex("[")]))
    base = re.sub(r"\(.*?\)", "", word)
    if base not in _ANNOTATIONS:
        raise ValueError(f"the schema names an unknown type {word!r}")
    return _ANNOTATIONS[base]


def annotation_of_results(text: str) -> Any:
    """The Python type of what follows the arrow."""
    results = [annotation_of(part.split()[0]) for part in text.strip().strip("()").split(",") if part.strip()]
    if len(results) == 1:
        return results[0]
    return types.GenericAlias(tuple, tuple(results)) if results else None


def prototype_of(text: str) -> tuple[str, Callable[..., None], list[str]]:
    """The name, a function of the schema's signature and annotations, and the names of the parameters it writes to."""
    match = re.fullmatch(r"\s*([\w.]+)\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if match is None:
        raise ValueError(f"a schema has the form 'name(Tensor x, ...) -> Tensor', not {text!r}")
    name, arguments, results = match.groups()
    parameters, hints, written = [], {}, []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in parts_of(arguments):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declared, _, default = part.partition("=")
        word, short = declared.split()
        hints[short] = annotation_of(word)
        if "!" in word:
            written.append(short)
        value = _default(default.strip()) if default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(short, kind, default=value))

    def prototype(*args: object, **kwargs: object) -> None: ...

    prototype.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    prototype.__annotations__ = {**hints, "return": annotation_of_results(results)}
    prototype.__name__ = name
    return name, prototype, written


def parts_of(arguments: str) -> list[str]:
    """Divided at the commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(arguments):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(arguments[start:at].strip())
            start = at + 1
    return [part for part in [*parts, arguments[start:].strip()] if part]


def _default(text: str) -> Any:
    words = {"true": True, "false": False, "none": None, "None": None, "True": True, "False": False}
    return words[text] if text in words else ast.literal_eval(text)
