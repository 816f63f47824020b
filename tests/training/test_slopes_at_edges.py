"""Slopes where a function has a kink, a bound, a tie, a pole, or a branch that is not taken and has none: as torch's."""

import pytest

import minidynamo
import minidynamo.autograd

torch = pytest.importorskip("torch")

INF, NAN = float("inf"), float("nan")
BIG = (-1000.0, -90.0, -20.0, -1.0, 0.0, 1.0, 20.0, 90.0, 720.0, 1000.0)
NEAR_ZERO = (-0.0, 0.0, 1.0, -1.0)
BOUNDS = (-6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 7.0)
UNIT = (0.0, 0.25, 0.5, 1.0)
TIES = ((1.0, 3.0, 3.0, -2.0, 3.0), (0.0, 0.0, 0.0, 0.0, 0.0), (2.0, 1.0, 2.0, 1.0, -2.0))
ZEROS = ((0.0, 2.0, 3.0), (0.0, 0.0, 3.0), (1.0, 2.0, 4.0))

# name: (function of (library, its functional, tensors), the values of each tensor)
CASES = {
    "relu": (lambda lib, F, x: x.relu(), BOUNDS),
    "leaky_relu": (lambda lib, F, x: F.leaky_relu(x, 0.1), BOUNDS),
    "elu": (lambda lib, F, x: F.elu(x), BIG),
    "elu_alpha": (lambda lib, F, x: F.elu(x, alpha=0.5), BOUNDS),
    "celu": (lambda lib, F, x: F.celu(x, 0.5), BIG),
    "selu": (lambda lib, F, x: F.selu(x), BIG),
    "gelu": (lambda lib, F, x: F.gelu(x), BIG),
    "gelu_tanh": (lambda lib, F, x: F.gelu(x, approximate="tanh"), BIG),
    "silu": (lambda lib, F, x: F.silu(x), BIG),
    "mish": (lambda lib, F, x: F.mish(x), BIG),
    "softplus": (lambda lib, F, x: F.softplus(x), BIG),
    "softplus_beta": (lambda lib, F, x: F.softplus(x, beta=3, threshold=5), BIG),
    "logsigmoid": (lambda lib, F, x: F.logsigmoid(x), BIG),
    "sigmoid": (lambda lib, F, x: x.sigmoid(), BIG),
    "tanh": (lambda lib, F, x: x.tanh(), BIG),
    "softsign": (lambda lib, F, x: F.softsign(x), BIG),
    "tanhshrink": (lambda lib, F, x: F.tanhshrink(x), BIG),
    "hardtanh": (lambda lib, F, x: F.hardtanh(x), BOUNDS),
    "hardtanh_bounds": (lambda lib, F, x: F.hardtanh(x, -0.5, 2.0), BOUNDS),
    "relu6": (lambda lib, F, x: F.relu6(x), BOUNDS),
    "hardsigmoid": (lambda lib, F, x: F.hardsigmoid(x), BOUNDS),
    "hardswish": (lambda lib, F, x: F.hardswish(x), BOUNDS),
    "hardshrink": (lambda lib, F, x: F.hardshrink(x), BOUNDS),
    "softshrink": (lambda lib, F, x: F.softshrink(x), BOUNDS),
    "threshold": (lambda lib, F, x: F.threshold(x, 0.5, 7.0), BOUNDS),
    "clamp": (lambda lib, F, x: x.clamp(-1.0, 3.0), BOUNDS),
    "clamp_min": (lambda lib, F, x: x.clamp_min(0.0), BOUNDS),
    "clamp_max": (lambda lib, F, x: x.clamp(max=0.5), BOUNDS),
    "clamp_tensors": (lambda lib, F, x, y, z: x.clamp(y, z), (0.0, 1.0, 2.0, 3.0), (1.0, 1.0, 1.0, 1.0), (2.0, 2.0, 2.0, 0.5)),
    "abs": (lambda lib, F, x: x.abs(), NEAR_ZERO),
    "sign": (lambda lib, F, x: x.sign(), NEAR_ZERO),
    "sgn": (lambda lib, F, x: x.sgn(), NEAR_ZERO),
    "floor": (lambda lib, F, x: x.floor(), BOUNDS),
    "round": (lambda lib, F, x: x.round(), BOUNDS),
    "trunc": (lambda lib, F, x: x.trunc(), BOUNDS),
    "frac": (lambda lib, F, x: x.frac(), BOUNDS),
    "sqrt": (lambda lib, F, x: x.sqrt(), UNIT),
    "rsqrt": (lambda lib, F, x: x.rsqrt(), UNIT),
    "log": (lambda lib, F, x: x.log(), UNIT),
    "log1p": (lambda lib, F, x: x.log1p(), (-1.0, 0.0, 1.0)),
    "reciprocal": (lambda lib, F, x: x.reciprocal(), NEAR_ZERO),
    "asin": (lambda lib, F, x: x.asin(), (-1.0, 0.0, 1.0)),
    "acos": (lambda lib, F, x: x.acos(), (-1.0, 0.0, 1.0)),
    "atanh": (lambda lib, F, x: x.atanh(), (-1.0, 0.0, 1.0)),
    "acosh": (lambda lib, F, x: x.acosh(), (1.0, 2.0)),
    "erfinv": (lambda lib, F, x: x.erfinv(), (-0.9, 0.0, 0.5, 0.9)),
    "logit": (lambda lib, F, x: x.logit(), (0.25, 0.5)),
    "logit_eps": (lambda lib, F, x: x.logit(0.25), UNIT),
    "sinc": (lambda lib, F, x: x.sinc(), NEAR_ZERO),
    "xlogy": (lambda lib, F, x, y: lib.xlogy(x, y), (0.0, 0.0, 1.0, 2.0), (2.0, 1.0, 0.0, 3.0)),
    "xlog1py": (lambda lib, F, x, y: lib.special.xlog1py(x, y), (0.0, 0.0, 1.0, 2.0), (2.0, 1.0, 0.0, 3.0)),
    "entr": (lambda lib, F, x: lib.special.entr(x), (0.25, 1.0)),
    "i0": (lambda lib, F, x: lib.special.i0(x), (-9.0, -8.0, -1.0, 0.0, 1.0, 8.0, 9.0)),
    "i0e": (lambda lib, F, x: lib.special.i0e(x), (-9.0, -8.0, -1.0, 0.0, 1.0, 8.0, 9.0)),
    "i1": (lambda lib, F, x: lib.special.i1(x), (-9.0, -8.0, -1.0, 0.0, 1.0, 8.0, 9.0)),
    "i1e": (lambda lib, F, x: lib.special.i1e(x), (-9.0, -8.0, -1.0, 0.0, 1.0, 8.0, 9.0)),
    "pow_0": (lambda lib, F, x: x**0, NEAR_ZERO),
    "pow_1": (lambda lib, F, x: x**1, NEAR_ZERO),
    "pow_2": (lambda lib, F, x: x**2, NEAR_ZERO),
    "pow_half": (lambda lib, F, x: x**0.5, UNIT),
    "pow_minus": (lambda lib, F, x: x**-1.5, UNIT),
    "pow_tensor": (lambda lib, F, x, y: x**y, (0.0, 0.0, 0.0, 1.0, 2.0, -2.0), (0.0, 2.0, -1.0, 0.0, 0.5, 3.0)),
    "number_pow": (lambda lib, F, x: 0.0**x, (0.0, 1.0, 2.0)),
    "one_pow": (lambda lib, F, x: 1.0**x, (0.0, 1.0, 2.0)),
    "hypot": (lambda lib, F, x, y: lib.hypot(x, y), (0.0, 3.0, 0.0), (0.0, 4.0, 1.0)),
    "atan2": (lambda lib, F, x, y: lib.atan2(x, y), (0.0, 3.0, 0.0), (1.0, 4.0, -1.0)),
    "logaddexp": (lambda lib, F, x, y: lib.logaddexp(x, y), (0.0, -INF, 1000.0, -1000.0), (0.0, 1.0, 999.0, 3.0)),
    "maximum": (lambda lib, F, x, y: lib.maximum(x, y), (0.0, 1.0, 2.0), (0.0, 2.0, 1.0)),
    "minimum": (lambda lib, F, x, y: lib.minimum(x, y), (0.0, 1.0, 2.0), (0.0, 2.0, 1.0)),
    "fmax": (lambda lib, F, x, y: lib.fmax(x, y), (0.0, 1.0, NAN, 2.0), (0.0, 2.0, 1.0, NAN)),
    "fmin": (lambda lib, F, x, y: lib.fmin(x, y), (0.0, 1.0, NAN, 2.0), (0.0, 2.0, 1.0, NAN)),
    "copysign": (lambda lib, F, x, y: lib.copysign(x, y), NEAR_ZERO, (1.0, -1.0, -1.0, 0.0)),
    "remainder": (lambda lib, F, x, y: lib.remainder(x, y), (5.0, -5.0, 4.0), (3.0, 3.0, 2.0)),
    "fmod": (lambda lib, F, x, y: lib.fmod(x, y), (5.0, -5.0, 4.0), (3.0, 3.0, 2.0)),
    "nan_to_num": (lambda lib, F, x: x.nan_to_num(), (1.0, INF, -INF, NAN)),
    "binary_cross_entropy": (lambda lib, F, x: F.binary_cross_entropy(x, lib.tensor([0.0, 0.0, 1.0, 1.0, 0.5, 1.0, 0.0]).to(x.dtype), reduction="none"), (0.0, 1.0, 0.0, 1.0, 0.0, 0.5, 0.5)),
    "binary_cross_entropy_logits": (lambda lib, F, x: F.binary_cross_entropy_with_logits(x, lib.ones(10).to(x.dtype) * 0.5, reduction="none"), BIG),
    "bce_of_target": (lambda lib, F, x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction="none"), (-1.0, 0.0, 2.0), (1.0, 0.0, 0.5)),
    "kl_div": (lambda lib, F, x, y: F.kl_div(x, y, reduction="none"), (-1.0, -2.0, -0.5), (0.25, 1.0, 0.5)),
    "kl_div_log": (lambda lib, F, x, y: F.kl_div(x, y, reduction="none", log_target=True), (-1.0, -2.0, -0.5), (-3.0, 0.0, -0.5)),
    "smooth_l1": (lambda lib, F, x, y: F.smooth_l1_loss(x, y, reduction="none"), (0.0, 1.0, 2.0, -3.0), (0.0, 0.0, 1.0, 0.0)),
    "smooth_l1_0": (lambda lib, F, x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.0), (0.0, 1.0, -3.0), (0.0, 0.0, 0.0)),
    "huber": (lambda lib, F, x, y: F.huber_loss(x, y, reduction="none", delta=2.0), (0.0, 2.0, 3.0, -3.0), (0.0, 0.0, 1.0, 0.0)),
    "l1": (lambda lib, F, x, y: F.l1_loss(x, y, reduction="none"), (0.0, 1.0, -3.0), (0.0, 0.0, 0.0)),
    "poisson_nll": (lambda lib, F, x, y: F.poisson_nll_loss(x, y, full=True, reduction="none"), (0.0, 1.0, 2.0), (0.0, 1.0, 5.0)),
    "margin_ranking": (lambda lib, F, x, y: F.margin_ranking_loss(x, y, lib.ones(3).to(x.dtype), margin=1.0, reduction="none"), (0.0, 1.0, 5.0), (0.0, 0.0, 0.0)),
    "soft_margin": (lambda lib, F, x: F.soft_margin_loss(x, lib.ones(10).to(x.dtype), reduction="none"), BIG),
    "hinge_embedding": (lambda lib, F, x: F.hinge_embedding_loss(x, -lib.ones(4).to(x.dtype), reduction="none"), NEAR_ZERO),
    "norm": (lambda lib, F, x: x.norm(), (0.0, 0.0, 0.0)),
    "norm_1": (lambda lib, F, x: x.norm(1), (0.0, 2.0, -1.0)),
    "norm_3": (lambda lib, F, x: x.norm(3), (0.0, 2.0, -1.0)),
    "norm_3_of_0": (lambda lib, F, x: x.norm(3), (0.0, 0.0, 0.0)),
    "norm_half": (lambda lib, F, x: x.norm(0.5), (0.0, 2.0, -1.0)),
    "norm_inf": (lambda lib, F, x: x.norm(INF), (2.0, 1.0, -2.0)),
    "norm_0": (lambda lib, F, x: x.norm(0) + x.sum(), (2.0, 0.0, -2.0)),
    "std": (lambda lib, F, x: x.std(), (2.0, 2.0, 2.0)),
    "var": (lambda lib, F, x: x.var(), (2.0, 2.0, 2.0)),
    "std_of_one": (lambda lib, F, x: x.std(correction=0), (2.0,)),
    "prod": (lambda lib, F, x: x.prod(), *ZEROS[:1]),
    "prod_two_zeros": (lambda lib, F, x: x.prod(), ZEROS[1]),
    "cumprod": (lambda lib, F, x: x.cumprod(0), ZEROS[0]),
    "cumprod_two_zeros": (lambda lib, F, x: x.cumprod(0), ZEROS[1]),
    **{
        f"{name}_{number}": (call, values)
        for number, values in enumerate(TIES)
        for name, call in {
            "amax": lambda lib, F, x: x.amax(),
            "amin": lambda lib, F, x: x.amin(0),
            "max": lambda lib, F, x: x.max(),
            "min": lambda lib, F, x: x.min(),
            "max_dim": lambda lib, F, x: x.max(0).values,
            "median": lambda lib, F, x: x.median(),
            "median_dim": lambda lib, F, x: x.median(0).values,
            "aminmax": lambda lib, F, x: lib.stack(tuple(x.aminmax())),
            "cummax": lambda lib, F, x: x.cummax(0).values,
            "logsumexp": lambda lib, F, x: x.logsumexp(0),
            "logcumsumexp": lambda lib, F, x: x.logcumsumexp(0),
            "max_pool": lambda lib, F, x: F.max_pool1d(x.reshape(1, 1, 5), 3, 1),
            "relu_of_max": lambda lib, F, x: x.max().relu(),
            "scatter_prod": lambda lib, F, x: lib.ones(2).to(x.dtype).scatter_reduce(0, lib.tensor([0, 1, 1, 0, 1]), x, "prod"),
            "scatter_mean": lambda lib, F, x: lib.ones(2).to(x.dtype).scatter_reduce(0, lib.tensor([0, 1, 1, 0, 1]), x, "mean"),
        }.items()
    },
    "logsumexp_inf": (lambda lib, F, x: x.logsumexp(0), (-INF, 0.0, 1.0)),
    "softmax_inf": (lambda lib, F, x: x.softmax(0), (-INF, 0.0, 1.0)),
    "log_softmax_big": (lambda lib, F, x: x.log_softmax(0), (-1000.0, 0.0, 1000.0)),
    "cosine_similarity": (lambda lib, F, x, y: F.cosine_similarity(x, y, dim=0), (0.0, 0.0), (1.0, 2.0)),
    "normalize": (lambda lib, F, x: F.normalize(x, dim=0), (0.0, 0.0)),
    "pairwise_distance": (lambda lib, F, x, y: F.pairwise_distance(x.reshape(1, 2), y.reshape(1, 2)), (1.0, 2.0), (1.0, 2.0)),
    "dist": (lambda lib, F, x, y: lib.dist(x, y), (1.0, 2.0), (1.0, 2.0)),
    "cdist": (lambda lib, F, x, y: lib.cdist(x.reshape(2, 1), y.reshape(2, 1)), (1.0, 2.0), (1.0, 5.0)),
    "cdist_1": (lambda lib, F, x, y: lib.cdist(x.reshape(2, 1), y.reshape(2, 1), p=1), (1.0, 2.0), (1.0, 5.0)),
    "renorm": (lambda lib, F, x: lib.renorm(x.reshape(2, 2), 2, 0, 1.0), (0.0, 0.0, 3.0, 4.0)),
    "cross_entropy_big": (lambda lib, F, x: F.cross_entropy(x.reshape(1, 3), lib.tensor([0])), (-1000.0, 0.0, 1000.0)),
    "layer_norm": (lambda lib, F, x: F.layer_norm(x, (3,)), (2.0, 2.0, 2.0)),
    "where_log": (lambda lib, F, x: lib.where(x > 0, x, x.exp() - 1), BOUNDS),
    "nansum": (lambda lib, F, x: x.nansum(), (1.0, NAN, 2.0)),
    "nanmean": (lambda lib, F, x: x.nanmean(), (1.0, NAN, 2.0)),
    "digamma": (lambda lib, F, x: x.digamma(), (0.5, 1.0, 3.0)),
    "lgamma": (lambda lib, F, x: x.lgamma(), (0.5, 1.0, 3.0)),
}  # fmt: skip


def slopes(lib, case, dtype, again):
    call, *values = case
    leaves = [lib.tensor(each, dtype=getattr(lib, dtype), requires_grad=True) for each in values]
    out = call(lib, lib.nn.functional, *leaves)
    weights = lib.arange(1, out.numel() + 1).to(out.dtype).reshape(out.shape)
    found = lib.autograd.grad(out, leaves, weights, create_graph=again, allow_unused=True)
    return [None if each is None else (each.detach() + 0).reshape(-1).tolist() for each in found]


@pytest.mark.parametrize("again", [False, True], ids=["once", "recorded"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_slopes(name, dtype, again):
    ours, theirs = slopes(minidynamo, CASES[name], dtype, again), slopes(torch, CASES[name], dtype, again)
    close = {"float64": 5e-8, "float32": 2e-5}[dtype]
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None), (a, b)
        assert a is None or a == pytest.approx(b, rel=close, abs=close / 10, nan_ok=True)
