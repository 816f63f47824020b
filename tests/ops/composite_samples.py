"""Calls of every composite operation: (name, variant, args, keywords). Tensors are described as in op_samples."""

import math

from op_samples import Data, Named, b, call, f, i, index, p, z

X = f(3, 4)


def special(*values):
    return Data("f", len(values), values=list(values))


COUNTS = index(2, 0, 3)
SORTED = special(-2.0, 0.0, 0.5, 1.5, 3.0)
ODD = special(1.5, math.nan, math.inf, -math.inf, -0.0, 2.0)

POLES = special(math.nan, math.inf, -math.inf, -0.0, 0.0, -1.0, -2.0, 1.0, 2.0, 0.5, -0.5, 1e-30, 3e38, -2.5, 25.25)
SMALL = special(1e-45, 1.1754943508222875e-38, 2.3509887016445750e-38, -2.350988701644575e-38, 1.1754942106924411e-38)

REGULAR = Data("f", 2, 2, values=[2.0, 1.0, -1.0, 3.0])
POSITIVE = Data("f", 2, 2, values=[4.0, 2.0, 2.0, 3.0])
FACTOR = Data("f", 2, 2, values=[2.0, 0.0, 1.0, 1.5])
# Orthonormal columns of either sign are right: here LAPACKs agree.
SPREAD = Data("f", 3, 2, values=[3.0, 1.0, 0.0, 2.0, 0.0, 0.0])

# Variants: f(...) as a function, .f(...) as a method.
FUNCTIONS = {
    **dict.fromkeys("conj conj_physical resolve_conj real".split(), [call(z(4)), call(z(2, 3)), call(X)]),
    "imag": [call(z(4)), call(z(2, 3)), call(X)],
    "polar": [call(p(3), f(3))],
    "tile": [call(X, (2,)), call(X, (2, 1, 3)), call(f(), (2,))],
    "ravel": [call(X), call(f())],
    "moveaxis": [call(f(2, 3, 4), 0, -1), call(f(2, 3, 4), (0, 1), (2, 0)), call(X, 3, 0)],
    "split_with_sizes": [call(X, [1, 3], 1), call(X, (1, 2)), call(X, [1, 1])],
    "unflatten": [call(f(2, 12), 1, (3, 4)), call(f(2, 12), -1, (-1, 6)), call(f(2, 12), 1, (5, 2)), call(X, 7, (1,))],
    "adjoint": [call(f(2, 3, 4))],
    "fliplr": [call(X), call(f(3))],
    "flipud": [call(X), call(f())],
    "rot90": [call(X), call(f(2, 3, 4), 3, (1, 2)), call(X, 2), call(X, 4), call(X, -1), call(X, 1, (0, 0))],
    "diag_embed": [call(X), call(f(3), 1), call(f(3), -2), call(f(2, 3), 0, 0, 2), call(f(2, 3), 1, 2, 0), call(X, 0, 1, 1)],
    "diag": [call(f(3)), call(X), call(f(3), 1), call(X, -1), call(f(2, 2, 2))],
    "diagflat": [call(f(2, 2)), call(f(3), -1)],
    "repeat_interleave": [call(X, 2), call(X, 2, 1), call(X, 0, 0), call(f(), 3), call(X, -1), call(X, 2, 5)],
    "broadcast_tensors": [call(f(3, 1), f(4)), call(f(3), f(2))],
    "meshgrid": [call(f(3), f(2), indexing="ij"), call(f(3), f(2), f(4), indexing="xy"), call(f(2, 2), indexing="ij")],
    "atleast_1d": [call(f()), call(f(3)), call(f(), X)],
    "atleast_2d": [call(f()), call(f(3)), call(X)],
    "atleast_3d": [call(f()), call(f(3)), call(X), call(f(1, 2, 3))],
    **dict.fromkeys(
        ("hstack", "vstack", "dstack", "column_stack"),
        [call([f(3), p(3)]), call([X, p(3, 4)]), call([f(), f()]), call([f(3), X]), call([])],
    ),
    "block_diag": [call(X, f(2, 1), f(3)), call(f(2, 2, 2)), call(X, Data("f", dtype="float64")), call(i(2), f(), i(2, 1)), call()],
    "tensor_split": [call(f(7), 3), call(X, (1, 3), 1), call(X, 0), call(f(7, 2), (2, 9))],
    "hsplit": [call(X, 2), call(f(6), 3), call(X, 3)],
    "vsplit": [call(X, 3), call(X, 2), call(f(3), 3)],
    "dsplit": [call(f(2, 2, 4), 2), call(X, 2)],
    "cartesian_prod": [call(f(2), f(3)), call(f(2))],
    "addcmul": [call(X, p(4), f(3, 1)), call(X, X, X, value=0.5), call(i(3), i(3), i(3), value=2)],
    "addcdiv": [call(X, f(3, 4), p(4)), call(X, X, p(3, 4), value=-2.0), call(i(3), i(3), i(3))],
    **dict.fromkeys(("deg2rad", "rad2deg", "sinc"), [call(X), call(i(3))]),
    "logit": [call(special(0.1, 0.5, 0.999)), call(special(0.0, 1.0, 0.3), 0.1)],
    "nan_to_num": [call(ODD), call(ODD, 7.0, 8.0, -9.0), call(i(3))],
    "xlogy": [call(X, Data("p", 4, dtype="float16")), call(Data("f", dtype="float64"), i(4)), call(X, p(4)), call(special(0.0, 0.0, 2.0), special(0.0, math.nan, 3.0)), call(0.0, p(3)), call(X, 2.0)],
    "logaddexp": [call(X, p(4)), call(special(math.inf, -math.inf, 900.0), special(math.inf, -math.inf, 899.0))],
    "heaviside": [call(special(-1.0, 0.0, 2.0), special(0.5, 0.5, 0.5)), call(X, i(3, 4))],
    **dict.fromkeys(("sgn", "isposinf", "isneginf", "isreal"), [call(ODD), call(i(3))]),
    "dist": [call(X, p(3, 4)), call(X, p(4), 1)],
    "isclose": [call(X, X), call(ODD, ODD), call(ODD, ODD, equal_nan=True), call(i(3), i(3), rtol=0.5), call(X, i(3, 4)),
                call(X, X, -1.0)],
    "isin": [call(i(3, 4), index(1, 4, 7)), call(i(3, 4), index(1, 4), invert=True)],
    "take_along_dim": [call(X, index(2, 0, 1, 1, shape=(1, 4)), 0), call(X, index(1, 5)), call(X, index(0), 0),
                       call(X, Data("i", 1, values=[3], dtype="int32")), call(X, index(-1, 3, 0, shape=(3, 1)), 1), call(X, index(-1))],
    "take": [call(X, index(0, 5, -1)), call(X, f(2))],
    **dict.fromkeys(
        ("index_put", "index_put_"),
        [call(X, (index(2, 0),), f(2, 4)), call(X, (index(2, 0, 2), index(1, 1, 1)), f(3), True), call(X, [index(-1)], f(4)),
         call(X, (None, index(3, 3)), f(3, 2), accumulate=True), call(X, (None, index(3, 0)), f(2)), call(X, (b(3, 4),), f()),
         call(X, (b(3, 4),), Data("f", dtype="float64")), call(i(3, 4), (b(3),), Data("f", 1)), call(X, (b(3),), i(1), True),
         call(i(5), (index(0, 0, 4),), i(3), True), call(X, (index(0, 1),), f(3)), call(X, (index(0, 1),), f(3), True),
         call(X, (index(3),), f(4)), call(X, (index(0),), Data("f", 4, dtype="float64")), call(X, (index(0), index(0), index(0)), f())],
    ),
    "searchsorted": [
        call(SORTED, X),
        call(SORTED, f(2, 3), right=True),
        call(SORTED, f(2), side="right", out_int32=True),
        call(Data("f", 2, 3, values=[0, 1, 2, -1, 0, 5]), f(2, 4)),
        call(SORTED, i(3)),
        call(SORTED, special(math.nan, -5.0, 9.0)),
    ],
    "bucketize": [call(X, SORTED), call(X, SORTED, right=True), call(X, X)],
    "count_nonzero": [call(i(3, 4)), call(special(0.0, 2.0, math.nan)), call(b(3, 4), 1), call(b(3, 4), (0, 1))],
    **dict.fromkeys(
        ("std_mean", "var_mean"), [call(X), call(X, 1), call(X, 0, keepdim=True), call(X, 1, correction=0), call(X, unbiased=False)]
    ),
    "aminmax": [call(X), call(X, dim=1), call(X, dim=0, keepdim=True)],
    "median": [call(X), call(f(5)), call(X, 1), call(f(3, 5), 0, True), call(ODD), call(i(7)), call(f(2, 0), 1), call(f())],
    "nansum": [call(ODD), call(X, 1), call(X, 0, True)],
    "nanmean": [call(special(1.0, math.nan, 3.0)), call(X, 1), call(i(3))],
    "quantile": [
        call(X, 0.3),
        call(X, special(0.1, 0.9), 1),
        call(f(5), 0.5, 0, True),
        call(X, 0.3, 1, interpolation="nearest"),
        call(X, 0.4, 0, interpolation="midpoint"),
        call(X, 0.4, interpolation="lower"),
        call(special(1.0, math.nan), 0.5),
        call(i(3), 0.5),
    ],
    "nanquantile": [call(special(1.0, math.nan, 4.0, 2.0), 0.5), call(X, 0.25, 0)],
    "histc": [call(X, 5), call(X, 4, -1, 1), call(f(1), 3), call(special(0.0, 1.0, 1.0), 2), call(X, 0), call(i(3), 3),
              call(special(0.0, 1.0, 2.0, 1e38), 2), call(special(1e38), 3), call(special(-2.5625, 0.0, 2.5625), 4)],
    "diff": [call(X), call(X, 2, 0), call(b(5)), call(f(3), prepend=f(1), append=p(1)), call(f())],
    **dict.fromkeys(("trapezoid", "trapz"), [call(X), call(X, dx=0.5, dim=0), call(X, f(4)), call(Data("i", 3, 0, dtype="int16")),
                                           call(f(2, 3, 1), f()), call(f(2, 3, 4), f(3, 4))]),
    "cov": [call(X), call(f(5)), call(X, correction=0), call(X, correction=9)],
    "corrcoef": [call(X)],
    "tensordot": [call(f(2, 3, 4), f(3, 4, 5), 2), call(X, f(4, 3), ([0, 1], [1, 0])), call(X, X, 1), call(X, f(2), 0), call(X, X, 9),
                  call(f(2, 1), X, 1), call(X, i(1, 2), 1), call(f(2, 1), f(0, 4), 1)],
    "kron": [call(f(2, 2), p(3)), call(f(2, 3), p(2, 1)), call(i(2), i(2))],
    "cross": [call(f(2, 3), p(2, 3), 1), call(f(3), p(3)), call(f(3, 2), p(3, 2)), call(X, X, 1), call(f(2), f(3))],
    "cdist": [call(f(3, 4), p(2, 4)), call(f(2, 3, 4), p(2, 5, 4), 1.0), call(f(3, 4), p(2, 4), math.inf), call(X, f(2, 3)),
              call(i(2, 2), i(2, 2))],
    "inner": [call(X, p(2, 4)), call(f(3), f(3)), call(f(), X), call(X, f(3))],
    "vdot": [call(f(3), p(3))],
    "trace": [call(X), call(i(2, 2)), call(f(3))],
    "ger": [call(f(2), p(3))],
    "baddbmm": [call(f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)), call(f(5), f(2, 3, 4), f(2, 4, 5), beta=0.5, alpha=2.0),
                call(f(1), f(2, 3, 4), f(2, 4, 5), beta=0)],
    "addbmm": [call(f(3, 5), f(2, 3, 4), f(2, 4, 5))],
    "addmv": [call(f(3), f(3, 4), f(4), alpha=0.5)],
    "addr": [call(f(3, 2), f(3), f(2), beta=2.0)],
    "matrix_power": [call(f(3, 3), 3), call(f(2, 2, 2), 0), call(f(3, 3), 1), call(X, 2)],
    **dict.fromkeys(("inverse", "det", "slogdet", "logdet", "pinverse"), [call(REGULAR), call(Data("f", 2, 2, 2, values=[2.0, 1.0, -1.0, 3.0, 1.0, 0.5, 0.0, 4.0])), call(f(3))]),
    "cholesky": [call(POSITIVE), call(POSITIVE, True), call(f(3))],
    **dict.fromkeys(("cholesky_inverse",), [call(FACTOR)]),
    "cholesky_solve": [call(f(2, 3), FACTOR), call(f(2, 1), FACTOR), call(f(2), FACTOR)],
    "qr": [call(SPREAD)],
    "svd": [call(SPREAD), call(SPREAD, compute_uv=False)],
    "chain_matmul": [call(X, f(4, 2), f(2, 5)), call(X)],
    "mode": [call(i(3, 9)), call(i(9, 3), 0), call(i(2, 9), 1, True), call(index(3, 1, 3, 1, 2)), call(f()), call(X, 5), call(b(7))],
    **dict.fromkeys(("lgamma", "digamma", "i0", "erfinv"), [call(X), call(POLES), call(i(3)), call(b(3)), call(f(0, 2)), call(SMALL)]),
    **dict.fromkeys(("lgamma_", "digamma_", "i0_", "erfinv_", "deg2rad_", "rad2deg_", "sinc_", "sgn_"), [call(X), call(i(3))]),
    "mvlgamma": [call(p(3, 4), 1), call(special(3.5, 8.0), 3), call(X, 0), call(b(3), 2), call(i(3), 1)],
    "logaddexp2": [call(X, p(4)), call(special(math.inf, -math.inf, 900.0), special(math.inf, -math.inf, 899.0)), call(i(3), f(3))],
    **dict.fromkeys(("gcd", "lcm"), [call(i(3, 4), i(4)), call(index(12, -18, 0, 0), index(18, 4, 5, 0)), call(X, X), call(b(3), b(3)),
                                  call(Data("i", 3, values=[3, 6, 127], dtype="int8"), Data("i", 3, values=[2, 9, 1], dtype="int8"))]),
    "ldexp": [call(X, i(4)), call(p(3), f(3)), call(i(3), i(3))],
    "float_power": [call(X, 2), call(2.0, X), call(i(3), i(3)), call(p(3), f(3))],
    "nextafter": [call(X, p(4)), call(POLES, special(0.0)), call(special(1.0, 2.0, 0.5, -1.0), special(math.inf)), call(special(1.0, 2.0, -1.0), special(-math.inf)),
                  call(i(3), i(3)), call(Data("f", 2, 3, dtype="float64"), Data("f", 3, dtype="float64")), call(SMALL, special(0.0)), call(SMALL, special(9.0))],
    "logcumsumexp": [call(X, 0), call(X, -1), call(f(), 0), call(ODD, 0), call(i(3), 0), call(X, 3), call(special(-math.inf, -math.inf, 0.0), 0)],
    **dict.fromkeys(("put", "put_"), [call(X, index(0, 5, -1), f(3)), call(X, index(1, 1), f(2), True), call(X, index(1), f(2)), call(X, f(1), f(1)), call(X, index(1), i(1))]),
    **dict.fromkeys(("masked_scatter", "masked_scatter_"), [call(X, b(3, 4), p(12)), call(X, b(4), p(12)), call(X, b(3, 4), p(2)), call(X, i(3, 4), p(12)), call(X, b(3, 4), i(12))]),
    "select_scatter": [call(X, f(4), 0, 1), call(X, f(3), 1, -1), call(X, f(3), 0, 1)],
    "slice_scatter": [call(X, f(2, 4), 0, 1), call(X, f(3, 2), 1, 0, 4, 2), call(X, f(3, 2), -1, 0, 4, 3), call(f(), f(), 0), call(X, X, 0, 0, 3, 0)],
    "diagonal_scatter": [call(X, f(3)), call(X, f(3), 1), call(f(2, 3, 3), f(2, 3), 0, 1, 2), call(X, f(4))],
    "narrow_copy": [call(X, 1, 1, 2), call(X, 0, 2, 2)],
    **dict.fromkeys(
        ("scatter_reduce", "scatter_reduce_"),
        [call(X, 0, index(0, 2, 1, 1, 0, 0, 2, 2, shape=(2, 4)), f(2, 4), how, include_self=own)
         for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)]
        + [call(i(4), 0, index(0, 0, 2), i(3), how) for how in ("sum", "prod", "mean", "amax", "amin")]
        + [call(f(), 0, index(0, 0), f(2), "amax"), call(X, 0, index(0), f(1), "sum"), call(X, 0, index(0, shape=(1, 1)), i(1, 1), "sum"),
           call(X, 0, index(0, shape=(1, 1)), f(1, 1), "most"), call(ODD, 0, index(0, 1, 2, 0, 1, 2), ODD, "amin"), call(X, 0, index(0, 0, shape=(2, 1)), f(1, 1), "sum")],
    ),
    **dict.fromkeys(
        ("index_reduce", "index_reduce_"),
        [call(X, 1, index(0, 2, 2), f(3, 3), how, include_self=own) for how in ("prod", "mean", "amax", "amin") for own in (True, False)]
        + [call(X, 1, index(0, 2), f(3, 3), "mean"), call(X, 1, index(0), f(3, 1), "sum"), call(i(5), 0, index(0, 4, 4), i(3), "mean"), call(X, 0, index(0), i(1, 4), "mean")],
    ),
    "msort": [call(X), call(i(5)), call(f())],
    "nanmedian": [call(ODD), call(X, 1), call(ODD, 0), call(special(math.nan, math.nan), 0), call(i(5)), call(i(3, 4), 1), call(f(0)), call(f(2, 0), 1)],
    "renorm": [call(X, 2, 0, 1.0), call(X, 1, 1, 0.5), call(f(3), 2, 0, 1.0), call(X, 2, 0, -1.0), call(X, -1, 0, 1.0)],
    "renorm_": [call(X, 2, 0, 1.0)],
    "logit_": [call(special(0.1, 0.5, 0.999))],
    "nan_to_num_": [call(ODD), call(ODD, 7.0, 8.0, -9.0)],
    "xlogy_": [call(X, p(4)), call(i(3), p(3))],
    "heaviside_": [call(special(-1.0, 0.0, 2.0), special(0.5, 0.5, 0.5))],
    **dict.fromkeys(("gcd_", "lcm_"), [call(i(3, 4), i(4)), call(i(4), i(3, 4))]),
    "ldexp_": [call(X, i(4)), call(i(3), i(3))],
    "float_power_": [call(Data("f", 3, dtype="float64"), 2), call(X, 2)],
    "nextafter_": [call(X, p(4))],
    "mvlgamma_": [call(p(3, 4), 1)],
    "addbmm_": [call(f(3, 5), f(2, 3, 4), f(2, 4, 5))],
    "addmv_": [call(f(3), f(3, 4), f(4), alpha=0.5)],
    "addr_": [call(f(3, 2), f(3), f(2), beta=2.0)],
    "baddbmm_": [call(f(2, 3, 5), f(2, 3, 4), f(2, 4, 5))],
    "sum_to_size": [call(X, 1, 4), call(X, (4,)), call(X, (3, 1)), call(X, ()), call(X, (2, 4)), call(f(4), (1, 4)), call(X, 3, 4)],
    "fill_diagonal_": [call(X, 5.0), call(f(7, 2), 1.5, wrap=True), call(f(7, 2), 1.5), call(f(3, 3, 3), 2.0), call(f(3), 1.0), call(f(2, 3, 2), 1.0)],
    "polygamma": [call(X, 1)],
    "polygamma_": [call(X, 1)],
    "combinations": [call(f(4)), call(f(4), 3), call(f(3), 2, True), call(f(3), 0), call(f(2), 3), call(X), call(f(3), -1)],
    "tril_indices": [call(3, 4), call(4, 3, 1), call(0, 3), call(-1, 2), call(3, 3, -2, dtype=Named("int32"))],
    "triu_indices": [call(3, 4), call(4, 3, 1), call(3, 3, -2), call(2, -1)],
    "unravel_index": [call(index(0, 5, 11), (3, 4)), call(index(7), (2, 2, 2)), call(f(2), (2,)), call(index(1), (-2,))],
    "cumulative_trapezoid": [call(X), call(X, dx=0.5, dim=0), call(X, f(4)), call(f(2, 3, 4), f(3, 4)), call(f(3), f(3)), call(X, f(3))],
    "pdist": [call(X), call(X, 1.0), call(X, math.inf), call(X, 0.0), call(f(1, 3)), call(f(3)), call(X, -1.0)],
    "square": [call(X)],
}  # fmt: skip
FUNCTIONS.pop("square")
# Those that torch has as methods alone.
OF_METHODS = ("sum_to_size", "fill_diagonal_", "polygamma")
WRITING = {name: FUNCTIONS.pop(name) for name in [*FUNCTIONS] if name.endswith("_") or name in OF_METHODS}
FUNCTIONS["polygamma"] = [call(0, X), call(1, X), call(-1, X), call(1, p(3, 4)), call(0, i(3))]

METHODS = {
    **dict.fromkeys("conj conj_physical resolve_conj".split(), [call(z(4)), call(X)]),
    **WRITING,
    "tile": [call(X, 2, 3), call(X, (2, 1))],
    "view_as": [call(X, f(2, 6)), call(X, f(5))],
    "where": [call(X, b(3, 4), 0.0), call(X, b(4), p(3, 1)), call(X, b(5), 1.0)],
    "reshape_as": [call(X, f(12))],
    "addcmul_": [call(X, p(4), f(3, 1), value=2.0)],
    "index_put_": [call(X, (index(1),), f(4)), call(X, (index(1, 1), index(0, 2)), f(2), accumulate=True)],
    "addcdiv_": [call(X, f(3, 4), p(4))],
    "type": [call(X, Named("float64"))],
}

# The size depends on the data: never in one graph.
BREAKING = {
    "repeat_interleave": [
        call(X, COUNTS, 0),
        call(COUNTS),
        call(COUNTS.of(dtype="int32")),
        call(X, COUNTS, 1),
        call(X, index(-1), 0),
    ],
    "unique": [
        call(i(3, 4)),
        call(i(3, 4), return_inverse=True, return_counts=True),
        call(i(8), return_counts=True),
        call(f(0)),
        call(Data("i", 4, 2, values=[3, 1, 1, 2, 3, 1, 0, 5]), dim=0, return_inverse=True, return_counts=True),
        call(Data("i", 2, 4, values=[3, 1, 3, 0, 1, 2, 1, 5]), dim=1),
    ],
    "unique_consecutive": [call(index(1, 1, 2, 2, 2, 1), return_inverse=True, return_counts=True), call(index(3))],
    "bincount": [call(i(7)), call(i(3), f(3)), call(i(3), minlength=20), call(index(-1)), call(f(3)), call(i(2, 2))],
    "as_strided_scatter": [call(X, f(2, 2), (2, 2), (1, 2)), call(X, f(2), (2,), (3,), 1)],
    "polygamma": [call(2, X), call(3, p(3, 4)), call(4, X)],
    "matrix_exp": [
        call(f(3, 3)),
        call(f(2, 3, 3)),
        call(f(3)),
        call(f(2, 3)),
        call(i(2, 2)),
        call(f(0, 0)),
        call(Data("f", 2, 2, values=[90.0, 1.0, -4.0, -300.0])),
    ],
    "nonzero": [call(i(3, 4)), call(b(3, 4), as_tuple=True), call(b(3, 4), as_tuple=False), call(f())],
    "argwhere": [call(b(3, 4))],
    "where": [call(b(3, 4)), call(f())],
}

EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ij->ji", (3, 4)),
    ("ij->", (3, 4)),
    ("ij->i", (3, 4)),
    ("ba", (3, 4)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->ij", (3, 3, 2)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,j->ij", (3, 4), (4,)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...i,...i->...", (2, 3, 4), (3, 4)),
    ("...ij->...ji", (2, 3, 4)),
    ("i...->...", (2, 3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ij,kj,il->kl", (2, 3), (4, 3), (2, 5)),
    ("ab,cd->abcd", (2, 3), (4, 5)),
    ("ab,bc->", (2, 3), (3, 4)),
    ("bij,b->ij", (2, 3, 4), (2,)),
    (" i j , j k -> i k ", (3, 4), (4, 5)),
    ("ij,jk->ik", (3, 1), (4, 5)),
    ("zab,bc->zac", (2, 3, 0), (0, 4)),
    ("ij,jk->ik", (3, 4), (5, 6)),
    ("ij,jk->iz", (3, 4), (4, 5)),
    ("ij,jk->ii", (3, 4), (4, 5)),
    ("ij", (3, 4), (4, 5)),
    ("ijk", (3, 4)),
    ("i1", (3, 4)),
    ("ij,jk", (3, 4)),
]
