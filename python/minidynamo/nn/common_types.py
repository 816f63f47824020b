"""Types of sizes for annotations: the names of torch.nn.common_types."""

from __future__ import annotations

from typing import TypeVar, Union

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing

T = TypeVar("T")

_scalar_or_tuple_any_t = Union[T, tuple[T, ...]]  # noqa: UP007  T is no class
_scalar_or_tuple_1_t = Union[T, tuple[T]]  # noqa: UP007  T is no class
_scalar_or_tuple_2_t = Union[T, tuple[T, T]]  # noqa: UP007  T is no class
_scalar_or_tuple_3_t = Union[T, tuple[T, T, T]]  # noqa: UP007  T is no class
_scalar_or_tuple_4_t = Union[T, tuple[T, T, T, T]]  # noqa: UP007  T is no class
_scalar_or_tuple_5_t = Union[T, tuple[T, T, T, T, T]]  # noqa: UP007  T is no class
_scalar_or_tuple_6_t = Union[T, tuple[T, T, T, T, T, T]]  # noqa: UP007  T is no class

_size_any_t = _scalar_or_tuple_any_t[int]
_size_1_t = _scalar_or_tuple_1_t[int]
_size_2_t = _scalar_or_tuple_2_t[int]
_size_3_t = _scalar_or_tuple_3_t[int]
_size_4_t = _scalar_or_tuple_4_t[int]
_size_5_t = _scalar_or_tuple_5_t[int]
_size_6_t = _scalar_or_tuple_6_t[int]

_size_any_opt_t = _scalar_or_tuple_any_t[int | None]
_size_2_opt_t = _scalar_or_tuple_2_t[int | None]
_size_3_opt_t = _scalar_or_tuple_3_t[int | None]

_ratio_any_t = _scalar_or_tuple_any_t[float]
_ratio_2_t = _scalar_or_tuple_2_t[float]
_ratio_3_t = _scalar_or_tuple_3_t[float]

_maybe_indices_t = Tensor | tuple[Tensor, Tensor]

_explain_missing(__name__)
