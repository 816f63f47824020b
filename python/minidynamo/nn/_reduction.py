"""How losses are reduced: the names of torch.nn._reduction."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """0 for "none", 1 for "mean", 2 for "sum"; ValueError for others."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the arguments of before torch 0.4 say; None is True."""
    if reduce is False:
        text = "none"
    else:
        text = "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{text}' instead.", stacklevel=2
        )
    return text


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """get_enum(legacy_get_string(...))."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
