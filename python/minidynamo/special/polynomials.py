"""Orthogonal polynomials, by their recurrences from degree 0 on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.pointwise import in_one_dtype
from .._composites.registry import as_floating, require_real, require_tensor

# Beyond this degree the recurrence would take too long: torch's loops go on.
_MOST = 100_000

_Next = Callable[[Tensor, Tensor, Tensor, int], Tensor]


def _at_degree(name: str, input: Any, n: Any, first: Callable[[Tensor], Tensor], following: _Next) -> Tensor:
    """The polynomial of degree n, a number or a tensor of integers, 0 for a negative n."""
    if not isinstance(input, Tensor):
        require_tensor(name, n, "n")
        input = minidynamo.full((), input, dtype=as_floating(n).dtype)
    if not isinstance(n, Tensor):
        n = minidynamo.full((), n, dtype=as_floating(input).dtype)
    require_real(name, input, n)
    x, degrees = in_one_dtype(input, n)
    x, degrees = as_floating(x), as_floating(degrees).trunc()
    shape = minidynamo.broadcast_shapes(x.shape, degrees.shape)
    x, degrees = x.expand(shape), degrees.expand(shape)
    largest = int(degrees.nan_to_num(0.0, 0.0, 0.0).amax()) if degrees.numel() > 0 else 0
    if largest > _MOST:
        raise NotImplementedError(f"special.{name}(): degrees above {_MOST} are not computed, got {largest}")
    before, last = minidynamo.ones_like(x), first(x)
    found = minidynamo.where(degrees == 0, before, minidynamo.where(degrees == 1, last, 0.0))
    for degree in range(2, largest + 1):
        before, last = last, following(x, last, before, degree)
        found = minidynamo.where(degrees == degree, last, found)
    return found


def _chebyshev(x: Tensor, last: Tensor, before: Tensor, degree: int) -> Tensor:
    return 2.0 * x * last - before


def _shifted(x: Tensor, last: Tensor, before: Tensor, degree: int) -> Tensor:
    return 2.0 * (2.0 * x - 1.0) * last - before


def chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the first kind."""
    return _at_degree("chebyshev_polynomial_t", input, n, lambda x: x, _chebyshev)


def chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the second kind."""
    return _at_degree("chebyshev_polynomial_u", input, n, lambda x: 2.0 * x, _chebyshev)


def chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the third kind."""
    return _at_degree("chebyshev_polynomial_v", input, n, lambda x: 2.0 * x - 1.0, _chebyshev)


def chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the fourth kind."""
    return _at_degree("chebyshev_polynomial_w", input, n, lambda x: 2.0 * x + 1.0, _chebyshev)


def shifted_chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_t of 2 x - 1."""
    return _at_degree("shifted_chebyshev_polynomial_t", input, n, lambda x: 2.0 * x - 1.0, _shifted)


def shifted_chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_u of 2 x - 1."""
    return _at_degree("shifted_chebyshev_polynomial_u", input, n, lambda x: 2.0 * (2.0 * x - 1.0), _shifted)


def shifted_chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_v of 2 x - 1."""
    return _at_degree("shifted_chebyshev_polynomial_v", input, n, lambda x: 2.0 * (2.0 * x - 1.0) - 1.0, _shifted)


def shifted_chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_w of 2 x - 1."""
    return _at_degree("shifted_chebyshev_polynomial_w", input, n, lambda x: 2.0 * (2.0 * x - 1.0) + 1.0, _shifted)


def hermite_polynomial_h(input: Any, n: Any) -> Tensor:
    """Hermite's polynomials, of physicists."""
    return _at_degree(
        "hermite_polynomial_h",
        input,
        n,
        lambda x: 2.0 * x,
        lambda x, last, before, degree: 2.0 * x * last - 2.0 * (degree - 1) * before,
    )


def hermite_polynomial_he(input: Any, n: Any) -> Tensor:
    """Hermite's polynomials, of probabilists."""
    return _at_degree(
        "hermite_polynomial_he",
        input,
        n,
        lambda x: x,
        lambda x, last, before, degree: x * last - (degree - 1) * before,
    )


def laguerre_polynomial_l(input: Any, n: Any) -> Tensor:
    """Laguerre's polynomials."""
    return _at_degree(
        "laguerre_polynomial_l",
        input,
        n,
        lambda x: 1.0 - x,
        lambda x, last, before, degree: ((2 * degree - 1 - x) * last - (degree - 1) * before) / degree,
    )


def legendre_polynomial_p(input: Any, n: Any) -> Tensor:
    """Legendre's polynomials."""
    return _at_degree(
        "legendre_polynomial_p",
        input,
        n,
        lambda x: x,
        lambda x, last, before, degree: ((2 * degree - 1) * x * last - (degree - 1) * before) / degree,
    )
