"""vmap: a function of one element, for all elements of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from ..utils._pytree import tree_flatten, tree_unflatten

Dims = Any  # an int, None, or a structure of them


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that calls func for each index of in_dims of its arguments, and stacks the results along out_dims.

    in_dims: for each argument, or a structure as the arguments are; None: the same for all indices. randomness and
    chunk_size are accepted: each call draws numbers of its own. Raises ValueError for arguments without a batch, or of
    unequal ones. Source: torch.func.vmap.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, dims = _flattened(args, in_dims)
        keywords, keyword_structure = tree_flatten(kwargs)
        leaves = [*leaves, *keywords]
        dims = [*dims, *[0 if isinstance(each, Tensor) else None for each in keywords]]
        count = _batch_size(func, leaves, dims)
        results = []
        for at in range(count):
            part = [leaf if dim is None else leaf.select(dim, at) for leaf, dim in zip(leaves, dims)]
            given = tree_unflatten(part[: len(part) - len(keywords)], structure)
            named = tree_unflatten(part[len(part) - len(keywords) :], keyword_structure)
            results.append(func(*given, **named))
        return _stacked(results, out_dims)

    return mapped


def _flattened(args: tuple[Any, ...], in_dims: Dims) -> tuple[list[Any], Any, list[int | None]]:
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            "vmap: expected in_dims to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}"
        )
    if not args:
        raise ValueError(
            "vmap got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    leaves, structure = tree_flatten(args)
    return leaves, structure, _dims_of(args, in_dims if isinstance(in_dims, int) else tuple(in_dims))


def _dims_of(value: Any, dims: Dims) -> list[int | None]:
    """One for each leaf of a structure of arguments."""
    leaves = tree_flatten(value)[0]
    if dims is None or isinstance(dims, int):
        return [_checked(leaf, dims) for leaf in leaves]
    if isinstance(value, dict):
        return [dim for key in value for dim in _dims_of(value[key], dims[key])]
    if not isinstance(value, (tuple, list)) or len(value) != len(dims):
        raise ValueError(f"vmap: in_dims {dims} is not compatible with the structure of inputs")
    return [dim for each, of_each in zip(value, dims) for dim in _dims_of(each, of_each)]


def _checked(leaf: Any, dim: int | None) -> int | None:
    if dim is None:
        return None
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"vmap: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"vmap: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
            f"{leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
        )
    return dim


def _batch_size(func: Callable[..., Any], leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None]
    if not sizes:
        raise ValueError("vmap: at least one in_dim must not be None")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes}")
    return sizes[0]


def _stacked(results: list[Any], out_dims: Dims) -> Any:
    flat = [tree_flatten(result) for result in results]
    structure = flat[0][1]
    columns = list(zip(*[leaves for leaves, _ in flat]))
    dims = [out_dims] * len(columns) if isinstance(out_dims, int) else list(tree_flatten(out_dims)[0])
    for leaf in flat[0][0]:
        if not isinstance(leaf, Tensor):
            raise ValueError(f"vmap: the function must only return Tensors, got type {type(leaf)}.")
    if len(dims) != len(columns):
        raise ValueError(f"vmap: out_dims {out_dims} is not compatible with the structure of the results")
    return tree_unflatten([minidynamo.stack(list(column), dim) for column, dim in zip(columns, dims)], structure)
