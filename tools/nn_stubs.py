"""The stub of minidynamo.nn, made from its classes: what their constructors and methods take, by name."""

import inspect

HEADER = """
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Callable, Iterator
from typing import Any, Self
from .._C import Tensor
from . import functional as functional
from . import init as init
from . import parameter as parameter
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
"""
DUNDERS = {"__init__", "__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__"}
RESULTS = {
    "None": ["__init__", "__setitem__", "__delitem__", "register_parameter", "register_buffer", "add_module", "insert"]
    + ["zero_grad", "compile", "clear", "update", "reset_parameters", "reset_running_stats", "flatten_parameters"],
    "Self": ["train", "eval", "requires_grad_", "apply", "to", "float", "double", "half", "bfloat16", "cpu"]
    + ["append", "extend"],
    "_int": ["__len__"],
    "_bool": ["__contains__"],
    "_str": ["extra_repr"],
    "Tensor": ["get_buffer"],
    "Parameter": ["get_parameter"],
    "Module": ["get_submodule"],
    "Iterator[Parameter]": ["parameters"],
    "Iterator[Tensor]": ["buffers"],
    "Iterator[Module]": ["modules", "children"],
    "Iterator[tuple[_str, Parameter]]": ["named_parameters"],
    "Iterator[tuple[_str, Tensor]]": ["named_buffers"],
    "Iterator[tuple[_str, Module]]": ["named_modules", "named_children"],
    "dict[_str, Tensor]": ["state_dict"],
}
RESULT_OF = {name: result for result, names in RESULTS.items() for name in names}
TYPE_OF_DEFAULT = {bool: "_bool", int: "_int", float: "_float", str: "_str"}


def parameter_text(parameter):
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}: Any"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}: Any"
    if parameter.default is parameter.empty:
        return f"{parameter.name}: Any"
    kind = TYPE_OF_DEFAULT.get(type(parameter.default), "Any")
    # A size of all dimensions may be a tuple of one for each, and a number may be a float.
    return f"{parameter.name}: {kind if kind in ('_bool', '_str') else 'Any'} = ..."


def method_line(cls, name, function):
    parts = ["self"]
    seen_star = False
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            parts.append("*")
        seen_star = seen_star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append(parameter_text(parameter))
    result = RESULT_OF.get(name, "Any")
    if name == "__iter__":
        result = "Iterator[_str]" if hasattr(cls, "keys") else "Iterator[Any]"
    return f"    def {name}({', '.join(parts)}) -> {result}: ..."


def class_text(cls, known):
    base = next((base.__name__ for base in cls.__mro__[1:] if base in known), None)
    lines = [f"class {cls.__name__}({base}):" if base else f"class {cls.__name__}:"]
    if base is None:
        lines += ["    training: _bool", "    forward: Callable[..., Any]", "    __call__: Callable[..., Any]"]
        lines += ["    def __getattr__(self, name: _str) -> Any: ..."]
        lines += ["    def __setattr__(self, name: _str, value: Any) -> None: ..."]
    # Bases that have no name in nn are shown as the class's own.
    own = [base for base in cls.__mro__ if base is cls or (base not in known and base is not object)]
    members = {name: member for base in reversed(own) for name, member in vars(base).items()}
    for name, member in members.items():
        is_public = not name.startswith("_") or name in DUNDERS
        if is_public and name != "forward" and inspect.isfunction(member):
            lines.append(method_line(cls, name, member))
    return "\n".join([*lines, *([] if len(lines) > 1 else ["    ..."])])


def generate_nn(header):
    from minidynamo import nn

    classes = [cls for cls in vars(nn).values() if inspect.isclass(cls) and issubclass(cls, nn.Module)]
    classes.sort(key=lambda cls: (len(cls.__mro__), cls.__name__))
    known = set(classes)
    return "\n\n".join([header, HEADER, *(class_text(cls, known) for cls in classes)]) + "\n"
