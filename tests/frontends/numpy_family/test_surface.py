"""Functions that stand in for NumPy's, with the arguments that they take and those that they leave to NumPy."""

import numpy as np
import pytest
from compared import is_captured, mismatch
from test_functions import ARRAYS

from minidynamo._families.numpy_stand_ins import TABLE

PROGRAMS = {
    "append": [lambda x: np.append(x, x), lambda x: np.append(x, x, axis=0), lambda x: np.append(x, 3)],
    "column_stack": [lambda x: np.column_stack([x, x]), lambda x: np.column_stack((x, x * 2, x))],
    "dstack": [lambda x: np.dstack([x, x]), lambda x: np.dstack([x, x[:1]])],
    "stack": [lambda x: np.stack([x, x], axis=1), lambda x: np.stack([x, x], axis=9), lambda x: np.stack([x, x[:1]])],
    "concatenate": [lambda x: np.concatenate([x, x], axis=9), lambda x: np.concatenate([x, x[..., :1]])],
    "split": [
        lambda x: np.split(x, 2),
        lambda x: np.split(x, [1, 2]),
        lambda x: np.split(x, 1, axis=-1),
        lambda x: np.split(x, 5),
        lambda x: np.vsplit(x, 2),
        lambda x: np.hsplit(x, 2),
        lambda x: np.split(x, [1, 99], axis=0),
        lambda x: np.split(x, 2)[0] + 1,
    ],
    "diff": [
        lambda x: np.diff(x),
        lambda x: np.diff(x, axis=0),
        lambda x: np.diff(x, n=2),
        lambda x: np.diff(x, n=0),
        lambda x: np.diff(x, prepend=0),
        lambda x: np.diff(x, axis=7),
    ],
    "gradient": [
        lambda x: np.gradient(x),
        lambda x: np.gradient(x, 0.5),
        lambda x: np.gradient(x, axis=0),
        lambda x: np.gradient(x, 2, axis=-1),
        lambda x: np.gradient(x, 1, 2),
        lambda x: np.gradient(x, edge_order=2),
        lambda x: np.gradient(x[:1]),
    ],
    "sort": [
        lambda x: np.sort(x),
        lambda x: np.sort(x, axis=0),
        lambda x: np.sort(x, axis=None),
        lambda x: np.sort(x, kind="stable"),
        lambda x: x.sort(),
        lambda x: x.sort(axis=0),
        lambda x: (x.sort(), x)[1],
        lambda x: np.argsort(x, kind="stable"),
        lambda x: x.argsort(stable=True),
        lambda x: np.argsort(x, axis=0, kind="stable"),
        lambda x: np.sort(x, axis=8),
    ],
    "facts": [
        lambda x: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0)),
        lambda x: np.size(x, 7),
        lambda x: np.shape(x)[0] + 1,
    ],
    "lists": [
        lambda x: np.array([1, 2, 3]) + x.shape[0],
        lambda x: np.array([1.5, 2]),
        lambda x: np.array([[1, 2], [3.0, 4]]),
        lambda x: np.array([True, False]),
        lambda x: np.array([True, 2]),
        lambda x: np.array([1, 2], dtype=np.float32),
        lambda x: np.array([1, 2.5], dtype=int),
        lambda x: np.array([1, 300], dtype="i1"),
        lambda x: np.asarray([x.shape[0], 2.5]),
        lambda x: np.array([]),
        lambda x: np.array([[1], [2, 3]]),
        lambda x: np.array([2**70]),
        lambda x: np.array([x[0], x[0]]),
        lambda x: np.array([1, "a"]),
        lambda x: np.array((1, (2)), ndmin=2),
        lambda x: np.array(3.5),
    ],
    "asarray": [
        lambda x: np.asarray(x) is x,
        lambda x: np.asarray(x),
        lambda x: np.asarray(x, dtype=np.float64),
        lambda x: np.asarray(x, dtype="f4"),
        lambda x: np.array(x),
        lambda x: np.array(x, copy=False),
        lambda x: np.array(x, dtype=float),
        lambda x: np.asanyarray(x) + 1,
        lambda x: np.ascontiguousarray(x),
        lambda x: np.ascontiguousarray(x.T),
        lambda x: np.atleast_1d(x),
        lambda x: np.atleast_2d(x),
        lambda x: np.atleast_3d(x),
        lambda x: np.atleast_1d(x, x),
        lambda x: x.conj() is x,
        lambda x: np.real(x),
    ],
    "copyto": [
        lambda x: np.copyto(x, x[:1] + 1),
        lambda x: (np.copyto(x, x[0]), x)[1],
        lambda x: np.copyto(x, 3),
        lambda x: np.copyto(x[1:], x[:-1]),
        lambda x: np.copyto(x, x.astype("f4")),
    ],
    "ufunc.reduce": [
        lambda x: np.add.reduce(x),
        lambda x: np.add.reduce(x, axis=None),
        lambda x: np.add.reduce(x, axis=-1, keepdims=True),
        lambda x: np.multiply.reduce(x),
        lambda x: np.maximum.reduce(x, axis=0),
        lambda x: np.minimum.reduce(x, axis=None),
        lambda x: np.logical_and.reduce(x),
        lambda x: np.logical_or.reduce(x, axis=-1),
        lambda x: np.subtract.reduce(x),
        lambda x: np.add.reduce(x, initial=3),
        lambda x: np.add.accumulate(x),
        lambda x: np.add.accumulate(x, axis=-1),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.maximum.accumulate(x),
    ],
    "ufunc.outer": [
        lambda x: np.add.outer(x, x),
        lambda x: np.subtract.outer(x, x[0]),
        lambda x: np.multiply.outer(x, x),
        lambda x: np.divide.outer(x, x),
        lambda x: np.maximum.outer(x, x),
        lambda x: np.hypot.outer(x, x),
        lambda x: np.add.outer(x, 2),
        lambda x: np.add.outer(x.astype("i4"), x.astype("u1")[::2]),
        lambda x: np.minimum.outer(x.T, x[0].astype("f4")),
        lambda x: np.less.outer(x, x[..., 0]),
        lambda x: np.add.at(x, 0, 1),
        lambda x: np.add.reduceat(x, [0, 1]),
    ],
    "round": [
        lambda x: np.round(x),
        lambda x: np.round(x, 2),
        lambda x: x.round(1),
        lambda x: np.around(x, -1),
        lambda x: np.rint(x),
    ],
    "elements": [
        lambda x: np.nan_to_num(x),
        lambda x: np.nan_to_num(x, nan=1, posinf=7.5),
        lambda x: np.nan_to_num(x, copy=False),
        lambda x: np.radians(x),
        lambda x: np.rad2deg(x),
        lambda x: np.fabs(x),
        lambda x: np.positive(x),
        lambda x: +x,
        lambda x: np.conj(x),
        lambda x: np.deg2rad(x) + np.degrees(x),
    ],
    "triangles": [lambda x: np.tril(x), lambda x: np.triu(x, 1), lambda x: np.tril(x, -1) + 1],
    "linspace": [
        lambda x: np.linspace(0, 1, x.size + 2),
        lambda x: np.linspace(-1.5, 2, 7, endpoint=False),
        lambda x: np.linspace(0, 1, 5, retstep=True),
        lambda x: np.linspace(x, x + 1, 3),
        lambda x: np.linspace(3, 3, 4),
        lambda x: np.linspace(0, 1, 1),
        lambda x: np.linspace(0, 1, -1),
        lambda x: np.linspace(5, 0),
    ],
    "meshgrid": [
        lambda x: np.meshgrid(x[0], x[0]),
        lambda x: np.meshgrid(x, x[:2], indexing="ij"),
        lambda x: np.meshgrid(x),
        lambda x: np.meshgrid(x, x, sparse=True),
        lambda x: np.meshgrid(x, x[:2], x[:3]),
        lambda x: np.meshgrid(x, x, indexing="ab"),
    ],
    "diag": [lambda x: np.diag(x), lambda x: np.diag(x, 1), lambda x: np.diag(x, k=-2), lambda x: np.trace(x)],
    "trace": [lambda x: x.trace(), lambda x: x.trace(1), lambda x: np.trace(x, -1), lambda x: np.trace(x, 0, 1, 0)],
    "reductions": [
        lambda x: np.ptp(x),
        lambda x: np.ptp(x, axis=0),
        lambda x: np.average(x),
        lambda x: np.average(x, axis=0),
        lambda x: np.average(x, weights=x),
        lambda x: np.nansum(x),
        lambda x: np.nansum(x, axis=-1),
    ],
    "tensordot": [
        lambda x: np.tensordot(x, x, axes=0),
        lambda x: np.tensordot(x, x, axes=1),
        lambda x: np.tensordot(x, x, axes=x.ndim),
        lambda x: np.tensordot(x, x, axes=([0], [0])),
        lambda x: np.tensordot(x, x, (0, 0)),
        lambda x: np.tensordot(x, x, 5),
    ],
    "einsum": [
        lambda x: np.einsum("ij,kj->ik", x, x),
        lambda x: np.einsum("ij,jk->ik", x, x.T.copy()),
        lambda x: np.einsum("ij->i", x),
        lambda x: np.einsum("ij->", x),
        lambda x: np.einsum("i,i->", x, x),
        lambda x: np.einsum("i,j->ij", x, x),
        lambda x: np.einsum("ijk,ijk->i", x, x),
        lambda x: np.einsum("ij->ji", x),
        lambda x: np.einsum("ij->ij", x),
        lambda x: np.einsum("ij,ij->ji", x, x),
        lambda x: np.einsum("ii->i", x),
        lambda x: np.einsum("i...->...", x),
        lambda x: np.einsum("ij,ij", x, x),
        lambda x: np.einsum("ijk,kl->ijl", x, x[0].T.copy()),
    ],
    "norm": [
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, 2),
        lambda x: np.linalg.norm(x, axis=-1),
        lambda x: np.linalg.norm(x, 1, axis=0),
        lambda x: np.linalg.norm(x, np.inf),
        lambda x: np.linalg.norm(x, axis=0, keepdims=True),
    ],
    "select": [
        lambda x: np.select([x > 1, x > 0], [x, x * 2]),
        lambda x: np.select([x > 1, x > 0], [x, -x], default=7),
        lambda x: np.select([x > 1], [x], 0.5),
        lambda x: np.select([x > 1, x < 0], [1, 2]),
        lambda x: np.select([x], [x]),
    ],
    "take": [
        lambda x: np.take(x, np.array([0, 1])),
        lambda x: x.take(np.array([[0, -1], [1, 0]])),
        lambda x: np.take(x, np.array([0, 1]), axis=0),
        lambda x: np.take(x, [0, 1], axis=-1),
        lambda x: np.take(x, np.array([99])),
        lambda x: np.take(x, 0),
    ],
    "full_like": [
        lambda x: np.full_like(x, 2),
        lambda x: np.full_like(x, 2.5),
        lambda x: np.full_like(x, 1, dtype="f4"),
    ],
}
CASES = [(f"{name}-{i}", program) for name, programs in PROGRAMS.items() for i, program in enumerate(programs)]


@pytest.mark.parametrize(("name", "program"), CASES, ids=[name for name, _ in CASES])
def test_surface(name, program):
    found = {kind: mismatch(program, (array,)) for kind, array in ARRAYS.items()}
    assert {kind: text for kind, text in found.items() if text} == {}


def test_what_is_one_graph():
    """Of each name at least one form is captured, for one of the arrays."""
    arrays = [np.array(ARRAYS[kind]) for kind in ("vector", "matrix", "cube")]
    left = [
        name
        for name, programs in PROGRAMS.items()
        if not any(is_captured(program, (array.copy(),)) for program in programs for array in arrays)
    ]
    assert left == []


def test_every_stand_in_is_of_this_numpy():
    missing = []
    for stand_in in TABLE:
        for place in stand_in.places:
            value = np
            for part in place.split("."):
                value = getattr(value, part, None)
            if value is None:
                missing.append(place)
    assert missing == []
