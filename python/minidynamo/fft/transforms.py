"""The transforms: what sizes, dims and norm mean, and how each follows from three ops.

n, s   the sizes of the transformed dims: these are cut, or filled with zeros at the end
dim    the transformed dims; all of them, or as many of the last as there are sizes in s
norm   "backward" (None): the inverse is divided by the number of elements; "forward": the transform; "ortho": both by
       its root
Real tensors that are no floats are transformed in the default dtype. RuntimeError for 16-bit floats, sizes below 1,
repeated dims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting
from .._composites.registry import prims, require_tensor, wrapped_dim, written

Sizes = Sequence[int] | None
Dims = int | Sequence[int] | None

_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of one dim; the result is complex, with the dim's size n."""
    if out is None and is_autocasting():
        return full_precision(fft, input, n, dim, norm)
    return written(_complex("fft", input, *_one(n, dim), norm, False), out)


def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of fft()."""
    if out is None and is_autocasting():
        return full_precision(ifft, input, n, dim, norm)
    return written(_complex("ifft", input, *_one(n, dim), norm, True), out)


def fft2(
    input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of two dims."""
    if out is None and is_autocasting():
        return full_precision(fft2, input, s, dim, norm)
    return written(_complex("fft2", input, s, dim, norm, False), out)


def ifft2(
    input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of fft2()."""
    if out is None and is_autocasting():
        return full_precision(ifft2, input, s, dim, norm)
    return written(_complex("ifft2", input, s, dim, norm, True), out)


def fftn(
    input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of several dims."""
    if out is None and is_autocasting():
        return full_precision(fftn, input, s, dim, norm)
    return written(_complex("fftn", input, s, dim, norm, False), out)


def ifftn(
    input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of fftn()."""
    if out is None and is_autocasting():
        return full_precision(ifftn, input, s, dim, norm)
    return written(_complex("ifftn", input, s, dim, norm, True), out)


def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of real numbers along one dim: n // 2 + 1 frequencies; the others are their conjugates."""
    if out is None and is_autocasting():
        return full_precision(rfft, input, n, dim, norm)
    return written(_halved("rfft", input, *_one(n, dim), norm, False), out)


def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of rfft(); n is the size of the result, 2 * (input.shape[dim] - 1) if not given."""
    if out is None and is_autocasting():
        return full_precision(irfft, input, n, dim, norm)
    return written(_real("irfft", input, *_one(n, dim), norm, False), out)


def rfft2(
    input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of real numbers along two dims, the last of them halved."""
    if out is None and is_autocasting():
        return full_precision(rfft2, input, s, dim, norm)
    return written(_halved("rfft2", input, s, dim, norm, False), out)


def irfft2(
    input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of rfft2()."""
    if out is None and is_autocasting():
        return full_precision(irfft2, input, s, dim, norm)
    return written(_real("irfft2", input, s, dim, norm, False), out)


def rfftn(
    input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of real numbers along several dims, the last of them halved."""
    if out is None and is_autocasting():
        return full_precision(rfftn, input, s, dim, norm)
    return written(_halved("rfftn", input, s, dim, norm, False), out)


def irfftn(
    input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of rfftn()."""
    if out is None and is_autocasting():
        return full_precision(irfftn, input, s, dim, norm)
    return written(_real("irfftn", input, s, dim, norm, False), out)


def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of numbers whose other half is their conjugate: real, with n elements."""
    if out is None and is_autocasting():
        return full_precision(hfft, input, n, dim, norm)
    return written(_real("hfft", input, *_one(n, dim), norm, True), out)


def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of hfft()."""
    if out is None and is_autocasting():
        return full_precision(ihfft, input, n, dim, norm)
    return written(_halved("ihfft", input, *_one(n, dim), norm, True), out)


def hfft2(
    input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """hfft() of two dims."""
    return written(_real("hfft2", input, s, dim, norm, True), out)


def ihfft2(
    input: Tensor, s: Sizes = None, dim: Dims = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of hfft2()."""
    return written(_halved("ihfft2", input, s, dim, norm, True), out)


def hfftn(
    input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """hfft() of several dims."""
    return written(_real("hfftn", input, s, dim, norm, True), out)


def ihfftn(
    input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of hfftn()."""
    return written(_halved("ihfftn", input, s, dim, norm, True), out)


# ---- the dims last, cut or filled, for the ops


def _one(n: int | None, dim: int) -> tuple[list[int] | None, list[int]]:
    return (None if n is None else [n]), [dim]


def _complex(op: str, input: Tensor, s: Sizes, dim: Dims, norm: str | None, inverse: bool) -> Tensor:
    x = _as_complex(op, input)
    dims, sizes = _dims_and_sizes(op, x, s, dim)
    mode = _mode(norm)
    if not dims:
        return x.clone()
    direction = "inverse" if inverse else "forward"
    return _in_place_of(prims.fft_c2c(_at_end(x, dims, sizes), f"{len(dims)} {direction} {mode}"), dims)


def _halved(op: str, input: Tensor, s: Sizes, dim: Dims, norm: str | None, conjugate: bool) -> Tensor:
    require_tensor(op, input)
    if input.is_complex():
        raise RuntimeError(f"[{op}] expects a real input tensor, but got {input.dtype}")
    x = _as_float(op, input)
    dims, sizes = _dims_and_sizes(op, x, s, dim)
    mode = _mode(norm)
    if not dims:
        raise RuntimeError(f"[{op}] must transform at least one axis")
    at_end = _at_end(x, dims, sizes)
    if conjugate:
        return _in_place_of(prims.fft_r2c(at_end, f"{len(dims)} forward {_OPPOSITE[mode]}").conj(), dims)
    return _in_place_of(prims.fft_r2c(at_end, f"{len(dims)} forward {mode}"), dims)


def _real(op: str, input: Tensor, s: Sizes, dim: Dims, norm: str | None, conjugate: bool) -> Tensor:
    x = _as_complex(op, input)
    dims, sizes = _dims_and_sizes(op, x, s, dim, halved=True)
    mode = _mode(norm)
    if not dims:
        raise RuntimeError(f"[{op}] must transform at least one axis")
    size = sizes[-1]
    at_end = _at_end(x, dims, [*sizes[:-1], size // 2 + 1])
    if conjugate:
        return _in_place_of(prims.fft_c2r(at_end.conj(), size, f"{len(dims)} inverse {_OPPOSITE[mode]}"), dims)
    return _in_place_of(prims.fft_c2r(at_end, size, f"{len(dims)} inverse {mode}"), dims)


def _at_end(x: Tensor, dims: list[int], sizes: list[int]) -> Tensor:
    for dim, size in zip(dims, sizes):
        here = x.shape[dim]
        if size < here:
            x = x.narrow(dim, 0, size)
        elif size > here:
            shape = list(x.shape)
            shape[dim] = size - here
            x = minidynamo.cat([x, x.new_zeros(shape)], dim)
    return x if _are_last(dims, x) else x.movedim(dims, list(range(-len(dims), 0)))


def _are_last(dims: list[int], x: Tensor) -> bool:
    rank = x.dim()
    return dims == list(range(rank - len(dims), rank))


def _in_place_of(result: Tensor, dims: list[int]) -> Tensor:
    return result if _are_last(dims, result) else result.movedim(list(range(-len(dims), 0)), dims)


def _mode(norm: str | None) -> str:
    mode = "backward" if norm is None else norm
    if mode not in _OPPOSITE:
        raise RuntimeError(f'Invalid normalization mode: "{mode}"')
    return mode


def _complex_of(dtype: Any) -> Any:
    return minidynamo.complex128 if dtype == minidynamo.float64 else minidynamo.complex64


def _as_float(op: str, input: Tensor) -> Tensor:
    if input.dtype in (minidynamo.float16, minidynamo.bfloat16):
        raise RuntimeError(f"[{op}] Unsupported dtype {input.dtype}")
    return input if input.is_floating_point() else input.to(minidynamo.get_default_dtype())


def _as_complex(op: str, input: Tensor) -> Tensor:
    require_tensor(op, input)
    if input.is_complex():
        return input
    x = _as_float(op, input)
    return x.to(_complex_of(x.dtype))


def _dims_and_sizes(op: str, x: Tensor, s: Sizes, dim: Dims, halved: bool = False) -> tuple[list[int], list[int]]:
    """The transformed dims and their sizes. halved: the last one of x has the half of its frequencies."""
    given = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        if given is not None and len(given) > x.dim():
            raise RuntimeError(
                f"[{op}] Got shape with {len(given)} values but input tensor only has {x.dim()} dimensions."
            )
        dims = list(range(x.dim() - (x.dim() if given is None else len(given)), x.dim()))
    else:
        dims = [wrapped_dim(op, each, x.dim()) for each in ([dim] if isinstance(dim, int) else dim)]
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"[{op}] FFT dims must be unique")
        if given is not None and len(given) != len(dims):
            raise RuntimeError(f"[{op}] When given, dim and shape arguments must have the same length")
    if x.dim() == 0 and dims:
        raise IndexError(f"[{op}] Dimension specified as {dims[0]} but tensor has no dimensions")
    sizes = [x.shape[each] for each in dims]
    if halved and dims:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if given is not None:
        sizes = [here if wanted == -1 else wanted for wanted, here in zip(given, sizes)]
    for size in sizes:
        if size < 1:
            raise RuntimeError(f"[{op}] Invalid number of data points ({size}) specified")
    return dims, sizes
