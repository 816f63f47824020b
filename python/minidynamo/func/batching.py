"""vmap: a function over single elements as a function over batches.

The function runs once for each element of the batch, and the results are stacked: right for every operation, and no
faster than a loop in Python.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import minidynamo

from .._C import Tensor
from ..utils import _pytree as pytree

if TYPE_CHECKING:
    from collections.abc import Callable

_RANDOMNESS = ("error", "different", "same")


def _name_of(func: Any) -> str:
    if hasattr(func, "__name__"):
        return func.__name__
    if isinstance(func, functools.partial):
        return f"functools.partial({_name_of(func.func)}, ...)"
    return repr(func)


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for each in [out_dims] if isinstance(out_dims, int) else pytree.tree_leaves(out_dims):
        if not isinstance(each, int) and each is not None:
            raise ValueError(
                f"vmap({_name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python"
                " collection of"
                " ints representing where in the outputs the vmapped dimension should appear."
            )


def _check_in_dim(shown: str, in_dim: Any, value: Any) -> int | None:
    """The dim of one argument that is mapped, not negative."""
    if not isinstance(in_dim, int) and in_dim is not None:
        raise ValueError(
            f"{shown}: Got in_dim={in_dim} for an input but in_dim must be either an integer dimension or None."
        )
    if in_dim is None:
        return None
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{shown}: Got in_dim={in_dim} for an input but the input is of type {type(value)}. We cannot vmap over"
            " non-Tensor"
            " arguments, please use None as the respective in_dim"
        )
    rank = value.dim()
    if not -rank <= in_dim < rank:
        raise ValueError(
            f"{shown}: Got in_dim={in_dim} for some input, but that input is a Tensor of dimensionality {rank} so"
            " expected"
            f" in_dim to satisfy -{rank} <= in_dim < {rank}."
        )
    return in_dim % rank


class _Batch:
    """The arguments of a call: which are mapped over which dim, and how many elements there are."""

    def __init__(self, func: Any, in_dims: Any, args: tuple[Any, ...]) -> None:
        shown = f"vmap({_name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"{shown}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of"
                " inputs, got:"
                f" {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({_name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying"
                " to vmap"
                " over a function with no inputs. The latter is unsupported."
            )
        self.values, self.spec = pytree.tree_flatten(args)
        dims = pytree._broadcast_to_and_flatten(in_dims, self.spec)
        if dims is None:
            raise ValueError(
                f"{shown}: in_dims is not compatible with the structure of `inputs`. in_dims has structure"
                f" {pytree.tree_flatten(in_dims)[1]} but inputs has structure {self.spec}."
            )
        self.dims = [_check_in_dim(shown, dim, value) for dim, value in zip(dims, self.values)]
        sizes = [value.shape[dim] for dim, value in zip(self.dims, self.values) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes"
                f" {sizes} for the mapped dimension"
            )
        self.size = sizes[0]

    def element(self, index: int) -> Any:
        values = [value if dim is None else value.select(dim, index) for dim, value in zip(self.dims, self.values)]
        return pytree.tree_unflatten(values, self.spec)

    def stand_in(self) -> Any:
        """An element of a batch that has none."""
        values = [
            value if dim is None else value.new_zeros([size for at, size in enumerate(value.shape) if at != dim])
            for dim, value in zip(self.dims, self.values)
        ]
        return pytree.tree_unflatten(values, self.spec)


def _dims_of_outputs(func: Any, out_dims: Any, output: Any, spec: pytree.TreeSpec) -> list[Any]:
    if isinstance(output, Tensor):
        if isinstance(out_dims, int) or out_dims is None:
            return [out_dims]
        found = list(out_dims) if isinstance(out_dims, tuple) and len(out_dims) == 1 else None
    else:
        found = pytree._broadcast_to_and_flatten(out_dims, spec)
    if found is None:
        raise ValueError(
            f"vmap({_name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the"
            " structure of"
            f" `outputs`. out_dims has structure {pytree.tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return found


def _joined(func: Any, values: list[Any], dim: int | None, is_empty: bool) -> Any:
    """One output of all elements."""
    name = _name_of(func)
    if dim is None:
        if any(isinstance(value, Tensor) and value is not values[0] for value in values):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return values[0]
    for value in values:
        if not isinstance(value, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you mean to set"
                " out_dims="
                " to None for output?"
            )
    rank = values[0].dim()
    if not -rank - 1 <= dim <= rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank - 1}, {rank}], but got {dim})")
    stacked = minidynamo.stack(values, dim)
    return stacked.narrow(dim % (rank + 1), 0, 0) if is_empty else stacked


class _Randomness:
    """Lets elements draw the same numbers, different ones, or none."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._before = None if kind == "different" else minidynamo.get_rng_state()

    def begin(self) -> None:
        if self._kind == "same":
            minidynamo.set_rng_state(self._before)

    def end(self) -> None:
        if self._kind == "error" and not minidynamo.equal(self._before, minidynamo.get_rng_state()):
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or"
                " 'different'"
                " randomness flags on vmap or perform the randomness operation out of vmap"
            )


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps func over a dim of its arguments.

    in_dims     the dim of each argument that is mapped, None for one that is the same for all; an int stands for all
                        of them
    out_dims    where that dim is in each output; None for an output that is the same for all
    randomness  what draws of func do: "error", "different" or "same" for all elements
    chunk_size  accepted: the function runs for one element at a time

    Keyword arguments are the same for all. Raises ValueError for dims that do not fit.
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        batch = _Batch(func, in_dims, args)
        randomly = _Randomness(randomness)
        outputs = []
        for index in range(max(batch.size, 1)):
            randomly.begin()
            element = batch.element(index) if batch.size else batch.stand_in()
            outputs.append(func(*element, **kwargs))
        randomly.end()
        columns = [pytree.tree_flatten(output) for output in outputs]
        spec = columns[0][1]
        dims = _dims_of_outputs(func, out_dims, outputs[0], spec)
        joined = [
            _joined(func, list(values), dim, batch.size == 0)
            for values, dim in zip(zip(*[leaves for leaves, _ in columns]), dims)
        ]
        return pytree.tree_unflatten(joined, spec)

    return wrapper
