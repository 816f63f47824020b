"""Graphs of torch's programs as backends see them: torch's names of the operations, and tensors without data."""

from __future__ import annotations

import functools
import types

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Ops whose namesakes in torch mean something else for the arguments that nodes have.
OTHER_ARGUMENTS = {"scatter"}  # a number to scatter has a name of its own


def name_ops(torch: Any) -> None:
    """Says where torch has the rows of the op table, for those that its namesakes were registered as."""
    _C._torch.set_fake_maker(functools.partial(_fake, torch))
    for row in _C._op_rows():
        name = row["name"].split(".")[0]
        if name in OTHER_ARGUMENTS:
            continue
        for path, place in (("torch", torch), ("torch.nn.functional", torch.nn.functional)):
            function = getattr(place, name, None)
            has_namesake = row["function"] if place is torch else row["functional"]
            if has_namesake and (_means(function, row) or _is_inlined(torch, function)):
                _C._torch.name_function(row["name"], f"{path}.{name}")
        if row["method"] and _means(getattr(torch.Tensor, name, None), row):
            _C._torch.name_method(row["name"])


def _means(function: Any, row: dict[str, Any]) -> bool:
    found = None if function is None else _C._torch.op_of(function)
    return found is not None and found.split(".")[0] == row["name"].split(".")[0]


def _is_inlined(torch: Any, function: Any) -> bool:
    return isinstance(function, types.FunctionType) and function.__module__ == torch.nn.functional.__name__


@functools.cache
def _fake_mode(torch: Any) -> Any:
    """One for all graphs: tensors of several modes cannot meet in an operation."""
    return torch._subclasses.fake_tensor.FakeTensorMode()


def _fake(torch: Any, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: Any, requires_grad: bool) -> Any:
    with _fake_mode(torch):
        return torch.empty_strided(sizes, strides, dtype=dtype, requires_grad=requires_grad)
