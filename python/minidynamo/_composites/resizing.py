"""Tensors that take other sizes in place: over their memory, or over larger memory with their elements first."""

from __future__ import annotations

from .._C import Tensor
from .registry import composite, require_tensor, sizes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@composite("method")
def as_strided_(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The tensor itself, which becomes as_strided(size, stride, storage_offset)."""
    require_tensor("as_strided_", input)
    input.data = input.detach().as_strided(size, stride, storage_offset)
    return input


@composite("method")
def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """The tensor itself in other sizes, in row-major order from its first element on; new elements are not set."""
    require_tensor("resize_", input)
    if input.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes_of("resize_", sizes, "size")
    if any(size < 0 for size in shape):
        raise RuntimeError(f"[resize_] Trying to create tensor with negative dimension: {list(shape)}")
    if shape == tuple(input.shape) and memory_format is None:
        return input
    count = 1
    for size in shape:
        count *= size
    flat = input.detach().contiguous().view(-1)
    if input.is_contiguous() and count <= flat.numel():
        found = flat[:count].view(shape)
    else:
        found = input.new_empty(shape)
        kept = min(count, flat.numel())
        found.view(-1)[:kept].copy_(flat[:kept])
    input.data = found if memory_format is None else found.contiguous(memory_format=memory_format)
    return input


@composite("method")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """resize_() to the sizes of another tensor."""
    require_tensor("resize_as_", input)
    require_tensor("resize_as_", the_template, "the_template")
    return resize_(input, the_template.shape, memory_format=memory_format)
