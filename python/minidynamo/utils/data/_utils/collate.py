"""Batches out of samples: default_collate stacks, default_convert turns NumPy's objects into tensors."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import minidynamo

from .... import _C

_Map = dict[Any, Callable[..., Any]]

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
# dtype.str of arrays of strings and of objects, which no tensor holds.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def default_convert(data: Any) -> Any:
    """NumPy's arrays and numbers in `data` as tensors; anything else as it is.

    Mappings, sequences and named tuples are converted inside, and keep their types; tuples become lists.
    Source: torch.utils.data.default_convert.
    """
    kind = type(data)
    if isinstance(data, _C.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        is_array = kind.__name__ == "ndarray"
        return data if is_array and np_str_obj_array_pattern.search(data.dtype.str) else minidynamo.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple):
        parts = [default_convert(each) for each in data]
        return kind(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, lambda: [default_convert(each) for each in data])
    return data


def collate(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """One batch out of a list of samples, by the row of collate_fn_map for their type, else by their structure.

    A row whose key is a type serves its subclasses too. Mappings, sequences and named tuples are collated part by part.
    Raises TypeError for other types, RuntimeError for sequences of unequal lengths.
    Source: torch.utils.data._utils.collate.collate.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = _row_for(first, kind, collate_fn_map)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like_mapping(first, lambda key: inner([each[key] for each in batch]))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(inner(samples) for samples in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = list(zip(*batch))
        if isinstance(first, tuple):
            return [inner(samples) for samples in columns]
        return _like_sequence(first, lambda: [inner(samples) for samples in columns])
    raise TypeError(default_collate_err_msg_format.format(kind))


def _row_for(first: object, kind: type, rows: _Map) -> Callable[..., Any] | None:
    if kind in rows:
        return rows[kind]
    for types, function in rows.items():
        if isinstance(first, types):
            return function
    return None


def _like_mapping(data: Mapping[Any, Any], value: Callable[[Any], Any]) -> Any:
    """A copy with other values: of the same type and with its further properties, where the type can be copied."""
    try:
        if isinstance(data, MutableMapping):
            result = copy.copy(data)
            result.update({key: value(key) for key in data})
            return result
        return type(data)({key: value(key) for key in data})  # type: ignore[call-arg]  # fails for some types
    except TypeError:
        return {key: value(key) for key in data}


def _like_sequence(data: Sequence[Any], parts: Callable[[], list[Any]]) -> Any:
    try:
        if isinstance(data, MutableSequence):
            result = copy.copy(data)
            for i, part in enumerate(parts()):
                result[i] = part
            return result
        return type(data)(parts())  # type: ignore[call-arg]  # fails for some types, such as range
    except TypeError:
        return parts()


def collate_tensor_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """The samples stacked along a new first dimension; RuntimeError if their shapes differ."""
    shape = batch[0].shape
    for i, each in enumerate(batch):
        if each.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(each.shape)} at entry {i}"
            )
    return minidynamo.stack(tuple(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Arrays as one tensor; TypeError for arrays of strings and of objects."""
    first = batch[0]
    if np_str_obj_array_pattern.search(first.dtype.str):
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    return collate([minidynamo.as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """NumPy's numbers as one tensor of their dtype."""
    return minidynamo.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Floats as one float64 tensor."""
    return minidynamo.tensor(batch, dtype=minidynamo.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Ints as one int64 tensor, bools as one bool tensor."""
    return minidynamo.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: _Map | None = None) -> Any:
    """Strings and bytes as they are."""
    return batch


default_collate_fn_map: _Map = {
    _C.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _know_numpy() -> None:
    """Adds the rows of NumPy's types, once the program has imported NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "object_") or numpy.ndarray in default_collate_fn_map:
        return
    default_collate_fn_map[numpy.ndarray] = collate_numpy_array_fn
    default_collate_fn_map[(numpy.bool_, numpy.number, numpy.object_)] = collate_numpy_scalar_fn


def default_collate(batch: Any) -> Any:
    """A list of samples as one batch: what DataLoader does without a collate_fn.

    Tensors are stacked along a new dimension 0, NumPy's arrays too; ints and bools become a tensor, floats a float64
    one; strings stay a list; mappings, named tuples and sequences are collated part by part, tuples into lists.
    Raises TypeError for other types, RuntimeError for sequences of unequal lengths and tensors of unequal shapes.
    Source: torch.utils.data.default_collate.
    """
    _know_numpy()
    return collate(batch, collate_fn_map=default_collate_fn_map)
