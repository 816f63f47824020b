"""Order statistics, searches, sizes that depend on data, padding, grids, writes to places, comparisons of whole arrays."""

import numpy as np
import pytest
from compared import difference, is_captured, mismatch, outcome
from test_functions import ARRAYS

import minidynamo

BINS = np.array([0.0, 0.5, 1.0, 2.0])


def after(change):
    def program(x):
        return change(x), x

    return program


PROGRAMS = {
    "median": [
        lambda x: np.median(x),
        lambda x: np.median(x, axis=0),
        lambda x: np.median(x, axis=-1, keepdims=True),
        lambda x: np.median(x, keepdims=True),
        lambda x: np.median(x, axis=(0, 1)),
        lambda x: np.median(x, axis=0, out=np.zeros(x.shape[1:])),
        lambda x: np.median(x[:1], overwrite_input=True),
        lambda x: np.median(x, 7),
    ],
    "quantile": [
        lambda x: np.percentile(x, 30),
        lambda x: np.percentile(x, [0, 25.5, 100]),
        lambda x: np.percentile(x, 75, axis=0),
        lambda x: np.quantile(x, 0.1, axis=-1),
        lambda x: np.quantile(x, (0.25, 0.75), axis=0),
        lambda x: np.quantile(x, 1.5),
        lambda x: np.percentile(x, 50, method="nearest"),
        lambda x: np.quantile(x, np.array([0.5])),
        lambda x: np.quantile(x, 1),
        lambda x: np.percentile(x, 99.9),
    ],
    "nan": [
        lambda x: np.nanmean(x),
        lambda x: np.nanmean(x, axis=0),
        lambda x: np.nanmean(x, axis=-1, keepdims=True),
        lambda x: np.nanmean(x * np.nan),
        lambda x: np.nanmax(x),
        lambda x: np.nanmin(x, axis=0),
        lambda x: np.nanmax(x, axis=-1),
        lambda x: np.nanmax(x * np.nan, axis=0),
        lambda x: np.nanstd(x),
        lambda x: np.nanvar(x, axis=0),
        lambda x: np.nanstd(x, axis=-1, ddof=1),
        lambda x: np.nanvar(x, ddof=99),
        lambda x: np.nanmedian(x),
        lambda x: np.nanargmax(x),
        lambda x: np.nanargmin(x, axis=0),
        lambda x: np.nanargmax(x * np.nan, axis=-1),
    ],
    "covariance": [
        lambda x: np.cov(x),
        lambda x: np.cov(x, rowvar=False),
        lambda x: np.cov(x, bias=True),
        lambda x: np.cov(x, ddof=0),
        lambda x: np.cov(x, ddof=99),
        lambda x: np.cov(x, x),
        lambda x: np.corrcoef(x),
        lambda x: np.corrcoef(x, rowvar=False),
    ],
    "histogram": [
        lambda x: np.histogram(x),
        lambda x: np.histogram(x, 5),
        lambda x: np.histogram(x, bins=4, range=(0, 2)),
        lambda x: np.histogram(x, bins=4, range=(2, 0)),
        lambda x: np.histogram(x, 6, weights=x),
        lambda x: np.histogram(x, [0, 1, 2]),
        lambda x: np.histogram(x, 3, density=True),
        lambda x: np.histogram(x * 0, 3),
        lambda x: np.histogram(x, 0),
        lambda x: np.histogram(x, "auto"),
    ],
    "searchsorted": [
        lambda x: np.searchsorted(BINS, x),
        lambda x: np.searchsorted(BINS, x, side="right"),
        lambda x: np.searchsorted(np.sort(x), 1),
        lambda x: np.searchsorted(np.sort(x), 1.5),
        lambda x: np.sort(x).searchsorted(BINS),
        lambda x: np.searchsorted(x, BINS, sorter=np.argsort(x)),
        lambda x: np.searchsorted(BINS, x, side="middle"),
        lambda x: np.digitize(x, BINS),
        lambda x: np.digitize(x, BINS, right=True),
        lambda x: np.digitize(x, [2, 1, 0]),
        lambda x: np.digitize(x, np.array([0, 1, 0])),
        lambda x: np.digitize(1.5, x),
    ],
    "interp": [
        lambda x: np.interp(x, BINS, BINS * 2 + 1),
        lambda x: np.interp(x, BINS, BINS * 2, left=-1, right=9.5),
        lambda x: np.interp(x, np.array([0.0, 1.0, 1.0, 2.0]), BINS),
        lambda x: np.interp(x, np.array([0.0, 1.0, np.inf]), np.array([0.0, np.inf, 1.0])),
        lambda x: np.interp(x, np.array([1.0, 0.0]), np.array([3.0, 4.0])),
        lambda x: np.interp(x, BINS, x),
        lambda x: np.interp(x, BINS, BINS, period=2),
        lambda x: np.interp(0.7, BINS, BINS),
    ],
    "nonzero": [
        lambda x: np.nonzero(x),
        lambda x: x.nonzero(),
        lambda x: np.flatnonzero(x > 1),
        lambda x: np.argwhere(x > 1),
        lambda x: np.where(x > 1),
        lambda x: np.where(x > 99),
        lambda x: np.count_nonzero(x),
        lambda x: np.count_nonzero(x > 1, axis=0),
        lambda x: np.count_nonzero(x, axis=-1, keepdims=True),
        lambda x: np.extract(x > 1, x),
        lambda x: np.compress([True, False], x, axis=0),
        lambda x: np.compress(x[0] > 1, x, axis=1),
        lambda x: np.compress([False] * 99, x),
        lambda x: np.where(x > 1, x),
    ],
    "bincount": [
        lambda x: np.bincount(x),
        lambda x: np.bincount(abs(x.astype(int)).ravel()),
        lambda x: np.bincount(abs(x.astype(int)).ravel(), minlength=9),
        lambda x: np.bincount(abs(x.astype(int)).ravel(), weights=x.ravel()),
        lambda x: np.bincount(x.astype(int).ravel() - 3),
    ],
    "sets": [
        lambda x: np.unique(x),
        lambda x: np.unique(x, return_index=True),
        lambda x: np.unique(x, return_inverse=True),
        lambda x: np.unique(x, return_counts=True),
        lambda x: np.unique(x > 1, return_index=True, return_inverse=True, return_counts=True),
        lambda x: np.unique(x, axis=0),
        lambda x: np.isin(x, [1, 2]),
        lambda x: np.isin(x, [1, 2], invert=True),
        lambda x: np.isin(x, BINS),
        lambda x: np.isin(x, np.arange(20)),
        lambda x: np.isin(x, x),
        lambda x: np.isin(x, []),
    ],
    "convolve": [
        lambda x: np.convolve(x, np.array([1.0, 2.0, 0.5])),
        lambda x: np.convolve(x, np.array([1.0, 2.0, 0.5, 3]), "same"),
        lambda x: np.convolve(x, x[:3], mode="valid"),
        lambda x: np.convolve(x[:2], x),
        lambda x: np.convolve(x, np.array([1.0, np.inf])),
        lambda x: np.convolve(x, np.array([2])),
        lambda x: np.convolve(x, [1, 2]),
        lambda x: np.convolve(x, x[:0]),
        lambda x: np.correlate(x, x[:3]),
        lambda x: np.correlate(x, x[:4], "full"),
        lambda x: np.correlate(x, x[:4], "same"),
        lambda x: np.correlate(x[:2], x),
    ],
    "products": [
        lambda x: np.cross(x[..., :3], x[..., :3] * 2),
        lambda x: np.cross(x[..., :3], x[..., :3][0]),
        lambda x: np.cross(x[..., :2], x[..., :2]),
        lambda x: np.kron(x, x),
        lambda x: np.kron(x, np.eye(2)),
        lambda x: np.trapezoid(x),
        lambda x: np.trapezoid(x, dx=0.5),
        lambda x: np.trapezoid(x, x * x),
        lambda x: np.einsum("ij,ij", x, x),
        lambda x: np.einsum("i,i", x, x),
        lambda x: np.einsum("ji", x),
    ],
    "pad": [
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, 0),
        lambda x: np.pad(x, (1, 2)),
        lambda x: np.pad(x, ((1, 0),) * x.ndim),
        lambda x: np.pad(x, 1, constant_values=3),
        lambda x: np.pad(x, 1, constant_values=2.5),
        lambda x: np.pad(x, 2, "edge"),
        lambda x: np.pad(x, (0, 1), mode="edge"),
        lambda x: np.pad(x, 1, mode="reflect"),
        lambda x: np.pad(x, 1, mode="symmetric"),
        lambda x: np.pad(x, (1, 0), mode="wrap"),
        lambda x: np.pad(x, 9, mode="reflect"),
        lambda x: np.pad(x, -1),
        lambda x: np.pad(x, 1, mode="mean"),
        lambda x: np.pad(x, ((1, 1), (2, 2), (3, 3), (4, 4))),
    ],
    "delete": [
        lambda x: np.delete(x, 1),
        lambda x: np.delete(x, 0, axis=0),
        lambda x: np.delete(x, [0, -1], axis=-1),
        lambda x: np.delete(x, 99),
        lambda x: np.delete(x, slice(1)),
        lambda x: np.insert(x, 1, 7),
        lambda x: np.insert(x, -1, 2.5),
        lambda x: np.insert(x, 0, 3, axis=0),
        lambda x: np.insert(x, 99, 3),
        lambda x: np.insert(x, [0, 1], 3),
    ],
    "places": [
        after(lambda x: np.put(x, [0, 1], 3)),
        after(lambda x: np.put(x, np.array([0, -1]), 2.5)),
        after(lambda x: x.put([1, 0], [5, 6])),
        after(lambda x: np.put(x, [99], 3)),
        after(lambda x: np.put(x, [0, 1, 2], [1, 2])),
        after(lambda x: np.putmask(x, x > 1, 0)),
        after(lambda x: np.putmask(x, x > 1, x * 2)),
        after(lambda x: np.putmask(x, x > 1, 0.5)),
        after(lambda x: np.place(x, x > 1, [7])),
        after(lambda x: np.place(x, x > 1, [7, 8])),
        after(lambda x: np.fill_diagonal(x, 9)),
        after(lambda x: np.fill_diagonal(x, 0.5)),
        after(lambda x: np.fill_diagonal(x, x[0, 0])),
        after(lambda x: np.copyto(x, 3)),
        after(lambda x: np.copyto(x, 2.5)),
        after(lambda x: np.copyto(x, 0, where=x > 1)),
        after(lambda x: np.copyto(x, -x, where=x > 1)),
        after(lambda x: np.copyto(x, x.astype("f8"), casting="unsafe")),
        after(lambda x: np.copyto(x, x.astype("f8"), casting="no")),
        lambda x: np.choose(x.astype(int) * 0 + 1, [x, x * 2]),
        lambda x: np.choose(x.astype(int), [x, x * 2]),
        lambda x: np.choose(x > 1, (x, -x)),
    ],
    "grids": [
        lambda x: np.indices(x.shape),
        lambda x: np.indices((2, 3), sparse=True),
        lambda x: np.indices((2, 3), dtype=float),
        lambda x: np.ix_(np.array([0, 1]), np.array([1, 0])),
        lambda x: x[np.ix_(np.array([0, 1]), np.array([1, 0]))],
        lambda x: np.ix_([0, 1], [True, False]),
        lambda x: np.tri(3),
        lambda x: np.tri(3, 4, -1, dtype=int),
        lambda x: np.tri(2, k=1, dtype=bool),
        lambda x: np.tril_indices(4),
        lambda x: np.tril_indices(3, 1, 5),
        lambda x: np.tril_indices(3, -1),
        lambda x: np.triu_indices(4, 1),
        lambda x: np.triu_indices(3, -1, 5),
        lambda x: np.triu_indices(3, 9),
        lambda x: x[np.triu_indices(2)],
        lambda x: np.unravel_index(np.array([3, 0, 5]), (2, 3)),
        lambda x: np.unravel_index(np.array([3, 9]), (2, 3)),
        lambda x: np.unravel_index(np.array([[3, 1]]), (2, 3)),
        lambda x: np.unravel_index(x.argmax(), x.shape),
        lambda x: np.unravel_index(2, (2, 3)),
        lambda x: np.mgrid[0:3, 1:5:2],
        lambda x: np.mgrid[0:1:3j, 0:2],
        lambda x: np.mgrid[0:2.5, 0:2],
        lambda x: np.mgrid[0:5],
        lambda x: np.mgrid[: x.shape[0], 0:2] * 2,
        lambda x: np.ogrid[0:3, 1:5:2],
        lambda x: np.ogrid[0:1:3j, 0:2],
        lambda x: np.r_[x, x],
        lambda x: np.r_[x, 1, 2],
        lambda x: np.c_[x, x],
        lambda x: np.c_[x[0], x[0]],
        lambda x: np.fromfunction(lambda i, j: i + j, (2, 3)),
    ],
    "close": [
        lambda x: np.isclose(x, x + 1e-9),
        lambda x: np.isclose(x, 1),
        lambda x: np.isclose(1.5, x),
        lambda x: np.isclose(x, x, equal_nan=True),
        lambda x: np.isclose(x, x[0], atol=0.5),
        lambda x: np.isclose(x, x, rtol=np.inf),
        lambda x: np.isclose(x, [1]),
        lambda x: np.allclose(x, x),
        lambda x: np.allclose(x, x + 1),
        lambda x: np.array_equal(x, x),
        lambda x: np.array_equal(x, x[:1]),
        lambda x: np.array_equal(x, x + 1),
        lambda x: np.array_equal(x, [1]),
    ],
    "conversions": [
        lambda x: np.float64(2) * x,
        lambda x: np.float32(2.5) * x,
        lambda x: np.int64(3) + x,
        lambda x: np.int32(3),
        lambda x: np.float32(1e300),
        lambda x: np.int32(2**40),
        lambda x: np.float64("3"),
        lambda x: np.float32(x),
        lambda x: np.float64(x.sum()),
        lambda x: np.issubdtype(x.dtype, np.floating),
        lambda x: np.zeros(2, np.dtype("f4")),
        lambda x: np.can_cast(x.dtype, np.float32),
        lambda x: np.promote_types(x.dtype, "f4"),
        lambda x: np.isfortran(x),
        lambda x: x.astype(float, copy=False),
        lambda x: x.astype(x.dtype, copy=False) is x,
        lambda x: x.astype(int, casting="same_kind"),
        lambda x: x.astype("f4", casting="safe"),
        lambda x: x[:1].item(),
        lambda x: x.item(0),
        lambda x: x.tolist(),
    ],
    "lists": [
        lambda x: np.array([x[0], x[1]]),
        lambda x: np.array([[x[0], x[1]], [x[1], x[0]]]),
        lambda x: np.array([x[0], 2.5]),
        lambda x: np.array([x, x * 2]),
        lambda x: np.array([x, x.astype("f4")]),
        lambda x: np.array([x.sum(), 1]),
        lambda x: np.array([x.sum(), x.max()], dtype=np.float32),
        lambda x: np.array([x, x[:1]]),
        lambda x: np.asarray([x[0], x[1]]),
        lambda x: np.array([x[0], "a"]),
    ],
    # Captured once NumPy has made the object.
    "limits": [
        lambda x: x + np.finfo(x.dtype).eps,
        lambda x: x * np.finfo(np.float32).eps,
        lambda x: x + np.iinfo(np.int8).max,
    ],
    "followed": [
        lambda x: np.sinc(x),
        lambda x: np.sinc(x * 0),
        lambda x: np.piecewise(x, [x < 1], [0, 1]),
        lambda x: np.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * 2]),
        lambda x: np.piecewise(x, [x < 1], [0, 1, 2, 3]),
        lambda x: np.union1d(x, x + 1),
        lambda x: np.isposinf(x),
        lambda x: np.isneginf(x),
    ],
    "order": [
        lambda x: np.where(x.T > 1, x.T, 0),
        lambda x: np.where(x > 1, x, x[:1]),
        lambda x: np.where(x.T > 1, x.T, x),
        lambda x: np.take(x, 0, axis=0),
        lambda x: np.take(x, 1, axis=-1),
        lambda x: np.take(x, [0, 1]),
        lambda x: np.take(x, [0, 99]),
        lambda x: np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), axis=-1),
        lambda x: np.take_along_axis(x, np.argmax(x, axis=0, keepdims=True) - x.shape[0], axis=0),
        lambda x: np.take_along_axis(x, np.array([[0]]), axis=1),
        lambda x: np.average(x, weights=x * 0 + 2.0),
        lambda x: np.average(x, axis=0, weights=x + 0.5),
        lambda x: np.average(x, weights=x * 0.0),
        lambda x: np.average(x, axis=-1, weights=x[0]),
        lambda x: np.zeros((2, 3), order="F"),
        lambda x: np.ones((2, 3), np.float32, "F"),
        lambda x: np.full((2, 3, 4), 2.5, order="F"),
        lambda x: np.roll(x, (1, 2), (0, 1)),
        lambda x: np.roll(x, 1, axis=(0, 1)),
        lambda x: np.arange(0, 1, 0.1),
        lambda x: np.arange(1.5),
        lambda x: np.arange(3, 0.5, -0.25),
        lambda x: np.arange(0, 3, dtype=float),
        lambda x: np.arange(1.0, 0.0),
        lambda x: np.logspace(0, 2, 5),
        lambda x: np.fix(x),
        lambda x: np.polyval([1.0, 2.0, 3.0], x),
        lambda x: np.resize(x, (3, 5)),
    ],
}
CASES = [(f"{name}-{i}", program) for name, programs in PROGRAMS.items() for i, program in enumerate(programs)]


@pytest.mark.parametrize(("name", "program"), CASES, ids=[name for name, _ in CASES])
def test_functions(name, program):
    found = {kind: mismatch(program, (array,)) for kind, array in ARRAYS.items()}
    assert {kind: text for kind, text in found.items() if text} == {}


# By name, the numbers of the programs that are left to NumPy for each of these arrays.
LEFT = {
    "median": [6, 7],
    "quantile": [5],
    "covariance": [4, 5],
    "histogram": [3, 8],
    "searchsorted": [6],
    "interp": [5],
    "nonzero": [12, 13],
    "bincount": [0],
    "sets": [5, 11],
    "convolve": [7],
    "products": [2, 10],
    "pad": [11, 12, 13, 14],
    "delete": [3, 4, 8, 9],
    "places": [4, 9, 18, 21],
    "grids": [5, 14, 20, 24, 29],
    "close": [5, 6, 12],
    "conversions": [4, 5, 6, 7, 16, 17, 19],
    "lists": [7, 9],
    "order": [9, 13, 23],
}
# fix() warns that it is deprecated.
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    LEFT["order"].append(25)


def test_what_is_one_graph():
    arrays = [np.array(ARRAYS[kind]) for kind in ("vector", "matrix", "cube")]
    left = {
        name: [i for i, program in enumerate(programs) if not any(is_captured(program, (x.copy(),)) for x in arrays)]
        for name, programs in PROGRAMS.items()
        if name != "limits"
    }
    assert {name: (numbers, LEFT.get(name)) for name, numbers in left.items() if numbers != LEFT.get(name, [])} == {}


def test_zeros_keep_their_sign_between_bounds():
    zeros = np.array([-0.0, 0.0, 1.5, -1.5])
    for low, high in ((0, 2), (-0.0, 2), (-1, 0), (-1, -0.0), (3, 1), (0.0, 0.0)):
        for code in ("f2", "f4", "f8"):
            assert mismatch(lambda x, low=low, high=high: np.clip(x, low, high), (zeros.astype(code),)) == ""


def test_arrays_of_several_sizes():
    """The second size makes sizes symbolic."""
    found = []
    for name, programs in PROGRAMS.items():
        for i, program in enumerate(programs):
            for sizes in ([(7,), (9,), (12,), (5,)], [(3, 4), (5, 6), (2, 3), (4, 4)]):
                compiled = minidynamo.compile(program)
                for size in sizes:
                    x = np.linspace(-1, 3, int(np.prod(size))).reshape(size)
                    for array in (x, (x * 3).astype(int)):
                        theirs, ours = outcome(program, [array.copy()]), outcome(compiled, [array.copy()])
                        text = difference(ours[0], theirs[0]) or ("" if ours[1] == theirs[1] else "other warnings")
                        found += [(name, i, size, text)] if text else []
    assert found == []
