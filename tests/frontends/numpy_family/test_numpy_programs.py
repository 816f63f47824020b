"""Random programs of NumPy: dtypes, layouts, views, also backwards, writes in place, masks, reductions, loops; compiled as plainly."""

import random

import numpy as np
import pytest
from compared import mismatch

DTYPES = ["f8", "f8", "f8", "f4", "i8", "i4", "i1", "u1", "?", "f2", "u2", "u4", "u8"]
SHAPES = [(3, 4), (3, 4), (3, 4), (4,), (3, 1), (1, 4), ()]

# {v}: any variable, {m}: one of two axes, {n}: a number, {i} and {j}: rows and columns, {k}: a key.
EXPRESSIONS = """
{v} + {v}
{v} - {v}
{v} * {v}
{v} / ({v} + 7)
{v} + {n}
{n} - {v}
{v} * {n}
{v} // {n}
{v} % {n}
{v} ** 2
-{v}
abs({v})
{v} > {v}
({v} > 0.5) & ({v} < 3)
~({v} > 1)
np.maximum({v}, {v})
np.minimum({v}, {n})
np.sqrt(abs({v}))
np.floor({v} / 2)
np.sign({v})
np.where({v} > 0.5, {v}, {n})
np.where({v} > 1, {n}, {v})
np.clip({v}, -2, 2)
{v}.sum()
{v}.sum(axis={a})
{v}.max(axis={a}, keepdims=True)
np.mean({v}, axis={a})
{v}.min()
np.any({v} > 2, axis={a})
{v}.argmax(axis={a})
np.cumsum({v}.astype(int), axis={a})
{v}.T
{v}.T.copy()
{v}.reshape(-1)
{v}.ravel()[:3]
{v}[{i}]
{m}[:, {j}]
{m}[{i}, {j}]
{m}[{i}, ...]
{m}[1:, ::2]
{m}[None, {i}]
{m}[[0, 2, 1]]
{m}[{m} > 1]
{m}[np.array([1, 0]), 1]
{v}.astype(np.float32)
{v}.astype("f8")
{v}.astype(int)
{v}.copy()
np.concatenate([{m}, {m}])
np.stack([{m}, {m}], axis=1)
np.zeros_like({m})
np.full((3, 4), {n})
np.arange(4) + {v}
np.dot({m}, {m}.T)
{m} @ {m}.T
np.outer({m}[0], {m}[1])
np.diff({m}, axis={a})
np.sort({m}, axis={a})
np.add.reduce({m})
np.tensordot({m}, {m}, axes=2)
np.broadcast_to({v}, (3, 4))
np.round({v} * 0.5)
{v}.real
len({m})
{m}.shape[0] * {v}
float({m}[{i}, {j}])
{m}.flat[{i}]
{v}.flat[1:]
{m}.flat[::-{n}] + {n}
{m}.T.flat[{j}]
{m}.flat[np.array([3, 0, {i}])]
len({v}.flat) * {v}
{m} * 2 if {m}.flags.c_contiguous else {m}
{v}.flags.writeable
{m}.flags["F_CONTIGUOUS"]
{v}.view("u1")
{m}.view("i2")[..., :2]
{v}.copy().view("i1") + 1
{m}.view({m}.dtype)[{i}]
{m}[::-1]
{v}[..., ::-1]
{v}[..., ::-1] + {v}
{m}[::-1] - {m}
{m}[2:0:-1, ::-2]
({v} + 1)[..., ::-1]
np.flip({v})
np.flip({v} * 2)
np.flip({m}, {a})
np.rot90({m}, {n})
{m}[::-1].reshape(-1)
{m}[:, ::-1].T
{m}[::-1][1:]
{m}[::-1].copy()
{m}[::-1][{m} > 1]
{m}[::-1] @ {m}.T
{m}[:, ::-1].sum(axis={a})
np.cumsum({m}[::-1].astype(int), axis={a})
np.concatenate([{m}[::-1], {m}])
np.nan_to_num({v} / 0.25)
np.add({v}, {v}, dtype=np.float64)
np.multiply({v}, {n}, dtype="f4", casting="unsafe")
np.sqrt(abs({m}), out=np.zeros({m}.shape), where={m} > 1)
np.divide({n}, {m}, out=np.zeros({m}.shape), where={m} != 0)
{m}.sum(axis={a}, where={m} > 0)
np.sum({v}, initial={n})
{v}.max(initial={n}, axis={a})
np.mean({m}, where={m} > 0)
{m}.std(axis={a}, where={m} < 9)
{m}.mean(axis=0, out=np.zeros(4))
np.maximum.accumulate({m}, axis=-1)
np.add.reduceat({m}, [0, 2, 1])
np.median({v}, axis={a})
np.percentile({m}, 30, axis={a})
np.quantile({m}, [0.25, 0.5])
np.nanmean({v}, axis={a})
np.nanmax({m})
np.nanstd({m}, axis={a})
np.cov({m})
np.histogram({m}, 5)
np.histogram({m}, bins=4, range=(-1, 3))
np.searchsorted(np.sort({m}[0]), {v})
np.digitize({v}, [0, 1, 2.5])
np.interp({v}, np.arange(4.0), np.arange(4.0) * 2)
np.nonzero({v} > 1)
np.flatnonzero({m})
np.argwhere({m} > 1)
np.where({m} > 1)
np.count_nonzero({m}, axis={a})
np.extract({m} > 1, {m})
np.bincount(abs({m}.astype(int)).ravel(), minlength=3)
np.unique({v})
np.unique({m}, return_inverse=True, return_counts=True)
np.isin({m}, [1, 2])
np.convolve({m}[0], {m}[1])
np.convolve({m}[0], {m}[1, :3], "same")
np.correlate({m}[0], {m}[1, :2])
np.cross({m}[:, :3], {m}[:, 1:])
np.kron({m}, {m})
np.trapezoid({m}[0])
np.pad({m}, {i})
np.pad({m}, 1, mode="edge")
np.pad({m}, (1, 2), mode="reflect")
np.pad({m}, 2, mode="wrap")
np.delete({m}, {i}, axis={a})
np.insert({m}, {i}, {n}, axis={a})
np.choose({m}.astype(int) % 2, [{m}, {m} * 2])
{m}[np.ix_(np.array([0, 2]), np.array([1, 0]))]
np.indices({m}.shape) * {m}
np.mgrid[0:3, 0:4] + {m}
np.ogrid[0:3, 0:4][0] + {m}
np.r_[{m}[0], {m}[1]]
np.c_[{m}, {m}]
{m}[np.tril_indices(3)]
np.unravel_index({m}.argmax(), {m}.shape)
np.tri(3, 4, {i}) * {m}
np.isclose({v}, {v})
np.allclose({v}, {v})
np.array_equal({v}, {v})
np.float32({n}) * {v}
np.array([{m}[{i}], {m}[0]])
np.array([{m}[{i}, {j}], {n}])
np.array([{v}.sum(), {n}])
np.take({m}, {i}, axis={a})
np.take_along_axis({m}, np.argsort({m}, axis=-1, kind="stable"), axis=-1)
np.arange(0, 1, 0.25) * {v}
np.where({m}.T > 1, {m}.T, 0)
np.zeros((3, 4), order="F") + {m}
np.average({m}, axis={a}, weights=abs({m}) + 1)
np.polyval([1, 2, {n}], {v})
divmod({v}, 3)
np.divmod({v}, {n})
{v}.astype("f8", copy=False)
np.einsum("ij,ij", {m}, {m})
np.diag({m})
{m}.diagonal({i})
np.linalg.diagonal({m} * 2)
np.lib.stride_tricks.sliding_window_view({m}, 2, axis={a})
np.lib.stride_tricks.sliding_window_view({m} + 1, (2, 2)).max(axis=(2, 3))
np.lib.stride_tricks.as_strided({m}, (2, 2))
np.broadcast_to({m}, (3, 4))
{m}[{m} > 1].size
{m}[{m} > 1].shape
len({v}[{v} > 2])
({m}[{m} > 0] + {n}).nbytes
""".strip().splitlines()

STATEMENTS = """
{m}[{i}] = {v}
{m}[:, {j}] = {n}
{m}[1:] = {m}[:-1]
{m}[:-1] += {m}[1:]
{m}[{m} > 1] = {n}
{m}[{i}, {j}] += {n}
{m} += {n}
{m} *= {v}
{m} -= {m}
{m}.fill({n})
{m}[...] = {e}
{m}.T[{j}] *= 2
{m}[::-1] = {v}
{m}[...] = {m}[::-1]
{m}[1:] = {m}[::-1][1:]
{m}[:, ::-1] += {n}
{m}[::-2] *= {m}[0]
{m}[::-1][{i}] = {n}
{m}.flat[{j}] = {n}
{m}.flat[1:{n}] = {n}
{m}.flat[::5] = {m}.flat[{i}]
x = {m}.view("u1"); x[..., 0] ^= 1
x = {m}[{i}].view("i1"); x ^= 1
x = {m}[::-1]; x -= {m}
x = np.flip({m}); x[{i}] = {v}; x += {n}
np.add({m}[::-1], {m}, out={m})
np.copyto({m}[:, ::-1], {m})
x = {m}[{i}]; x += {n}
x = {m}.reshape(-1); x[::3] = {n}
np.add({m}, {m}, out={m})
np.copyto({m}, {n})
np.copyto({m}, {n}, where={m} > 1)
np.add({m}, {n}, {m}, where={m} > 0)
np.multiply({m}, {n}, out={m}, casting="unsafe")
np.subtract({m}, {v}, out=({m},))
{m} %= {n}
{m} %= {v}
{m} //= {n}
{m}[:, :3] @= np.eye(3)
np.add.at({m}, np.array([0, 1, 0]), {n})
np.add.at({m}, (np.array([0, 0]), np.array([1, 1])), {n})
np.subtract.at({m}, np.array([2, 2]), 1)
np.put({m}, [0, 5], {n})
np.putmask({m}, {m} > 1, {n})
np.fill_diagonal({m}, {n})
np.cumsum({m}.astype(int), axis=1, out=np.zeros({m}.shape, int))
np.clip({m}, 0, 2, out={m})
""".strip().splitlines()

LOOPS = [
    "for i in range(1, {m}.shape[0]):\n    {m}[:i] += {n} * {m}[:i][::-1]",
    "for i in range({m}.shape[1]):\n    {m}[0, :i] = np.flip({m}[1, :i])",
    "for row in {m}[::-1]:\n    row[::-1] += {n}",
    "for i in range({m}.shape[0]):\n    {m}[i] = {m}[i] + {n} * i",
    "for i in range({m}.shape[0]):\n    for j in range(i + 1):\n        {m}[i, j] += {m}[j, 0] * {n}",
    "for row in {m}:\n    row += {n}",
    "total = 0\nfor i in range(3):\n    total = total + {m}[i].sum() * i\n{t} = total",
    "for i in range(4):\n    {t} = {v} + i\n    if i == 2:\n        break",
    "if {m}.sum() > {n}:\n    {t} = {v} * 2\nelse:\n    {t} = {v} - 1",
    "try:\n    {t} = {e}\nexcept (ValueError, IndexError, TypeError) as error:\n    {t} = str(error)",
    "with np.errstate(all='ignore'):\n    {t} = np.nan_to_num({v} / ({v} - {v}))",
]


class Program:
    def __init__(self, seed):
        self.drawn = random.Random(seed)
        self.names = ["a", "b", "c"]
        self.lines = []
        for _ in range(self.drawn.randint(2, 6)):
            self.add()
        self.source = "\n".join(
            ["def f(a, b, c):", *[f"    {line}" for line in self.lines], f"    return [{', '.join(self.names)}]"]
        )

    def add(self):
        kind = self.drawn.random()
        if kind < 0.55:
            name = f"t{len(self.names)}"
            self.lines.append(f"{name} = {self.filled(self.drawn.choice(EXPRESSIONS))}")
            self.names.append(name)
        elif kind < 0.85:
            self.lines.append(self.filled(self.drawn.choice(STATEMENTS)))
        else:
            name = f"t{len(self.names)}"
            text = self.drawn.choice(LOOPS)
            self.lines += self.filled(text.replace("{t}", name)).split("\n")
            if "{t}" in text:
                self.names.append(name)

    def filled(self, text):
        while "{" in text:
            start = text.index("{")
            text = text[:start] + self.part(text[start + 1]) + text[text.index("}") + 1 :]
        return text

    def part(self, what):
        if what == "e":
            return self.drawn.choice(EXPRESSIONS[:24])
        parts = {
            "v": self.names,
            "m": ["a", "a", "b"],
            "n": ["2", "3", "0.5", "-1", "2.5", "True"],
            "i": ["0", "1", "-1", "2"],
            "j": ["0", "1", "3"],
            "a": ["0", "-1", "None"],
        }
        return self.drawn.choice(parts[what])

    def array(self, shape):
        dtype = np.dtype(self.drawn.choice(DTYPES))
        values = [self.drawn.randint(0 if dtype.kind in "ub" else -4, 6) for _ in range(int(np.prod(shape)))]
        made = np.array(values, "f8").astype(dtype).reshape(shape)
        layout = self.drawn.random()
        if layout < 0.15 and made.ndim == 2:
            return made.copy("F")
        if layout < 0.3 and made.ndim > 0:
            return np.repeat(made, 2, axis=-1)[..., ::2]
        if layout < 0.35 and made.ndim == 0:
            return made[()]
        if layout < 0.5 and made.ndim > 0:
            return made[self.drawn.choice([(slice(None, None, -1),), (..., slice(None, None, -1))])]
        if layout < 0.55:
            return np.flip(made)
        return made

    def arguments(self):
        return [self.array((3, 4)), self.array((3, 4)), self.array(self.drawn.choice(SHAPES))]


def check_drawn(seed):
    program = Program(seed)
    arguments = program.arguments()
    scope = {"np": np}
    exec(compile(program.source, f"<drawn {seed}>", "exec"), scope)
    found = mismatch(scope["f"], arguments, calls=3)
    assert found == "", f"{found}\n{program.source}\n{arguments!r}"


@pytest.mark.parametrize("seed", range(200))
def test_drawn_programs(seed):
    check_drawn(seed)
