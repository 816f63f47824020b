"""The tensor-related names of the package, found under `minidynamo`: ops, dtypes, modes, creation from data."""

from __future__ import annotations

from math import e, inf, nan, pi

from .. import _C, _composites, linalg  # noqa: F401  linalg enters composites
from .._composites.copies import writing_functions
from .._composites.registry import type_of
from .creation import CREATION
from .dtype_info import finfo, iinfo
from .grad_modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from .process_settings import PROCESS_SETTINGS
from .typed_tensors import TYPED_TENSORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DTYPE_ALIASES = {
    "cdouble": "complex128",
    "cfloat": "complex64",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}

_NAMED_ALIASES = {"chalf": "complex32"}
_FORMAT_ALIASES = {"legacy_contiguous_format": "contiguous_format"}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed; None leaves a setting unchanged."""
    from .printing import set_printoptions

    set_printoptions(precision, threshold, edgeitems, linewidth, profile, sci_mode)


def equal(input: _C.Tensor, other: _C.Tensor) -> bool:
    """Whether two tensors have the same sizes and elements."""
    return _method("equal", input)(other)


def allclose(
    input: _C.Tensor, other: _C.Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all |input - other| <= atol + rtol * |other|."""
    return _method("allclose", input)(other, rtol, atol, equal_nan)


def _method(name: str, input: object) -> Any:
    if not isinstance(input, _C.Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type_of(input)}")
    return getattr(input, name)


def is_floating_point(input: _C.Tensor) -> bool:
    """Whether a tensor's dtype is a floating one."""
    return _method("is_floating_point", input)()


def is_complex(input: _C.Tensor) -> bool:
    """Whether a tensor's dtype is a complex one."""
    return _method("is_complex", input)()


def numel(input: _C.Tensor) -> int:
    """The number of elements of a tensor."""
    return _method("numel", input)()


_PLAIN = (
    "Generator",
    "Size",
    "Tensor",
    "as_tensor",
    "cached_bytes",
    "device",
    "dtype",
    "empty_cache",
    "from_dlpack",
    "from_numpy",
    "get_cache_limit",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "initial_seed",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "manual_seed",
    "promote_types",
    "result_type",
    "set_cache_limit",
    "set_default_dtype",
    "set_num_threads",
    "set_rng_state",
    "tensor",
)

TENSOR_NAMES = {
    **_C._op_functions,
    **_composites.functions,
    **_C._dtypes,
    **_C._named_dtypes,
    **_C._memory_formats,
    **_C._layouts,
    **{alias: _C._named_dtypes[name] for alias, name in _NAMED_ALIASES.items()},
    "layout": _C.layout,
    **{alias: _C._memory_formats[name] for alias, name in _FORMAT_ALIASES.items()},
    "memory_format": _C.memory_format,
    **{alias: _C._dtypes[name] for alias, name in _DTYPE_ALIASES.items()},
    **{name: getattr(_C, name) for name in _PLAIN},
    **TYPED_TENSORS,
    **CREATION,
    **PROCESS_SETTINGS,
    "allclose": allclose,
    "e": e,
    "enable_grad": enable_grad,
    "equal": equal,
    "finfo": finfo,
    "iinfo": iinfo,
    "inf": inf,
    "inference_mode": inference_mode,
    "is_complex": is_complex,
    "is_floating_point": is_floating_point,
    "nan": nan,
    "newaxis": None,
    "no_grad": no_grad,
    "numel": numel,
    "pi": pi,
    "set_grad_enabled": set_grad_enabled,
    "set_printoptions": set_printoptions,
}

_C._add_tensor_methods(_composites.methods)
TENSOR_NAMES.update(writing_functions())
