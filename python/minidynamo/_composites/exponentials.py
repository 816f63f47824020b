"""Exponentials of matrices and sums of exponentials."""

from __future__ import annotations

import math

import minidynamo

from .._C import Tensor
from .registry import composite, require_tensor, wrapped_dim

# The coefficients of the Pade approximation of degree 13, from the constant term on, and the norm up to which it holds.
_PADE = tuple(
    math.factorial(26 - k) * math.factorial(13) // (math.factorial(13 - k) * math.factorial(k)) for k in range(14)
)
_NORM = 4.25


@composite("function method")
def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices (*, n, n), by scaling, an approximation and squaring.

    How often they are squared depends on the data.
    """
    require_tensor("matrix_exp", input)
    if not input.is_floating_point():
        raise RuntimeError(f"[matrix_exp] Expected a floating point or complex tensor as input. Got: {input.dtype}")
    if input.dim() < 2:
        raise RuntimeError("[matrix_exp] The input tensor must have at least 2 dimensions.")
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            "[matrix_exp] A must be batches of square matrices, but they are"
            f" {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if input.numel() == 0:
        return input.clone()
    # float32 has enough digits left only if the approximation and the squares are made in float64.
    matrix = input.double()
    norms = matrix.abs().sum(-2, keepdim=True).amax(-1, keepdim=True)
    counts = (norms / _NORM).log2().ceil().clamp(0.0, 1100.0).nan_to_num(0.0)
    squares = int(counts.amax())
    result = _pade(matrix * minidynamo.exp2(-counts))
    for at in range(squares):
        result = minidynamo.where(counts > at, result @ result, result)
    return result.to(input.dtype)


def _pade(matrix: Tensor) -> Tensor:
    unit = minidynamo.eye(matrix.shape[-1], dtype=matrix.dtype)
    second = matrix @ matrix
    fourth = second @ second
    sixth = second @ fourth
    b = [float(each) / float(_PADE[13]) for each in _PADE]
    odd = sixth @ (b[13] * sixth + b[11] * fourth + b[9] * second)
    odd = matrix @ (odd + b[7] * sixth + b[5] * fourth + b[3] * second + b[1] * unit)
    even = sixth @ (b[12] * sixth + b[10] * fourth + b[8] * second)
    even = even + b[6] * sixth + b[4] * fourth + b[2] * second + b[0] * unit
    return minidynamo.linalg.solve(even - odd, even + odd)


@composite("function method")
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the running sums of exponentials along dim, of a floating tensor."""
    require_tensor("logcumsumexp", input)
    at = wrapped_dim("logcumsumexp", dim, input.dim())
    if not input.is_floating_point():
        raise NotImplementedError(f'[logcumsumexp] "logcumsumexp_out_cpu" not implemented for {input.dtype}')
    if input.dim() == 0 or input.numel() == 0:
        return input.clone()
    length, step = input.shape[at], 1
    total = input.float() if input.dtype.itemsize == 2 else input
    while step < length:
        sizes = list(input.shape)
        sizes[at] = step
        before = minidynamo.cat([total.new_full(sizes, -math.inf), total.narrow(at, 0, length - step)], at)
        total = minidynamo.logaddexp(total, before)
        step = step * 2
    return total.to(input.dtype) if length > 1 else input.clone()
