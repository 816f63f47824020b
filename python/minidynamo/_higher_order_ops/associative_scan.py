"""associative_scan: the running results of an associative function of two elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from ..func.batching import vmap
from ..utils import _pytree as pytree


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """combine_fn(...combine_fn(x0, x1)..., xi) for each i along a dim of the tensors of a tree, in their shapes.

    combine_fn    of two trees like xs, without the dim; associative
    combine_mode  "generic"; "pointwise" is for devices that torch generates kernels for, and raises ValueError
    reverse       from the end on
    Source: W. D. Hillis and G. L. Steele, "Data Parallel Algorithms" (1986).
    """
    leaves, spec = pytree.tree_flatten(xs)
    _check(combine_fn, leaves, dim, reverse, combine_mode)
    leaves = [each.movedim(dim, 0) for each in leaves]
    if reverse:
        leaves = [each.flip(0) for each in leaves]
    tree = spec.unflatten([0] * len(leaves))
    combine = vmap(combine_fn, in_dims=(tree, tree))
    count = leaves[0].shape[0]
    distance = 1
    while distance < count:
        first = spec.unflatten([each[: count - distance] for each in leaves])
        second = spec.unflatten([each[distance:] for each in leaves])
        joined = pytree.tree_leaves(combine(first, second))
        leaves = [minidynamo.cat([each[:distance], rest]) for each, rest in zip(leaves, joined)]
        distance *= 2
    if reverse:
        leaves = [each.flip(0) for each in leaves]
    return spec.unflatten([each.movedim(0, dim) for each in leaves])


def _check(combine_fn: Any, leaves: list[Any], dim: Any, reverse: Any, combine_mode: str) -> None:
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(each, Tensor) for each in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(not -each.dim() <= dim < each.dim() or each.shape[dim] == 0 for each in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")


_explain_missing(__name__)
