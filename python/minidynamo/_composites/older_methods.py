"""Methods of tensors that older programs use, and those that ask where a tensor's memory is."""

from __future__ import annotations

from collections import namedtuple

import minidynamo

from .. import _C
from .._C import Tensor
from .._tensor.typed_tensors import legacy_tensor
from .registry import composite, require_tensor, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_histogram = namedtuple("_histogram", "hist bin_edges")


@composite("method")
def new(input: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of the dtype: of sizes, with zeros, or of the elements of a sequence, an array or a tensor."""
    require_tensor("new", input)
    return legacy_tensor("new", input.dtype, args, device)


@composite("method")
def untyped_storage(input: Tensor) -> Any:
    """The bytes that the tensor is a view of."""
    require_tensor("untyped_storage", input)
    return minidynamo.storage.UntypedStorage._of(input)


@composite("method")
def storage_of(input: Tensor) -> Any:
    """The elements that the tensor is a view of."""
    require_tensor("storage", input)
    return minidynamo.storage.TypedStorage._of(input)


@composite("method")
def storage_type(input: Tensor) -> Any:
    """The class of storage()."""
    require_tensor("storage_type", input)
    return getattr(minidynamo.storage, str(input.dtype._row["torch"]).replace("Tensor", "Storage"))


@composite("method")
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both are one view of the same memory: equal offsets, sizes and strides."""
    require_tensor("is_set_to", input)
    require_tensor("is_set_to", tensor, "tensor")
    return (
        _C._shares_storage(input, tensor)
        and input.storage_offset() == tensor.storage_offset()
        and input.shape == tensor.shape
        and input.stride() == tensor.stride()
    )


@composite("method")
def set_(input: Tensor, source: Any = None, *args: Any, **keywords: Any) -> Tensor:
    """Makes the tensor a view of what source is a view of; without one, an empty tensor.

    NotImplementedError for a storage with sizes and strides: as_strided() of a tensor over it is the same.
    """
    require_tensor("set_", input)
    if args or keywords or not (source is None or isinstance(source, Tensor)):
        raise NotImplementedError("set_(): minidynamo takes a tensor; as_strided() gives a view with other strides")
    input.data = minidynamo.empty(0, dtype=input.dtype) if source is None else source
    return input


@composite("method")
def pin_memory(input: Tensor, device: Any = None) -> Any:
    """Raises RuntimeError, as torch does without an accelerator."""
    require_tensor("pin_memory", input)
    raise RuntimeError("Cannot access accelerator device when none is available.")


@composite("method")
def record_stream(input: Tensor, stream: Any) -> Any:
    """Raises NotImplementedError, as torch does for tensors on the CPU."""
    require_tensor("record_stream", input)
    raise NotImplementedError("record_stream(): the tensor is on the CPU, which has no streams")


@composite("method")
def share_memory_(input: Tensor) -> Any:
    """Raises NotImplementedError."""
    require_tensor("share_memory_", input)
    raise NotImplementedError(
        "share_memory_(): minidynamo has no memory that is shared between processes; frombuffer() over "
        "multiprocessing.shared_memory is"
    )


def _require_no_history(input: Tensor, name: str) -> None:
    if input.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


def _store_each(input: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    columns = [each.expand(input.shape).reshape(-1).tolist() for each in (input, *others)]
    found = minidynamo.tensor([function(*row) for row in zip(*columns)], dtype=input.dtype)
    return input.copy_(found.reshape(input.shape))


@composite("method")
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Writes callable(element) to each element, in row order. Slow: a Python call for each."""
    require_tensor("apply_", input)
    _require_no_history(input, "apply_")
    return _store_each(input, callable)


@composite("method")
def map_(input: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Writes callable(own element, element of tensor), which broadcasts, to each element."""
    require_tensor("map_", input)
    require_tensor("map_", tensor, "tensor")
    _require_no_history(input, "map_")
    return _store_each(input, callable, tensor)


@composite("method")
def map2_(input: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Writes callable(own element, element of x, element of y), which broadcast, to each element."""
    require_tensor("map2_", input)
    require_tensor("map2_", x, "x")
    require_tensor("map2_", y, "y")
    _require_no_history(input, "map2_")
    return _store_each(input, callable, x, y)


@composite("method")
def dim_order(input: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the one with the largest stride to that with the smallest; of equal strides, in order."""
    require_tensor("dim_order", input)
    strides = input.stride()
    return tuple(sorted(range(input.dim()), key=lambda dim: -strides[dim]))


@composite("method")
def is_inference_of(input: Tensor) -> bool:
    """Whether it was made in inference mode."""
    require_tensor("is_inference", input)
    return minidynamo.is_inference(input)


@composite("method")
def is_same_size_of(input: Tensor, other: Tensor) -> bool:
    """Whether the sizes are equal."""
    return minidynamo.is_same_size(input, other)


@composite("method")
def is_nonzero_of(input: Tensor) -> bool:
    """Whether the only element is not 0."""
    return minidynamo.is_nonzero(input)


@composite("method")
def prelu_of(input: Tensor, weight: Tensor) -> Tensor:
    """nn.functional.prelu"""
    require_tensor("prelu", input)
    return minidynamo.nn.functional.prelu(input, weight)


@composite("method")
def hardshrink_of(input: Tensor, lambd: float = 0.5) -> Tensor:
    """nn.functional.hardshrink"""
    require_tensor("hardshrink", input)
    return minidynamo.nn.functional.hardshrink(input, lambd)


@composite("method")
def as_subclass(input: Tensor, cls: type[Tensor]) -> Tensor:
    """The tensor as an object of a subclass of Tensor, over the same memory.

    NotImplementedError for one that requires grad: objects of subclasses have no history.
    """
    require_tensor("as_subclass", input)
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError("as_subclass(): argument 'cls' must be a subclass of Tensor")
    if input.requires_grad:
        raise NotImplementedError("as_subclass(): minidynamo has no history of objects of subclasses of Tensor")
    return cls._make_subclass(cls, input)


@composite("function")
def detach_(input: Tensor) -> Tensor:
    """Tensor.detach_()"""
    require_tensor("detach_", input)
    return input.detach_()


@composite("function")
def get_device_module(device: Any = None) -> Any:
    """minidynamo.cpu or minidynamo.cuda: the module of a type of device. RuntimeError for one that has none."""
    kind = "cpu" if device is None else minidynamo.device(device).type
    if kind not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return getattr(minidynamo, kind)


@composite("function")
def get_device(input: Tensor) -> int:
    """-1: every tensor is on the CPU."""
    require_tensor("get_device", input)
    return -1


@composite("function method")
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """(hist, bin_edges): how many elements are in each bin, or their weights; with density, so that the area is 1.

    bins: a number of equal bins over range, by default from the least to the largest element; or the edges, rising.
    Bins hold their lower edge, the last one both. RuntimeError for integers.
    """
    require_tensor("histogram", input)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{input.dtype}'")
    if weight is not None and (weight.shape != input.shape or weight.dtype != input.dtype):
        raise RuntimeError("histogramdd: if weight tensor is provided it should have the shape and dtype of input")
    edges = bins if isinstance(bins, Tensor) else _even_edges(input, bins, range)
    flat = input.detach().reshape(-1)
    count = edges.numel() - 1
    at = minidynamo.searchsorted(edges, flat, right=True) - 1
    at = minidynamo.where(flat == edges[-1], count - 1, at)
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    value = minidynamo.ones_like(flat) if weight is None else weight.reshape(-1)
    hist = minidynamo.zeros(count + 1, dtype=input.dtype)
    hist = hist.index_add(0, minidynamo.where(inside, at, count), value)[:-1]
    if density:
        hist = hist / hist.sum() / edges.diff()
    return written(_histogram(hist, edges.clone() if edges is bins else edges), out)


def _even_edges(input: Tensor, bins: int, given: Any) -> Tensor:
    if bins <= 0:
        raise RuntimeError(f"histogram(): bins must be > 0, but got {bins} for dimension 0")
    if given is None:
        low, high = (input.min().item(), input.max().item()) if input.numel() else (0.0, 1.0)
    else:
        low, high = given
    if low > high:
        raise RuntimeError(f"histogram(): min should not exceed max, but got min {low} max {high} for dimension 0")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return minidynamo.linspace(low, high, bins + 1, dtype=input.dtype)


@composite("function")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of (time, batch, channels) by weight (kernel, channels, outputs) and bias (outputs)."""
    for name, value, rank in (("input", input, 3), ("weight", weight, 3), ("bias", bias, 1)):
        require_tensor("conv_tbc", value, name)
        if value.dim() != rank:
            raise RuntimeError(f"[conv_tbc] {name} must have {rank} dims, got {value.dim()}")
    found = minidynamo.nn.functional.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return found.permute(2, 0, 1)


@composite("function")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """(nn.functional.dropout, the mask of what it kept)."""
    require_tensor("native_dropout", input)
    if not train:
        return input.clone(), minidynamo.ones_like(input, dtype=minidynamo.bool)
    if p == 1:
        return minidynamo.zeros_like(input), minidynamo.zeros_like(input, dtype=minidynamo.bool)
    mask = minidynamo.bernoulli(minidynamo.full_like(input, 1 - p))
    return input * mask / (1 - p), mask.bool()


@composite("function")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales those rows of a table that indices name, and that are longer than max_norm, to that norm."""
    require_tensor("embedding_renorm_", input)
    rows = indices.reshape(-1).unique()
    with minidynamo.no_grad():
        chosen = input[rows]
        norms = chosen.norm(norm_type, -1, keepdim=True)
        scale = minidynamo.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        input[rows] = chosen * scale
    return input
