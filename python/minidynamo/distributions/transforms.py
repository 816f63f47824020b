"""Invertible functions of samples, with the logarithms of their Jacobian determinants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from . import constraints
from .independent import sum_rightmost
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """A function from its domain to its codomain. cache_size=1 keeps the last pair, so that inverting it is exact."""

    bijective = False
    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 or -1: whether the function of one number rises or falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if self._cached_x_y[0] is not x:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if self._cached_x_y[1] is not y:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy / dx|, summed over the dims of an event."""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the result for an argument's."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform
        self.bijective = transform.bijective
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def inv(self) -> Transform:
        return self._inv

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Several transforms, the first one first."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        if self.parts:
            self.domain = _widened(self.parts[0].domain, self._event_dim_of_domain())
            self.codomain = _widened(self.parts[-1].codomain, self._event_dim_of_codomain())

    def _event_dim_of_domain(self) -> int:
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return event_dim

    def _event_dim_of_codomain(self) -> int:
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return event_dim

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    def _call(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return minidynamo.zeros_like(x)
        total: Any = 0
        event_dim = self.domain.event_dim
        for part in self.parts:
            following = part(x)
            found = part.log_abs_det_jacobian(x, following)
            total = total + sum_rightmost(found, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = following
        return total

    def forward_shape(self, shape: Sequence[int]) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        lines = ",\n    ".join(repr(part) for part in self.parts)
        return f"ComposeTransform(\n    {lines}\n)"


def _widened(constraint: constraints.Constraint, event_dim: int) -> constraints.Constraint:
    if event_dim == constraint.event_dim:
        return constraint
    return constraints.independent(constraint, event_dim - constraint.event_dim)


class IndependentTransform(Transform):
    """A transform of elements whose last dims belong together."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective
        self.domain = constraints.independent(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = constraints.independent(base_transform.codomain, reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of one shape in another."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = minidynamo.Size(in_shape), minidynamo.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape([*x.shape[: x.dim() - len(self.in_shape)], *self.out_shape])

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape([*y.shape[: y.dim() - len(self.out_shape)], *self.in_shape])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return minidynamo.Size([*shape[: len(shape) - len(self.in_shape)], *self.out_shape])

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return minidynamo.Size([*shape[: len(shape) - len(self.out_shape)], *self.in_shape])


class _WithoutFields(Transform):
    """Transforms of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    __hash__ = object.__hash__


class ExpTransform(_WithoutFields):
    """exp(x)"""

    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """x**exponent of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else minidynamo.tensor(float(exponent))

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(_WithoutFields):
    """sigmoid(x), kept inside of (0, 1)."""

    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        info = minidynamo.finfo(y.dtype)
        y = y.clamp(info.tiny, 1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        softplus = minidynamo.nn.functional.softplus
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_WithoutFields):
    """log(1 + exp(x))"""

    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return minidynamo.nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -minidynamo.nn.functional.softplus(-x)


class TanhTransform(_WithoutFields):
    """tanh(x)"""

    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - minidynamo.nn.functional.softplus(-2.0 * x))


class AbsTransform(_WithoutFields):
    """|x|"""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """loc + scale * x. event_dim: how many dims belong to an event."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self._event_dim = event_dim
        self.domain = self.codomain = _widened(constraints.real, event_dim)

    @property
    def event_dim(self) -> int:
        return self._event_dim

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(bool(minidynamo.as_tensor(a == b).all()) for a, b in pairs)

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            found = self.scale.abs().log()
        else:
            found = minidynamo.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(found.expand(x.shape), self._event_dim)


class SoftmaxTransform(_WithoutFields):
    """softmax(x) over the last dim; not bijective, so that it has no Jacobian."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(_WithoutFields):
    """n - 1 real numbers to n probabilities: each takes its part of what those before it left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, count: int, like: Tensor) -> Tensor:
        return count + 1 - minidynamo.ones(count, dtype=like.dtype).cumsum(-1)

    def _call(self, x: Tensor) -> Tensor:
        z = SigmoidTransform()(x - self._offset(x.shape[-1], x).log())
        left = (1 - z).cumprod(-1)
        pad = minidynamo.nn.functional.pad
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        part = y[..., :-1]
        left = (1 - part.cumsum(-1)).clamp(min=minidynamo.finfo(y.dtype).tiny)
        return part.log() - left.log() + self._offset(part.shape[-1], y).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shifted = x - self._offset(x.shape[-1], x).log()
        log_sigmoid = minidynamo.nn.functional.logsigmoid
        return (-shifted + log_sigmoid(shifted) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return minidynamo.Size([*shape[:-1], shape[-1] + 1])

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return minidynamo.Size([*shape[:-1], shape[-1] - 1])


class LowerCholeskyTransform(_WithoutFields):
    """Matrices to lower triangles with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(_WithoutFields):
    """Matrices to L @ L.mT, where L is what LowerCholeskyTransform gives."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform()._inverse(minidynamo.linalg.cholesky(y))


class CorrCholeskyTransform(_WithoutFields):
    """n (n - 1) / 2 real numbers to the Cholesky factor (n, n) of a correlation matrix, by rows."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = minidynamo.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), diag=-1)
        # Of each row: what is left of its length 1 before each element.
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + minidynamo.eye(r.shape[-1], dtype=r.dtype)
        return r * minidynamo.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = (1 - (y * y).cumsum(-1)).clamp(min=0)
        left = minidynamo.nn.functional.pad(left[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        of_rows = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        return of_rows - 2 * (x + minidynamo.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattend lower-diagonal number")
        return minidynamo.Size([*shape[:-1], n, n])

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return minidynamo.Size([*shape[:-2], shape[-1] * (shape[-1] - 1) // 2])


class CumulativeDistributionTransform(Transform):
    """The cumulative function of a distribution: its samples to numbers that are uniform on [0, 1]."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]  # the distribution's
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return (
            self if self._cache_size == cache_size else CumulativeDistributionTransform(self.distribution, cache_size)
        )


class _Parts(Transform):
    """What CatTransform and StackTransform share: a transform for each part along a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        super().__init__(cache_size)
        self.transforms = list(tseq)
        self.dim = dim
        self.bijective = all(each.bijective for each in self.transforms)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([each(part) for each, part in zip(self.transforms, self._split(x))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([each._inv_call(part) for each, part in zip(self.transforms, self._split(y))])


class CatTransform(_Parts):
    """Transforms of parts of the given lengths along a dim, by default of length 1 each."""

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.domain = constraints.cat([each.domain for each in self.transforms], dim, self.lengths)
        self.codomain = constraints.cat([each.codomain for each in self.transforms], dim, self.lengths)

    @property
    def length(self) -> int:
        """The size of the dim."""
        return sum(self.lengths)

    @property
    def event_dim(self) -> int:
        return max(each.codomain.event_dim for each in self.transforms)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        if value.shape[self.dim] != self.length:
            raise AssertionError(f"the size {value.shape[self.dim]} of dim {self.dim} is not {self.length}")
        return value.split(self.lengths, self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return minidynamo.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = []
        for each, a, b in zip(self.transforms, self._split(x), self._split(y)):
            one = each.log_abs_det_jacobian(a, b)
            found.append(sum_rightmost(one, self.event_dim - each.domain.event_dim))
        dim = self.dim if self.dim < 0 else self.dim - x.dim()
        dim += self.event_dim
        return minidynamo.cat(found, dim) if dim < 0 else sum(found[1:], found[0])


class StackTransform(_Parts):
    """A transform for each element along a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.domain = constraints.stack([each.domain for each in self.transforms], dim)
        self.codomain = constraints.stack([each.codomain for each in self.transforms], dim)

    def _split(self, value: Tensor) -> Sequence[Tensor]:
        if value.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"the size {value.shape[self.dim]} of dim {self.dim} is not {len(self.transforms)}")
        return value.unbind(self.dim)

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return minidynamo.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._split(x), self._split(y))
        return minidynamo.stack([each.log_abs_det_jacobian(a, b) for each, a, b in pairs], self.dim)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    info = minidynamo.finfo(x.dtype)
    return x.sigmoid().clamp(info.tiny, 1.0 - info.eps)


identity_transform = ComposeTransform([])


_explain_missing(__name__)
