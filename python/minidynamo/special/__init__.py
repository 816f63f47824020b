"""Special functions: the names of torch.special. Those of one tensor are computed in float64 and rounded once."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.gamma_functions import by_row, hurwitz_zeta, in_double
from .._composites.pointwise import in_one_dtype
from .._composites.registry import as_floating, prims, require_real, require_tensor, widened
from .._missing_names import explain_missing as _explain_missing
from . import bessel, modified_bessel
from .polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

digamma = psi = minidynamo.digamma
erf = minidynamo.erf
erfc = minidynamo.erfc
erfinv = minidynamo.erfinv
exp2 = minidynamo.exp2
expit = minidynamo.sigmoid
expm1 = minidynamo.expm1
gammaln = minidynamo.lgamma
i0 = modified_bessel_i0 = minidynamo.i0
log1p = minidynamo.log1p
log_softmax = minidynamo.log_softmax
logit = minidynamo.logit
logsumexp = minidynamo.logsumexp
multigammaln = minidynamo.mvlgamma
polygamma = minidynamo.polygamma
round = minidynamo.round
sinc = minidynamo.sinc
softmax = minidynamo.softmax
xlogy = minidynamo.xlogy


def bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 0."""
    return in_double("bessel_j0", input, bessel.first_kind_0)


def bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 1."""
    return in_double("bessel_j1", input, bessel.first_kind_1)


def bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order 0: minus infinity at 0, NaN below."""
    return in_double("bessel_y0", input, bessel.second_kind_0)


def bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order 1: minus infinity at 0, NaN below."""
    return in_double("bessel_y1", input, bessel.second_kind_1)


def spherical_bessel_j0(x: Tensor) -> Tensor:
    """sin(x) / x, and 1 at 0."""
    return in_double("spherical_bessel_j0", x, bessel.spherical_0)


def i0e(input: Tensor) -> Tensor:
    """exp(-|x|) * i0(x)."""
    return by_row("i0e", input, prims.special_i0e)


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
    return by_row("i1", input, prims.special_i1)


modified_bessel_i1 = i1


def i1e(input: Tensor) -> Tensor:
    """exp(-|x|) * i1(x)."""
    return by_row("i1e", input, prims.special_i1e)


def modified_bessel_k0(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 0: infinity at 0, NaN below."""
    return in_double("modified_bessel_k0", input, modified_bessel.second_kind_0)


def modified_bessel_k1(input: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order 1: infinity at 0, NaN below."""
    return in_double("modified_bessel_k1", input, modified_bessel.second_kind_1)


def scaled_modified_bessel_k0(x: Tensor) -> Tensor:
    """exp(x) * modified_bessel_k0(x)."""
    return in_double("scaled_modified_bessel_k0", x, modified_bessel.scaled_second_kind_0)


def scaled_modified_bessel_k1(x: Tensor) -> Tensor:
    """exp(x) * modified_bessel_k1(x)."""
    return in_double("scaled_modified_bessel_k1", x, modified_bessel.scaled_second_kind_1)


def ndtr(input: Tensor) -> Tensor:
    """The probability that a standard normal number is at most this, in the tensor's own dtype as torch computes it."""
    require_tensor("special.ndtr", input)
    x = as_floating(input)
    (wide,) = widened(x)
    return ((1.0 + (wide * math.sqrt(0.5)).erf()) * 0.5).to(x.dtype)


def log_ndtr(input: Tensor) -> Tensor:
    """log(ndtr(input))."""
    return by_row("log_ndtr", input, prims.special_log_ndtr)


def ndtri(input: Tensor) -> Tensor:
    """The inverse of ndtr: infinite at 0 and 1, NaN outside."""
    return by_row("ndtri", input, prims.special_ndtri)


def erfcx(input: Tensor) -> Tensor:
    """exp(x**2) * erfc(x)."""
    return by_row("erfcx", input, prims.special_erfcx)


def entr(input: Tensor) -> Tensor:
    """-x * log(x): 0 at 0, minus infinity below; NotImplementedError for complex numbers."""
    require_tensor("entr", input)
    require_real("entr", input)
    x = as_floating(input)
    found = minidynamo.where(x > 0, -x * x.log(), minidynamo.where(x == 0, 0.0, -math.inf).to(x.dtype))
    return minidynamo.where(x.isnan(), x, found)


def two_floating(op: str, input: Any, other: Any) -> tuple[Tensor, Tensor]:
    """Both as floating tensors of one dtype; NotImplementedError for complex numbers."""
    if not isinstance(input, Tensor):
        require_tensor(op, other, "other")
        input = minidynamo.full((), input, dtype=as_floating(other).dtype)
    if not isinstance(other, Tensor):
        other = minidynamo.full((), other, dtype=as_floating(input).dtype)
    require_real(op, input, other)
    a, b = in_one_dtype(input, other)
    return as_floating(a), as_floating(b)


def xlog1py(input: Any, other: Any) -> Tensor:
    """input * log1p(other), 0 where input is 0 and other is no NaN."""
    x, y = two_floating("xlog1py", input, other)
    is_zero = (x == 0) & ~y.isnan() & ~((y > -1) & (y < math.inf))
    return minidynamo.where(is_zero, 0.0, x * minidynamo.where(is_zero, 0.0, y).log1p())


def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz' zeta function: the sum of (k + other)**-input over k >= 0."""
    x, q = two_floating("zeta", input, other)
    return hurwitz_zeta(x.double(), q.double()).to(x.dtype)


_explain_missing(__name__)
