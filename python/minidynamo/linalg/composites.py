"""The functions of linalg that torch also exports at top level."""

from __future__ import annotations

from collections import namedtuple

from .._C import Tensor
from .._composites.autocast import full_precision, is_autocasting
from .._composites.registry import composite, require_tensor
from . import decompositions, norms, solutions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_svd = namedtuple("_svd", "U S V")

for _name in ("det", "slogdet"):
    composite("function method")(getattr(decompositions, _name))
for _name in ("cholesky_solve", "cholesky_inverse", "logdet"):
    composite("function method")(getattr(solutions, _name))


@composite("function method")
def inverse(input: Tensor) -> Tensor:
    """linalg.inv."""
    if is_autocasting():
        return full_precision(inverse, input)
    require_tensor("inverse", input)
    return solutions.inv(input)


@composite("function method")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """linalg.pinv with rtol=rcond."""
    if is_autocasting():
        return full_precision(pinverse, input, rcond)
    require_tensor("pinverse", input)
    return decompositions.pinv(input, rtol=rcond)


@composite("function method")
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """linalg.cholesky."""
    if is_autocasting():
        return full_precision(cholesky, input, upper)
    require_tensor("cholesky", input)
    return decompositions.cholesky(input, upper=upper)


@composite("function method")
def qr(input: Tensor, some: bool = True) -> Any:
    """linalg.qr: complete without some."""
    if is_autocasting():
        return full_precision(qr, input, some)
    require_tensor("qr", input)
    return decompositions.qr(input, "reduced" if some else "complete")


@composite("function method")
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """(U, S, V) with U @ diag(S) @ V.mT = input: square U and V without some, zeros for them without compute_uv."""
    if is_autocasting():
        return full_precision(svd, input, some, compute_uv)
    require_tensor("svd", input)
    if not compute_uv:
        stack, (rows, columns) = input.shape[:-2], input.shape[-2:]
        return _svd(
            input.new_zeros([*stack, rows, rows]),
            decompositions.svdvals(input),
            input.new_zeros([*stack, columns, columns]),
        )
    U, S, Vh = decompositions.svd(input, not some)
    return _svd(U, S, Vh.mT)


@composite("function")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """linalg.multi_dot of matrices; of one, a copy."""
    if len(matrices) == 1:
        require_tensor("chain_matmul", matrices[0], "matrices")
        return matrices[0].clone()
    return norms.multi_dot(matrices)
