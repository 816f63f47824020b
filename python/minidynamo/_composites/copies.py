"""Views in memory of their own: f_copy(input, ...) is f(input, ...), copied; and methods that write as functions."""

from __future__ import annotations

import minidynamo

from .. import _C
from .._C import Tensor
from .registry import functions, require_tensor, wrapped_dim, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# By what is copied: methods, and functions over parts of a tensor.
_METHODS = (
    *("as_strided", "detach", "diagonal", "permute", "select", "split", "split_with_sizes", "squeeze", "t"),
    *("transpose", "unbind", "unfold", "unsqueeze"),
)


def _alias(input: Tensor) -> Tensor:
    return input


def _expand(input: Tensor, size: Any, *, implicit: bool = False) -> Tensor:
    return input.expand(size)


def _view(input: Tensor, size: Any) -> Tensor:
    """The copy needs no strides that fit the sizes."""
    return input.reshape(size)


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    if not input.dim():
        raise IndexError("[slice_copy] slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("[slice_copy] slice step must be positive")
    at = wrapped_dim("slice_copy", dim, input.dim())
    return input[(slice(None),) * at + (slice(start, end, step),)]


def _view_as_real(input: Tensor) -> Tensor:
    return minidynamo.view_as_real(input)


def _view_as_complex(input: Tensor) -> Tensor:
    return minidynamo.view_as_complex(input)


def _method(name: str) -> Callable[..., Any]:
    def view(input: Tensor, *args: Any, **keywords: Any) -> Any:
        return getattr(input, name)(*args, **keywords)

    return view


VIEWS: dict[str, Callable[..., Any]] = {
    "alias": _alias,
    "expand": _expand,
    "slice": _slice,
    "view": _view,
    "view_as_complex": _view_as_complex,
    "view_as_real": _view_as_real,
    **{name: _method(name) for name in _METHODS},
}


def _copying(name: str, view: Callable[..., Any]) -> Callable[..., Any]:
    def copy(input: Tensor, *args: Any, out: Any = None, **keywords: Any) -> Any:
        require_tensor(f"{name}_copy", input)
        found = view(input, *args, **keywords)
        if isinstance(found, Tensor):
            return written(found.clone(memory_format=minidynamo.contiguous_format), out)
        if out is None:
            return tuple([part.clone(memory_format=minidynamo.contiguous_format) for part in found])
        for part, each in zip(found, out):
            each.copy_(part)
        return None

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"{name}() in memory of its own."
    return copy


for _name, _view in VIEWS.items():
    functions[f"{_name}_copy"] = _copying(_name, _view)

# Methods that torch also has as functions at the top.
WRITING = (
    *("abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_"),
    *("as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_"),
    *("conj_physical_", "cos_", "cosh_", "deg2rad_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_"),
    *("fix_", "floor_", "frac_", "gcd_", "i0_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_", "logit_"),
    *("nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "resize_as_", "round_", "rsqrt_", "sigmoid_"),
    *("sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_", "zero_"),
)


def writing_functions() -> dict[str, Callable[..., Any]]:
    """Those that Tensor has, once all methods are there."""
    return {name: getattr(_C.Tensor, name) for name in WRITING if hasattr(_C.Tensor, name)}
