"""kl_divergence: a table of formulas by the types of both distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent, sum_rightmost
from .laplace import Laplace
from .log_normal import LogNormal
from .lowrank_multivariate_normal import LowRankMultivariateNormal, squared_distance
from .multivariate_normal import MultivariateNormal, squared_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform

_FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """A decorator that enters a function of (p, q) for these types and their subclasses."""
    # Any class, as in torch: libraries have base classes of their own.
    if not isinstance(type_p, type):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def enter(function: Any) -> Any:
        _FORMULAS[type_p, type_q] = function
        return function

    return enter


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of q from p, of shape batch_shape. NotImplementedError without a formula."""
    for of_p in type(p).__mro__:
        for of_q in type(q).__mro__:
            if (of_p, of_q) in _FORMULAS:
                return _FORMULAS[of_p, of_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    softplus = minidynamo.nn.functional.softplus
    success = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    success = minidynamo.where(q.probs == 0, math.inf, success)
    success = minidynamo.where(p.probs == 0, 0.0, success)
    failure = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    failure = minidynamo.where(q.probs == 1, math.inf, failure)
    return success + minidynamo.where(p.probs == 1, 0.0, failure)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    of_q = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    of_p = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    one = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    zero = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return of_q - of_p + one + zero + (total_q - total_p) * total_p.digamma()


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = minidynamo.where(q.probs == 0, math.inf, terms)
    return minidynamo.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    factor = total.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return factor + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    of_q = q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
    difference = (p.concentration - q.concentration) * p.concentration.digamma()
    return of_q + difference + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return minidynamo.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    spread = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return spread.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    of_p = p.mean * (p.logits - q.logits) + p._log_norm() + (-p.probs).log1p()
    return of_p - q._log_norm() - (-q.probs).log1p()


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    euler = 0.57721566490153286060
    ratio, of_q, of_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    return -ratio.log() - of_q + of_p + ratio * euler + (of_q + (1 + ratio).lgamma() - of_p).exp() - (1 + euler)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Low Rank Multivariate Normals with different event shapes cannot be computed"
        )
    w, d, tril = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    distance = squared_distance(w, d, q.loc - p.loc, tril)
    # trace of q's inverse covariance times p's, by Woodbury's formula
    inner = minidynamo.linalg.solve_triangular(tril, w.mT / d.unsqueeze(-2), upper=False)
    of_p, diag = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    trace = (diag / d).sum(-1) + (of_p.pow(2) / d.unsqueeze(-1)).sum((-2, -1))
    trace = trace - (inner.pow(2) * diag.unsqueeze(-2)).sum((-2, -1)) - (inner @ of_p).pow(2).sum((-2, -1))
    return 0.5 * (q._log_det() - p._log_det() + distance + trace - p.event_shape[0])


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = p.scale / q.scale
    of_alpha = q.alpha / p.alpha
    found = q.alpha * ratio.log() - of_alpha.log() + of_alpha - 1
    return minidynamo.where(p.scale < q.scale, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    difference = p.loc - q.loc
    ratio, standardized = p.scale / q.scale, difference / p.scale
    normal = math.sqrt(2 / math.pi) * p.scale * (-0.5 * standardized.pow(2)).exp()
    spread = normal + difference * (math.sqrt(0.5) * standardized).erf()
    return -ratio.log() + spread / q.scale - (0.5 + 0.5 * math.log(0.5 * math.pi))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    spread = width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + 0.5 * spread / q.scale.pow(2)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return minidynamo.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    factor_p, factor_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    logs = factor_q.diagonal(0, -2, -1).log().sum(-1) - factor_p.diagonal(0, -2, -1).log().sum(-1)
    batch = minidynamo.broadcast_shapes(factor_q.shape[:-2], factor_p.shape[:-2])
    n = p.event_shape[0]
    solved = minidynamo.linalg.solve_triangular(
        factor_q.expand([*batch, n, n]), factor_p.expand([*batch, n, n]), upper=False
    )
    distance = squared_mahalanobis(factor_q, q.loc - p.loc)
    return logs + 0.5 * (solved.pow(2).sum((-2, -1)) + distance - n)


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), extra)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


_explain_missing(__name__)
