"""State of an optimizer as it is saved: parameters by numbers, in the order of the groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import minidynamo

from .._C import Tensor


def packed(state: Mapping[Any, Any], groups: list[dict[str, Any]]) -> dict[str, Any]:
    """{"state": ..., "param_groups": ...} with numbers instead of parameters."""
    numbers: dict[int, int] = {}
    saved_groups = []
    for group in groups:
        for parameter in group["params"]:
            numbers.setdefault(id(parameter), len(numbers))
        saved = {name: value for name, value in group.items() if name != "params"}
        saved["params"] = [numbers[id(parameter)] for parameter in group["params"]]
        saved_groups.append(saved)
    by_number = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in state.items()}
    return {"state": by_number, "param_groups": saved_groups}


def unpacked_group(saved: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
    """The saved options with the parameters of the optimizer's group, and its names if none were saved."""
    if "param_names" in group and "param_names" not in saved:
        saved["param_names"] = group["param_names"]
    saved["params"] = group["params"]
    return {name: _as_ours(value) for name, value in saved.items()}


def unpacked_state(saved: Mapping[Any, Any], parameters: Mapping[Any, Tensor]) -> defaultdict[Any, Any]:
    """The state by parameter, in the dtype of each."""
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in saved.items():
        if key in parameters:
            state[parameters[key]] = _fitting(value, parameters[key], None)
        else:
            state[key] = value
    return state


def _fitting(value: Any, parameter: Tensor, name: object) -> Any:
    value = _as_ours(value)
    if isinstance(value, Tensor):
        # The counter is exact in float32 where a parameter's dtype need not count so far.
        is_kept = name == "step" or not parameter.is_floating_point()
        return value if is_kept else value.to(parameter.dtype)
    if isinstance(value, dict):
        return {key: _fitting(each, parameter, key) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_fitting(each, parameter, name) for each in value)  # type: ignore[call-arg]  # a list or tuple
    return value


def _as_ours(value: Any) -> Any:
    """A copy of a tensor of another library, which goes on without us; anything else unchanged."""
    if isinstance(value, Tensor) or not hasattr(type(value), "__dlpack__"):
        return value
    return minidynamo.as_tensor(value).clone()
