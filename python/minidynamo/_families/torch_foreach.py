"""torch's functions of lists of tensors, `torch._foreach_*`, written over its operations: loaded where torch is."""

from __future__ import annotations

from .imported_torch import torch
from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _require_lists(tensors: Any, others: Any) -> None:
    """Of an empty list, and of lists of several lengths, torch says what is wrong."""
    if not tensors or any(len(each) != len(tensors) for each in others if _is_list(each)):
        decline("lists of several lengths, or without tensors")


def _rows(tensors: Any, others: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Each tensor with its operands: all share one that has no list."""
    _require_lists(tensors, others)
    for at, tensor in enumerate(tensors):
        yield tensor, [each[at] if _is_list(each) else each for each in others]


def by_method(name: str) -> Callable[..., Any]:
    """Of a function that calls a method of each tensor."""

    def foreach(self: Any, *others: Any, **options: Any) -> Any:
        results = [getattr(tensor, name)(*given, **options) for tensor, given in _rows(self, others)]
        return self if name.endswith("_") else tuple(results)

    return foreach


def with_factor(name: str) -> Callable[..., Any]:
    """Of addcmul and addcdiv, whose factor may be by position, and in a tensor of all factors."""

    def foreach(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        factors = value if scalars is None else scalars
        if isinstance(factors, torch.Tensor):
            decline("factors in a tensor")
        results = [
            getattr(tensor, name)(first, second, value=factor)
            for tensor, (first, second, factor) in _rows(self, (tensor1, tensor2, factors))
        ]
        return self if name.endswith("_") else tuple(results)

    return foreach


def with_bound(for_tensors: str, for_numbers: str) -> Callable[..., Any]:
    """Of functions that torch has under one name for bounds that are numbers and for tensors."""

    def foreach(self: Any, *others: Any, **named: Any) -> Any:
        results = []
        for tensor, (bound,) in _rows(self, (*others, *named.values())):
            name = for_tensors if isinstance(bound, torch.Tensor) else for_numbers
            results.append(getattr(tensor, name)(bound))
        return self if for_numbers.endswith("_") else tuple(results)

    return foreach


def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    for tensor, (source,) in _rows(self, (src,)):
        tensor.copy_(source)
    return self


def norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    _require_lists(self, ())
    return tuple([torch.linalg.vector_norm(tensor, ord, dtype=dtype) for tensor in self])


_OWN_FORMS: dict[str, Callable[..., Any]] = {
    "addcmul": with_factor("addcmul"),
    "addcmul_": with_factor("addcmul_"),
    "addcdiv": with_factor("addcdiv"),
    "addcdiv_": with_factor("addcdiv_"),
    "copy_": copy_,
    "norm": norm,
    **dict.fromkeys(("clamp_min", "maximum"), with_bound("maximum", "clamp_min")),
    **dict.fromkeys(("clamp_max", "minimum"), with_bound("minimum", "clamp_max")),
    **dict.fromkeys(("clamp_min_", "maximum_"), with_bound("clamp_min_", "clamp_min_")),
    **dict.fromkeys(("clamp_max_", "minimum_"), with_bound("clamp_max_", "clamp_max_")),
}


def _table() -> Iterator[StandIn]:
    for path in dir(torch):
        name = path.removeprefix("_foreach_")
        if path.startswith("_foreach_") and name in _OWN_FORMS:
            yield StandIn(path, _OWN_FORMS[name], "Rewritten")
        elif name != path and hasattr(torch.Tensor, name):
            yield StandIn(path, by_method(name), "Rewritten")


TABLE = tuple(_table())
