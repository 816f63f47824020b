"""Calls of every function of minidynamo.linalg, valid and invalid: (args, keywords)."""

import numpy as np
from op_samples import Data, call, f


def matrices(arranged, shape, view=None):
    drawn = np.random.default_rng(sum(shape) + len(shape)).standard_normal(shape)
    values = arranged(drawn).astype("float32").reshape(-1).tolist()
    return Data("f", *(view or shape), values=values)


def spd(*shape):
    return matrices(lambda a: a @ a.swapaxes(-1, -2) + np.eye(shape[-1]), shape)


def symmetric(*shape):
    return matrices(lambda a: a + a.swapaxes(-1, -2), shape)


def regular(*shape, view=None):
    return matrices(lambda a: a + 3 * np.eye(shape[-1]), shape, view)


def tall(*shape):
    return matrices(lambda a: a, shape)


SQUARES = [
    call(regular(3, 3)),
    call(regular(2, 1, 4, 4)),
    call(regular(0, 0)),
    call(regular(2, 0, 0)),
    call(regular(1, 1)),
]
ANY = [call(f(3, 3)), call(f(5, 3)), call(f(3, 5)), call(f(2, 4, 3)), call(f(0, 3)), call(f(3, 0)), call(f(0, 2, 3))]
BAD = [call(f(3)), call(Data("i", 3, 3)), call(Data("f", 3, 3, dtype="bfloat16"))]
NOT_SQUARE = [*BAD, call(f(2, 3))]
SYMMETRIC = [
    call(symmetric(4, 4)),
    call(symmetric(2, 3, 3), "U"),
    call(symmetric(0, 0)),
    call(symmetric(3, 3), UPLO="L"),
]
RANKS = [call(f(4, 3)), call(Data("f", 3, 3, values=[1.0, 2, 3, 2, 4, 6, 0, 1, 0]))]
DEPENDENT = Data("f", 4, 2, values=[1.0, 2, 2, 4, 3, 6, 0, 0])
NORMED = [f(3, 4), f(2, 3, 3)]
ORDERS = ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]
VECTOR_ORDERS = [0, 1, 2, 3.5, float("inf"), -float("inf"), -1, 0.5]

SINGULAR = Data("f", 2, 2, values=[1.0, 2, 2, 4])
WITHOUT_PIVOT = Data("f", 2, 2, values=[0.0, 2, 3, 4])
RECTANGLES = [call(tall(5, 3)), call(tall(3, 5)), call(tall(2, 4, 3)), call(f(0, 3)), call(f(3, 0))]
# Complex pairs of eigenvalues, real ones, none.
SPECTRA = [call(Data("f", 2, 2, values=[0.0, -1, 1, 0])), *SQUARES, call(Data("f", 2, 2, values=[1.0, 0, 0, 2]))]
PIVOTS = Data("i", 3, values=[2, 3, 3], dtype="int32")

SAMPLES = {
    "cholesky": [call(spd(3, 3)), call(spd(2, 4, 4), upper=True), call(spd(0, 0)), call(Data("f", 2, 2, values=[1.0, 2, 2, 1])),
                 *NOT_SQUARE],
    "inv": [*SQUARES, call(Data("f", 2, 2, values=[1.0, 2, 2, 4])), *NOT_SQUARE],
    "det": [*SQUARES, call(Data("f", 2, 2, values=[1.0, 2, 2, 4])), *NOT_SQUARE],
    "slogdet": [*SQUARES, call(Data("f", 2, 2, values=[1.0, 2, 2, 4])), *NOT_SQUARE],
    "qr": [*ANY, *[call(*args, mode=mode) for mode in ("complete", "r", "none") for args, _ in ANY[:4]], *BAD],
    "svd": [*ANY, *[call(*args, full_matrices=False) for args, _ in ANY], *BAD],
    "svdvals": [*ANY, *BAD],
    "eigh": [*SYMMETRIC, *NOT_SQUARE, call(symmetric(3, 3), "X")],
    "eigvalsh": [*SYMMETRIC, *NOT_SQUARE],
    "solve": [
        call(regular(3, 3), f(3, 2)), call(regular(3, 3), f(3)), call(regular(2, 3, 3), f(2, 3)),
        call(regular(2, 1, 3, 3), f(4, 3, 2)), call(regular(3, 3), f(2, 3), left=False), call(regular(0, 0), f(0, 2)),
        call(regular(3, 3), f(3, 0)), call(Data("f", 2, 2, values=[1.0, 2, 2, 4]), f(2)), call(regular(3, 3), f(4, 2)),
        call(f(2, 3), f(2)), call(regular(3, 3), f()), call(regular(3, 3), f(3), left=False), *[call(*a, f(3)) for a, _ in BAD],
    ],
    "solve_triangular": [
        call(regular(3, 3), f(3, 2), upper=True), call(regular(2, 3, 3), f(3, 2), upper=False),
        call(regular(3, 3), f(2, 3), upper=True, left=False), call(regular(3, 3), f(2, 3), upper=False, left=False),
        call(regular(3, 3), f(3, 1), upper=False, unitriangular=True), call(regular(3, 3), f(3, 1), upper=True, unitriangular=True),
        call(regular(3, 3), f(4, 2), upper=True),
        call(regular(3, 3), Data("f", 3, 2, dtype="float64"), upper=True), call(regular(3, 3), Data("i", 3, 2, dtype="int8"), upper=False),
    ],
    "lstsq": [call(tall(5, 3), f(5, 2)), call(tall(2, 5, 3), f(2, 5)), call(tall(3, 5), f(3, 2)), call(regular(3, 3), f(3, 1)),
              *[call(tall(2, 5, 3), f(2, 5, 2), driver=name) for name in ("gels", "gelsy", "gelsd", "gelss", "other")],
              call(tall(5, 3), f(5), driver="gelsd"), call(f(5, 3), f(4, 2)), call(f(5), f(5)),
              call(DEPENDENT, f(4, 3), driver="gelsd"), call(tall(1, 5, 3), f(2, 5, 2), driver="gelss"), call(tall(2, 5, 3), f(1, 5, 2))],
    "pinv": [*[call(*a) for a in ([f(3, 3)], [f(5, 3)], [f(2, 3, 4)], [f(0, 3)], [f(3, 0)])], call(f(4, 3), rtol=0.1), call(f(4, 3), atol=0.5),
             call(f(4, 3), 0.2), call(symmetric(3, 3), hermitian=True), *BAD],
    "matrix_rank": [*RANKS, call(f(4, 3), atol=0.9), call(f(4, 3), tol=0.9), call(f(4, 3), rtol=0.5), call(symmetric(3, 3), hermitian=True), call(f(0, 3)),
                    *BAD, call(f(2, 0, 3), hermitian=True)],
    "cond": [call(regular(3, 3)), call(f(4, 3)), *[call(regular(3, 3), p) for p in ORDERS], call(regular(2, 3, 3), 1), *BAD,
             *[call(f(2, 3, 0), p) for p in (None, -2, -1)], call(f(3, 0), "fro")],
    "matrix_norm": [*[call(a, order) for a in NORMED for order in ORDERS], call(f(2, 3, 4), 1, (0, 2)), call(f(2, 3, 4), "nuc", (2, 0), True),
                    call(f(2, 3), dtype=None), call(f(2, 3), 3), call(f(2, 3), "x"), call(f(3)), call(f(2, 3), 1, (0, 0)), BAD[1],
                    *[call(f(3, 0), order) for order in ORDERS]],
    "vector_norm": [*[call(f(3, 4), order) for order in VECTOR_ORDERS], call(f(3, 4), 1, 1), call(f(2, 3, 4), 2, (0, 2), True),
                    call(f(3, 4), 3, (), True), call(f()), BAD[1]],
    "norm": [call(f(3, 4)), call(f(2, 3, 4)), call(f(3, 4), "fro"), call(f(3, 4), 2), call(f(5), 3), call(f(2, 3, 4), 1, (1, 2)), call(f(2, 3, 4), 1, 1),
             call(f(2, 3, 4), 2), call(f(3, 4), dim=0), BAD[1]],
    "multi_dot": [call([f(2, 3), f(3, 4)]), call([f(3), f(3, 4), f(4, 2), f(2)]), call([f(10, 2), f(2, 30), f(30, 3), f(3, 5)]), call([f(2, 3)]),
                  call([f(3), f(3)]), call([f(2, 3), f(3, 2, 2), f(2, 2)])],
    "cross": [call(f(2, 3), f(2, 3)), call(f(3, 2), f(3, 2), dim=0), call(f(2), f(2))],
    "vecdot": [call(f(2, 3), f(3)), call(f(3, 2), f(3, 2), dim=0)],
    "diagonal": [call(f(2, 3, 4)), call(f(3, 3), offset=1)],
    "matmul": [call(f(2, 3), f(3, 4)), call(f(2, 3), f(2))],
    "matrix_power": [call(regular(3, 3), n) for n in (0, 1, 2, 5, -1, -3)] + [call(f(2, 3), 2)],
    "vander": [call(f(3)), call(f(2, 3), N=5), call(f(), N=3)],
    "tensorinv": [call(regular(6, 6)), call(regular(24, 24, view=(4, 6, 8, 3))), call(f(3, 4, 5))],
    "tensorsolve": [call(regular(6, 6, view=(2, 3, 6)), f(2, 3)), call(regular(6, 6, view=(2, 3, 6)), f(3))],
    "cholesky_ex": [call(spd(3, 3)), call(spd(2, 4, 4), upper=True), call(spd(0, 0)), call(spd(3, 3), check_errors=True),
                    call(Data("f", 2, 2, values=[1.0, 2, 2, 1]), check_errors=True), *NOT_SQUARE],
    "inv_ex": [*SQUARES, call(regular(3, 3), check_errors=True), call(SINGULAR, check_errors=True), *NOT_SQUARE],
    "solve_ex": [call(regular(3, 3), f(3, 2)), call(regular(3, 3), f(3)), call(regular(2, 3, 3), f(2, 3, 1)), call(regular(3, 3), f(2, 3), left=False),
                 call(SINGULAR, f(2, 1), check_errors=True), call(regular(3, 3), f(4, 2))],
    "lu": [*SQUARES, *RECTANGLES, call(WITHOUT_PIVOT), call(regular(3, 3), pivot=True), *BAD],
    "lu_factor": [*SQUARES, *RECTANGLES[:3], call(WITHOUT_PIVOT), call(SINGULAR), *BAD],
    "lu_factor_ex": [*SQUARES, *RECTANGLES, call(SINGULAR), call(SINGULAR, check_errors=True), *BAD],
    "lu_solve": [call(regular(3, 3), PIVOTS, f(3, 2)), call(regular(3, 3), PIVOTS, f(2, 3), left=False), call(regular(3, 3), PIVOTS, f(3, 2), adjoint=True),
                 call(regular(3, 3), PIVOTS, f(4, 2))],
    "eig": [*SPECTRA, *NOT_SQUARE],
    "eigvals": [*SPECTRA, *NOT_SQUARE],
    "householder_product": [call(tall(5, 3), f(3)), call(tall(2, 4, 3), f(2, 2)), call(tall(3, 3), f(0)), call(tall(3, 5), f(3)), call(f(3), f(3))],
}  # fmt: skip
