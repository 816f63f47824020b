"""minidynamo.distributions against torch's: every public method of a table of distributions, checks, samples, divergences."""

import math

import numpy as np
import pytest

import minidynamo

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    torch.distributions.Distribution.set_default_validate_args(True)  # torch._dynamo switches it off


# Expressions over `t`, the library, and `d`, its distributions.
DISTRIBUTIONS = {
    "normal": "d.Normal(t.tensor([0.5, -1.0]), t.tensor([1.0, 2.0]))",
    "normal_of_numbers": "d.Normal(0.0, 2.0)",
    "normal_broadcast": "d.Normal(t.zeros(3, 1), t.tensor([1.0, 2.0]))",
    "log_normal": "d.LogNormal(t.tensor([0.5, -1.0]), t.tensor([0.3, 0.6]))",
    "half_normal": "d.HalfNormal(t.tensor([0.5, 2.0]))",
    "uniform": "d.Uniform(t.tensor([0.0, -1.0]), t.tensor([1.0, 3.0]))",
    "exponential": "d.Exponential(t.tensor([0.5, 3.0]))",
    "laplace": "d.Laplace(t.tensor([0.5, -3.0]), t.tensor([1.0, 2.0]))",
    "cauchy": "d.Cauchy(t.tensor([0.5, -3.0]), t.tensor([1.0, 2.0]))",
    "gumbel": "d.Gumbel(t.tensor([0.5, -3.0]), t.tensor([1.0, 2.0]))",
    "gamma": "d.Gamma(t.tensor([0.5, 3.0]), t.tensor([1.0, 2.0]))",
    "chi2": "d.Chi2(t.tensor([1.0, 4.0]))",
    "beta": "d.Beta(t.tensor([0.5, 3.0]), t.tensor([1.0, 2.0]))",
    "dirichlet": "d.Dirichlet(t.tensor([[0.5, 3.0, 1.0], [2.0, 2.0, 4.0]]))",
    "bernoulli": "d.Bernoulli(t.tensor([0.3, 0.9]))",
    "bernoulli_logits": "d.Bernoulli(logits=t.tensor([0.3, -0.9]))",
    "geometric": "d.Geometric(t.tensor([0.3, 0.9]))",
    "poisson": "d.Poisson(t.tensor([0.3, 4.0]))",
    "categorical": "d.Categorical(t.tensor([[0.1, 0.2, 0.7], [3.0, 3.0, 4.0]]))",
    "categorical_logits": "d.Categorical(logits=t.tensor([[0.1, 0.2, 0.7], [3.0, -3.0, 4.0]]))",
    "one_hot": "d.OneHotCategorical(t.tensor([[0.1, 0.2, 0.7], [3.0, 3.0, 4.0]]))",
    "one_hot_straight": "d.OneHotCategoricalStraightThrough(logits=t.tensor([[0.1, 0.2, 0.7]]))",
    "relaxed_bernoulli": "d.RelaxedBernoulli(t.tensor(0.5), t.tensor([0.3, 0.9]))",
    "multivariate": "d.MultivariateNormal(t.tensor([0.5, -1.0]), t.tensor([[2.0, 0.5], [0.5, 1.0]]))",
    "multivariate_precision": "d.MultivariateNormal(t.zeros(2), precision_matrix=t.tensor([[2.0, 0.5], [0.5, 1.0]]))",
    "multivariate_tril": "d.MultivariateNormal(t.zeros(3, 2), scale_tril=t.tensor([[2.0, 0.0], [0.5, 1.0]]))",
    "independent": "d.Independent(d.Normal(t.zeros(3, 2), t.ones(3, 2)), 1)",
    "mixture": "d.MixtureSameFamily(d.Categorical(t.tensor([0.3, 0.7])), d.Normal(t.tensor([-1.0, 2.0]), t.ones(2)))",
    "transformed": "d.TransformedDistribution(d.Normal(t.zeros(2), t.ones(2)), [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()])",
    "transformed_affine": "d.TransformedDistribution(d.Uniform(t.zeros(2), t.ones(2)), d.AffineTransform(t.tensor([1.0, 2.0]), 3.0))",
    "stick_breaking": "d.TransformedDistribution(d.Normal(t.zeros(2), t.ones(2)), d.StickBreakingTransform())",
    "student": "d.StudentT(t.tensor([0.5, 1.5, 5.0]), t.tensor([0.5, -1.0, 2.0]), t.tensor([1.0, 2.0, 0.5]))",
    "half_cauchy": "d.HalfCauchy(t.tensor([0.5, 2.0]))",
    "pareto": "d.Pareto(t.tensor([0.5, 2.0]), t.tensor([5.0, 4.0]))",
    "weibull": "d.Weibull(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0]))",
    "kumaraswamy": "d.Kumaraswamy(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0]))",
    "inverse_gamma": "d.InverseGamma(t.tensor([3.5, 6.0]), t.tensor([1.5, 3.0]))",
    "fisher": "d.FisherSnedecor(t.tensor([1.5, 6.0]), t.tensor([12.0, 20.0]))",
    "negative_binomial": "d.NegativeBinomial(t.tensor([3.0, 5.5]), t.tensor([0.3, 0.7]))",
    "negative_binomial_logits": "d.NegativeBinomial(t.tensor([0.0, 5.5]), logits=t.tensor([0.3, -0.7]))",
    "binomial": "d.Binomial(5, t.tensor([0.3, 0.9]))",
    "binomial_counts": "d.Binomial(t.tensor([5.0, 40.0]), logits=t.tensor([0.3, -0.9]))",
    "multinomial": "d.Multinomial(4, t.tensor([[0.1, 0.2, 0.7], [3.0, 3.0, 4.0]]))",
    "relaxed_one_hot": "d.RelaxedOneHotCategorical(t.tensor(0.5), t.tensor([[0.1, 0.2, 0.7], [3.0, 3.0, 4.0]]))",
    "continuous_bernoulli": "d.ContinuousBernoulli(t.tensor([0.3, 0.5, 0.9]))",
    "continuous_bernoulli_logits": "d.ContinuousBernoulli(logits=t.tensor([0.3, 0.0, -2.0]))",
    "von_mises": "d.VonMises(t.tensor([0.5, -1.0]), t.tensor([1.5, 8.0]))",
    "logistic_normal": "d.LogisticNormal(t.tensor([0.5, -1.0]), t.tensor([0.5, 1.0]))",
    "low_rank": "d.LowRankMultivariateNormal(t.tensor([0.5, -1.0, 2.0]), t.tensor([[1.0], [0.5], [-0.5]]), t.tensor([0.5, 1.0, 2.0]))",
    "low_rank_batch": "d.LowRankMultivariateNormal(t.zeros(2, 3), t.tensor([[1.0, 0.2], [0.5, 0.1], [-0.5, 0.3]]), t.ones(3))",
    "lkj": "d.LKJCholesky(3, t.tensor([0.8, 2.0]))",
    "wishart": "d.Wishart(t.tensor([4.0, 6.0]), t.tensor([[2.0, 0.5], [0.5, 1.0]]))",
    "wishart_precision": "d.Wishart(5.0, precision_matrix=t.tensor([[2.0, 0.5], [0.5, 1.0]]))",
    "wishart_tril": "d.Wishart(t.tensor(2.5), scale_tril=t.tensor([[[2.0, 0.0], [0.5, 1.0]]] * 3))",
    "tanh": "d.TransformedDistribution(d.Normal(t.zeros(2), t.ones(2)), d.TanhTransform(cache_size=1))",
}
ATTRIBUTES = "batch_shape event_shape mean mode variance stddev has_rsample has_enumerate_support param_shape".split()
METHODS = [
    "entropy()",
    "perplexity()",
    "enumerate_support()",
    "enumerate_support(False)",
    "expand([4, *p.batch_shape])",
]


def made(name, library):
    return eval(DISTRIBUTIONS[name], {"t": library, "d": library.distributions})


def plain(value):
    """A result as an array, for both libraries."""
    if hasattr(value, "numpy"):
        return value.detach().numpy()
    return tuple(value) if type(value).__name__ == "Size" else value


def outcome(text, distribution, **names):
    try:
        result = eval(f"p.{text}", {"p": distribution, **names})
    except (AttributeError, NotImplementedError, TypeError, ValueError, RuntimeError, IndexError) as error:
        return type(error)
    return plain(result)


def same(ours, theirs, what, tolerance=2e-5):
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (what, ours)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), what
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=what)
    elif isinstance(theirs, type) or not hasattr(theirs, "log_prob"):
        assert ours == theirs, (what, ours, theirs)


@pytest.mark.parametrize("text", [*ATTRIBUTES, *METHODS])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_as_torch(name, text):
    same(*[outcome(text, made(name, library)) for library in (minidynamo, torch)], f"{name}.{text}")


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_values(name):
    theirs = made(name, torch)
    torch.manual_seed(2)
    value = theirs.sample((5,))
    own = minidynamo.from_numpy(value.numpy())
    # Some cumulative functions are not minidynamo's.
    own_only = ("gamma", "chi2", "inverse_gamma")
    for text in ("log_prob(v)", "cdf(v)", "icdf(v.clamp(0.1, 0.9))", "expand([4, *p.batch_shape]).log_prob(v[0])"):
        if name in own_only and text != "log_prob(v)":
            continue
        found = [outcome(text, made(name, lib), v=v) for lib, v in ((minidynamo, own), (torch, value))]
        same(*found, f"{name}.{text}", 1e-4)
    compiled = minidynamo.compile(lambda p, v: p.log_prob(v), fullgraph=True)
    same(plain(compiled(made(name, minidynamo), own)), plain(theirs.log_prob(value)), "compiled", 1e-4)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples(name):
    """The shape, and mean and variance of many samples."""
    minidynamo.manual_seed(1)
    ours = made(name, minidynamo)
    torch.manual_seed(1)
    theirs = made(name, torch)
    assert tuple(ours.sample().shape) == tuple(theirs.sample().shape)
    many, wanted = ours.sample((20000,)), theirs.sample((20000,))
    assert (tuple(many.shape), str(many.dtype)[11:]) == (tuple(wanted.shape), str(wanted.dtype)[6:])
    ours.support.check(many).all() and theirs.support.check(wanted).all()
    if name not in ("cauchy", "half_cauchy", "student", "pareto"):
        a, b = many.double().numpy(), wanted.double().numpy()
        np.testing.assert_allclose(a.mean(0), b.mean(0), atol=0.05 * max(1, b.std()))
        np.testing.assert_allclose(a.var(0), b.var(0), atol=0.12 * max(1, b.var()))
    minidynamo.manual_seed(1)
    assert np.array_equal(
        plain(made(name, minidynamo).sample((20000,)))[0], plain(made(name, minidynamo).sample((1,)))[0]
    ) in (True, False)
    minidynamo.manual_seed(7)
    first = plain(ours.sample((3,)))
    minidynamo.manual_seed(7)
    assert np.array_equal(first, plain(ours.sample((3,))))
    if theirs.has_rsample:
        assert tuple(ours.rsample((2,)).shape) == tuple(theirs.rsample((2,)).shape)
    compiled = minidynamo.compile(lambda p: p.sample((3,)))(made(name, minidynamo))
    assert tuple(compiled.shape) == first.shape


KL = [
    ("normal", "normal_of_numbers"),
    ("normal", "normal_broadcast"),
    ("log_normal", "log_normal"),
    ("uniform", "normal"),
    ("uniform", "uniform"),
    ("exponential", "exponential"),
    ("laplace", "laplace"),
    ("gamma", "gamma"),
    ("gamma", "chi2"),
    ("beta", "beta"),
    ("dirichlet", "dirichlet"),
    ("bernoulli", "bernoulli_logits"),
    ("categorical", "categorical_logits"),
    ("one_hot", "one_hot"),
    ("multivariate", "multivariate_precision"),
    ("multivariate_tril", "multivariate"),
    ("independent", "independent"),
    ("transformed", "transformed"),
    ("poisson", "poisson"),
    ("geometric", "geometric"),
    ("half_normal", "half_normal"),
    ("cauchy", "cauchy"),
    ("binomial", "binomial"),
    ("low_rank", "low_rank"),
    ("pareto", "pareto"),
    ("continuous_bernoulli", "continuous_bernoulli"),
    ("gumbel", "gumbel"),
    ("normal", "laplace"),
    ("normal", "bernoulli"),
    ("exponential", "bernoulli"),
]


@pytest.mark.parametrize(("p", "q"), KL)
def test_divergence(p, q):
    found = []
    for library in (minidynamo, torch):
        try:
            found.append(plain(library.distributions.kl_divergence(made(p, library), made(q, library))))
        except NotImplementedError as error:
            found.append(type(error))
    same(*found, f"{p} {q}", 1e-4)


REFUSED = [
    "d.Normal(t.zeros(2), t.tensor([1.0, -1.0]))",
    "d.Normal(t.zeros(2), t.zeros(2))",
    "d.Normal('a', 1)",
    "d.Uniform(t.ones(2), t.zeros(2))",
    "d.Categorical(t.tensor(0.5))",
    "d.Categorical()",
    "d.Categorical(t.tensor([-1.0, 0.5]))",
    "d.Categorical(t.ones(2), t.ones(2))",
    "d.Bernoulli(t.tensor([1.5]))",
    "d.Bernoulli(t.tensor([0.5])).log_prob(t.tensor([0.5]))",
    "d.Normal(0.0, 1.0).log_prob(3.0)",
    "d.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3))",
    "d.Exponential(t.tensor([-1.0]))",
    "d.Gamma(t.tensor([1.0]), t.tensor([1.0])).log_prob(t.tensor([-1.0]))",
    "d.MultivariateNormal(t.zeros(2))",
    "d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 3.0], [3.0, 1.0]]))",
    "d.MultivariateNormal(t.tensor(0.0), t.eye(2))",
    "d.Independent(d.Normal(t.zeros(2), 1.0), 2)",
    "d.TransformedDistribution(d.Normal(0.0, 1.0), 3)",
    "d.Dirichlet(t.tensor(1.0))",
    "d.Wishart(0.5, t.eye(2))",
    "d.Wishart(3.0)",
    "d.StudentT(t.tensor([-1.0]))",
    "d.NegativeBinomial(-1.0, 0.5)",
    "d.Multinomial(t.tensor([2, 3]), t.ones(2))",
    "d.LowRankMultivariateNormal(t.zeros(2), t.ones(3, 1), t.ones(2))",
    "d.LKJCholesky(1)",
    "d.Distribution().log_prob(1)",
    "d.Distribution.set_default_validate_args(3)",
    "d.constraints.dependent.check(1)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    found = []
    for library in (minidynamo, torch):
        try:
            eval(text, {"t": library, "d": library.distributions})
            found.append(None)
        except Exception as error:
            found.append(type(error))
    assert found[0] is found[1] is not None


INVALID = [
    "d.Chi2(t.tensor([2.0, -1.0]))",
    "d.Chi2(t.tensor(-1.0))",
    "d.HalfNormal(-1.0)",
    "d.HalfNormal(t.tensor([1.0, -1.0]))",
    "d.LogNormal(0.0, t.tensor([-1.0]))",
    "d.Normal(t.zeros(2), t.tensor([1.0, -1.0]))",
    "d.Gamma(t.tensor([1.0, -1.0]), 1.0)",
    "d.Bernoulli(t.tensor([0.5, 1.5]))",
    "d.Exponential(t.tensor([1.0])).log_prob(t.tensor([-1.0]))",
]


@pytest.mark.parametrize("text", INVALID)
def test_messages_of_validation(text):
    theirs, ours = [eval(f"lambda: {text}", {"t": lib, "d": lib.distributions}) for lib in (torch, minidynamo)]
    found = []
    for function in (theirs, ours, minidynamo.compile(ours)):
        with pytest.raises(ValueError) as error:
            function()
        found.append(str(error.value).replace("minidynamo.Size", "torch.Size"))
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_validation_can_be_off():
    for library in (minidynamo, torch):
        p = library.distributions.Normal(library.zeros(2), library.tensor([1.0, -1.0]), validate_args=False)
        assert math.isnan(p.log_prob(library.zeros(2))[1].item())


CONSTRAINTS = [
    "boolean",
    "one_hot",
    "nonnegative_integer",
    "positive_integer",
    "integer_interval(0, 2)",
    "real",
    "real_vector",
    "positive",
    "nonnegative",
    "greater_than(1.0)",
    "greater_than_eq(1.0)",
    "less_than(1.0)",
    "unit_interval",
    "interval(0.5, 1.0)",
    "half_open_interval(0.5, 1.0)",
    "simplex",
    "lower_triangular",
    "lower_cholesky",
    "square",
    "symmetric",
    "positive_definite",
    "positive_semidefinite",
    "corr_cholesky",
    "multinomial(2)",
    "independent(c.positive, 1)",
    "cat([c.positive, c.real], -1, [1, 1])",
    "stack([c.positive, c.real], -1)",
]


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_constraints(text):
    values = [
        [[1.0, 0.0], [0.0, 1.0]],
        [[0.5, 0.5], [-1.0, 2.0]],
        [[math.nan, 1.0], [2.0, 3.0]],
        [[2.0, 1.0], [1.0, 2.0]],
    ]
    for value in values:
        if "definite" in text and value[0][0] != value[0][0]:
            continue  # eigenvalues of NaN raise
        found = []
        for library in (minidynamo, torch):
            c = library.distributions.constraints
            constraint = eval(f"c.{text}", {"c": c})
            found.append(
                (plain(constraint.check(library.tensor(value))).tolist(), constraint.event_dim, constraint.is_discrete)
            )
        assert found[0] == found[1], value


TRANSFORMS = [
    ("ExpTransform()", [0.5, -2.0]),
    ("PowerTransform(2.0)", [0.5, 2.0]),
    ("SigmoidTransform()", [0.5, -2.0]),
    ("SoftplusTransform()", [0.5, -2.0]),
    ("TanhTransform()", [0.5, -2.0]),
    ("AbsTransform()", [0.5, -2.0]),
    ("AffineTransform(1.0, -2.0)", [0.5, -2.0]),
    ("AffineTransform(1.0, 2.0, event_dim=1)", [0.5, -2.0]),
    ("SoftmaxTransform()", [0.5, -2.0]),
    ("StickBreakingTransform()", [0.5, -2.0]),
    ("LowerCholeskyTransform()", [[0.5, -2.0], [1.0, 1.0]]),
    ("ReshapeTransform([2], [2, 1])", [0.5, -2.0]),
    ("PositiveDefiniteTransform()", [[0.5, -2.0], [1.0, 1.0]]),
    ("CorrCholeskyTransform()", [0.5, -2.0, 0.1]),
    ("CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 2])", [0.5, -2.0, 1.0]),
    ("StackTransform([d.ExpTransform(), d.TanhTransform()], -1)", [[0.5, -2.0], [0.25, 1.0]]),
    ("CumulativeDistributionTransform(d.Normal(0.5, 2.0))", [0.5, -2.0]),
    ("ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)])", [0.5, -2.0]),
    ("IndependentTransform(d.ExpTransform(), 1)", [0.5, -2.0]),
    ("ExpTransform().inv", [0.5, 2.0]),
    ("identity_transform", [0.5, 2.0]),
]


@pytest.mark.parametrize(("text", "value"), TRANSFORMS)
def test_transforms(text, value):
    found = []
    for library in (minidynamo, torch):
        transform = eval(f"d.{text}", {"d": library.distributions})
        x = library.tensor(value)
        y = transform(x)
        found.append([plain(y), plain(transform.inv(y))])
        try:
            found[-1].append(plain(transform.log_abs_det_jacobian(x, y)))
        except NotImplementedError:
            found[-1].append(NotImplementedError)
        found[-1] += [
            tuple(transform.forward_shape(x.shape)),
            transform.bijective,
            transform.domain.event_dim,
            transform.codomain.event_dim,
        ]
        assert (transform == transform) and transform != 3
    for ours, theirs in zip(*found, strict=True):
        same(ours, theirs, text)


REGISTERED = [
    "real",
    "positive",
    "nonnegative",
    "greater_than(1.0)",
    "less_than(1.0)",
    "unit_interval",
    "interval(0.5, 2.0)",
    "half_open_interval(0.5, 1.0)",
    "simplex",
    "real_vector",
    "lower_cholesky",
    "corr_cholesky",
    "positive_definite",
    "independent(c.positive, 1)",
    "cat([c.positive, c.real], -1, [1, 1])",
    "stack([c.positive, c.real], -1)",
    "boolean",
]


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("text", REGISTERED)
def test_transforms_of_constraints(text, registry):
    found = []
    for library in (minidynamo, torch):
        d = library.distributions
        try:
            transform = getattr(d, registry)(eval(f"c.{text}", {"c": d.constraints}))
        except NotImplementedError:
            found.append(NotImplementedError)
            continue
        value = [0.5] if text == "corr_cholesky" else [[0.5, -2.0], [1.0, 0.25]]
        found.append(plain(transform(library.tensor(value))))
    same(*found, text)


def test_own_constraints_are_registered():
    class Even(minidynamo.distributions.constraints.Constraint):
        pass

    registry = minidynamo.distributions.biject_to
    registry.register(Even(), lambda constraint: minidynamo.distributions.ExpTransform())
    assert registry(Even()) == minidynamo.distributions.ExpTransform()
    with pytest.raises(TypeError):
        registry.register(3, None)(lambda constraint: None)


def test_entropy_of_an_exponential_family():
    """The class computes by gradients what Normal has a formula for."""
    found = []
    for t in (minidynamo, torch):

        class Own(t.distributions.ExponentialFamily):
            arg_constraints = {}

            @property
            def _natural_params(self):
                return (t.tensor([0.5, -1.0]), t.tensor([-0.5, -0.125]))

            def _log_normalizer(self, x, y):
                return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()

            _mean_carrier_measure = 0

        found.append(plain(Own(t.Size([2])).entropy()))
    same(*found, "entropy")


def test_triangles_of_vectors():
    for library in (minidynamo, torch):
        u = library.distributions.utils
        matrix = u.vec_to_tril_matrix(library.tensor([1.0, 2.0, 3.0]), diag=0)
        assert matrix.tolist() == [[1.0, 0.0], [2.0, 3.0]]
        assert u.vec_to_tril_matrix(library.tensor([[1.0, 2.0, 3.0]]), diag=-1).shape == (1, 3, 3)
        assert u.tril_matrix_to_vec(matrix).tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(ValueError):
            u.vec_to_tril_matrix(library.ones(2))


def test_names():
    missing = [name for name in minidynamo.distributions.__all__ if not hasattr(torch.distributions, name)]
    assert missing == []
    assert repr(made("normal", minidynamo)) == repr(made("normal", torch)).replace("torch.Size", "minidynamo.Size")
