"""What torch's optimizers and gradient clipping call besides operations on tensors, written over torch's own functions:
loaded where torch is."""

from __future__ import annotations

from .imported_torch import torch
from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_profiler: Any = torch.autograd.profiler


class UnrecordedRange(_profiler.record_function):  # type: ignore[misc]  # known when torch is there
    """A label of the profiler while it is off."""

    # That of the class asks for names of torch's own that are loaded late.
    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args, self.record = name, args, None
        self.run_callbacks_on_exit = True
        self._cupti_monitor_external_id = None

    def __enter__(self) -> UnrecordedRange:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def record_function(name: str, args: str | None = None) -> Any:
    if _profiler._is_profiler_enabled:
        decline("a label of the profiler while it is on")
    return UnrecordedRange(name, args)


def group_tensors(lists: Any, with_indices: bool = False) -> Any:
    """torch._C._group_tensors_by_device_and_dtype, of tensors on the CPU."""
    if any(each and len(each) != len(lists[0]) for each in lists):
        decline("lists of several lengths")
    groups: dict[Any, Any] = {}
    for index, first in enumerate(lists[0]):
        key = (first.device, first.dtype)
        if key not in groups:
            groups[key] = ([[] for _ in lists], [])
        tensors, indices = groups[key]
        for group, each in zip(tensors, lists, strict=True):
            if each:
                group.append(each[index])
        if with_indices:
            indices.append(index)
    return groups


def addcdiv_(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """As sums and products, which take a factor that is computed of elements, too."""
    if not (self.is_floating_point() and tensor1.is_floating_point() and tensor2.is_floating_point()):
        decline("addcdiv_ of integers")
    return self.add_(tensor1 * value / tensor2)


def plain_methods(torch: Any) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
    """Methods that are hidden from torch's own compiler, with what they are without that."""
    for name in ("zero_grad",):
        method = getattr(torch.optim.Optimizer, name)
        plain = getattr(method, "__wrapped__", None)
        if plain is not None:
            yield method, plain


TABLE = (
    StandIn("autograd.profiler.record_function", record_function, "Rewritten"),
    StandIn("_C._group_tensors_by_device_and_dtype", group_tensors, "Rewritten"),
    StandIn("Tensor.addcdiv_", addcdiv_, "Rewritten"),
)
