"""The schema of an operator, from the annotations of a Python function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence

from .. import _C

_Number = int | float | bool
# The schema type of an annotation, and the classes of its values.
_TYPES: dict[object, tuple[str, typing.Any]] = {
    _C.Tensor: ("Tensor", _C.Tensor),
    int: ("SymInt", int),
    float: ("float", (int, float)),
    bool: ("bool", bool),
    str: ("str", str),
    _C.dtype: ("ScalarType", _C.dtype),
    _C.device: ("Device", (_C.device, str)),
    _Number: ("Scalar", (int, float, bool)),
}
_RETURNS = {_C.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", _Number: "Scalar"}


class Parameter:
    """One parameter: name, schema type, whether it is written to, its default, and check(value)."""

    def __init__(
        self,
        name: str,
        text: str,
        accepts: Callable[[object], bool],
        keyword_only: bool,
        default: typing.Any,
        mutated: int,
    ) -> None:
        self.name = name
        self.text = text
        self.accepts = accepts
        self.keyword_only = keyword_only
        self.default = default
        self.mutated = mutated

    def __str__(self) -> str:
        text = self.text
        if self.mutated:
            text = text.replace("Tensor", f"Tensor(a{self.mutated - 1}!)", 1)
        default = "" if self.default is inspect.Parameter.empty else f"={_default_text(self.default)}"
        return f"{text} {self.name}{default}"


class Schema:
    """The parameters and the schema types of the results; str() is the schema's text."""

    def __init__(self, parameters: list[Parameter], returns: list[str]) -> None:
        self.parameters = parameters
        self.returns = returns

    def __str__(self) -> str:
        parts = []
        for parameter in self.parameters:
            if parameter.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(parameter))
        returns = self.returns[0] if len(self.returns) == 1 else f"({', '.join(self.returns)})"
        return f"({', '.join(parts)}) -> {returns}"


def infer_schema(
    prototype_function: Callable[..., typing.Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function as text, such as "(Tensor x, SymInt n=1) -> Tensor".

    Every parameter and the result need an annotation: Tensor, int, float, bool, str, dtype, device, a Sequence, list or
    Optional of them; the result is None, Tensor, a number, or a tuple or list of these. Raises ValueError.
    """
    return (op_name or "") + str(schema_of(prototype_function, mutates_args))


def schema_of(function: Callable[..., typing.Any], mutates_args: str | Iterable[str]) -> Schema:
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise ValueError(f"infer_schema(func): an annotation cannot be resolved: {error}") from None
    signature = inspect.signature(function)
    unknown = () if mutates_args == "unknown" else set(mutates_args) - set(signature.parameters)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError('infer_schema(func): mutates_args must be a sequence of names or "unknown"')
    if unknown:
        raise ValueError(
            f"infer_schema(func): {sorted(unknown)} in mutates_args were not found in the signature. "
            f"mutates_args should contain only names of parameters: {list(signature.parameters)}"
        )
    parameters: list[Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters.append(_parameter(name, parameter, hints, mutates_args, signature, len(parameters)))
    if "return" not in hints:
        raise ValueError(f"infer_schema(func): No return type annotation was provided. Got signature {signature}")
    return Schema(parameters, _returns(hints["return"], signature))


def _parameter(
    name: str,
    parameter: inspect.Parameter,
    hints: dict[str, typing.Any],
    mutates_args: str | Iterable[str],
    signature: inspect.Signature,
    number: int,
) -> Parameter:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ValueError(
            "infer_schema(func): We do not support positional-only args, varargs, or varkwargs. "
            f"Got signature {signature}"
        )
    if name not in hints:
        raise ValueError(
            f"infer_schema(func): Parameter {name} must have a type annotation. Got func with signature {signature})"
        )
    found = _type(hints[name])
    if found is None:
        raise ValueError(
            f"infer_schema(func): Parameter {name} has unsupported type {hints[name]}. "
            f"Got func with signature {signature})"
        )
    mutated = found[0].startswith("Tensor") if mutates_args == "unknown" else name in mutates_args
    if mutated and not found[0].startswith("Tensor"):
        raise ValueError(
            f"infer_schema(func): Parameter {name} is in mutable_args but only Tensors or collections of Tensors "
            "can be mutated"
        )
    return Parameter(name, *found, parameter.kind == parameter.KEYWORD_ONLY, parameter.default, mutated and number + 1)


def _type(hint: typing.Any) -> tuple[str, Callable[[object], bool]] | None:
    """(schema type, function that says whether a value fits), or None."""
    if hint in _TYPES:
        text, classes = _TYPES[hint]
        exact_int = text == "SymInt"
        return text, lambda value: isinstance(value, classes) and not (exact_int and isinstance(value, bool))
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType) and type(None) in args and len(args) == 2:
        inner = _type(args[0] if args[1] is type(None) else args[1])
        if inner is not None:
            return inner[0] + "?", lambda value: value is None or inner[1](value)
    if origin in (list, Sequence) and len(args) == 1:
        inner = _type(args[0])
        if inner is not None and not inner[0].endswith("]"):
            return inner[0] + "[]", lambda value: isinstance(value, (list, tuple)) and all(map(inner[1], value))
    return None


def _returns(hint: typing.Any, signature: inspect.Signature) -> list[str]:
    if hint is None or hint is type(None):
        return []
    if hint in _RETURNS:
        return [_RETURNS[hint]]
    origin: typing.Any
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and args and all(arg in _RETURNS for arg in args):
        return [_RETURNS[arg] for arg in args]
    if origin in (list, Sequence) and args == (_C.Tensor,):
        return ["Tensor[]"]
    raise ValueError(
        f"infer_schema(func): Return has unsupported type {hint}. Supported are None, Tensor, int, float, bool, tuples "
        f"of them and list[Tensor]. Got func with signature {signature})"
    )


def _default_text(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).removeprefix("minidynamo.")
