"""Modules called with other parameters and buffers than their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from ..module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with tensors by dotted name in place of its own, which it has again afterwards.

    parameters_and_buffers  one dict, or several with different names
    tie_weights             a tensor that the module has under several names is replaced under all
    strict                  RuntimeError for names that the module does not have, and for those left out
    """
    if not isinstance(parameters_and_buffers, dict):
        parameters_and_buffers = _merged(parameters_and_buffers)
    given = _tied(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        _require_names(module, parameters_and_buffers, given)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    places = _places(module, given)
    own = [table[name] for table, name, _ in places]
    try:
        for table, name, tensor in places:
            table[name] = tensor
        return module(*args, **(kwargs or {}))
    finally:
        for (table, name, _), tensor in zip(places, own):
            table[name] = tensor


def _merged(dicts: Any) -> dict[str, Tensor]:
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(each, dict) for each in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    merged: dict[str, Tensor] = {}
    repeated = []
    for each in dicts:
        for key, value in each.items():
            if key in merged and key not in repeated:
                repeated.append(key)
            merged[key] = value
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return merged


def _names(module: Module) -> dict[str, Tensor]:
    """All dotted names, of shared tensors too."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _tied(module: Module, given: dict[str, Tensor]) -> dict[str, Tensor]:
    names: dict[int, list[str]] = {}
    for name, tensor in _names(module).items():
        names.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for group in names.values():
        if len(group) == 1:
            continue
        values = [given[name] for name in group if name in given]
        if any(value is not values[0] for value in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(group)}, which are tied. Consider using"
                " tie_weights=False"
            )
        result.update(dict.fromkeys(group, values[0]) if values else {})
    return result


def _require_names(module: Module, given: dict[str, Tensor], tied: dict[str, Tensor]) -> None:
    known = _names(module)
    unexpected = sorted(name for name in given if name not in known)
    missing = sorted(name for name in known if name not in tied)
    lines = []
    if unexpected:
        lines.append("Unexpected key(s): " + ", ".join(unexpected) + ".")
    if missing:
        lines.append("Missing key(s): " + ", ".join(missing) + ".")
    if lines:
        raise RuntimeError(
            "Error(s) in reparametrizing for {}:\n\t{}".format(type(module).__name__, "\n\t".join(lines))
        )


def _places(module: Module, given: dict[str, Tensor]) -> list[tuple[dict[str, Any], str, Tensor]]:
    """(table, name in it, tensor) for each."""
    places = []
    for path, tensor in given.items():
        owner, _, name = path.rpartition(".")
        below = module.get_submodule(owner)
        table: Any = below._parameters if name in below._parameters else below._buffers
        if name not in table:
            raise AttributeError(f"{type(below).__name__} has no parameter or buffer `{name}`")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        places.append((table, name, tensor))
    return places


_explain_missing(__name__)
