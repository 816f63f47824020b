"""Views that NumPy makes read-only, and views by strides: in a region, behind it, and written."""

import numpy as np
import pytest
from compared import is_captured, mismatch
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import minidynamo

# m: a matrix, v: a vector of 24 elements, k: an int.
READ_ONLY = """
np.diagonal(m)
m.diagonal(1)
m.diagonal(-2)
np.diagonal(m, 0, 1, 0)
np.diagonal(v.reshape(2, 3, 4), axis1=0, axis2=2)
v.reshape(2, 3, 4).diagonal(0, -1, 0)
np.linalg.diagonal(v.reshape(2, 3, 4), offset=1)
np.diag(m)
np.diag(m, k)
np.broadcast_to(v, (2, 24))
np.broadcast_to(v, 24)
np.broadcast_to(v[:, None], (24, 3))
np.broadcast_to(m, (6, 4))
sliding_window_view(v, k)
sliding_window_view(v, (k,))
sliding_window_view(v, 24)
sliding_window_view(v, 1)
sliding_window_view(v, 0)
sliding_window_view(v[::-1], 3)
sliding_window_view(v[::2], 3)[::2]
sliding_window_view(m, (2, k))
sliding_window_view(m, k, axis=1)
sliding_window_view(m.T, (2,), axis=-1)
sliding_window_view(m, (2, 3), axis=(1, 0))
sliding_window_view(m, (2, 2), axis=(0, 0))
as_strided(v, (4, 3), (v.strides[0] * 6, v.strides[0] * 2), writeable=False)
as_strided(v, shape=(10, 4), strides=(16, 8), writeable=False)
""".strip().splitlines()

# Written where no element is at two places.
WRITABLE = """
as_strided(v, (4, 3), (v.strides[0] * 6, v.strides[0] * 2))
as_strided(v, shape=(12,), strides=(16,))
as_strided(v)
as_strided(v, (5,))
as_strided(v, (4, 6))
as_strided(m, (2, 2))
as_strided(m, (3, 2, 2))
as_strided(m.T, (2, 2))
as_strided(m[:, ::2], (2, 2))
as_strided(m[::2], (1, 3))
as_strided(m, strides=(8, 48), shape=(6, 4))
np.matrix_transpose(m)
np.linalg.matrix_transpose(v.reshape(2, 3, 4))
""".strip().splitlines()

LEFT_TO_NUMPY = """
sliding_window_view(v, 25)
sliding_window_view(v, -1)
sliding_window_view(v, (2, 2))
sliding_window_view(v, 2, axis=1)
sliding_window_view(v, 3, writeable=True)
sliding_window_view(v, 2.5)
as_strided(v, (3, 2), (8, 0))
as_strided(v, (10, 4), (16, 8)).copy()
as_strided(v[::-1], (3,), (-8,))
as_strided(v, (3, 2), (8,))
m.diagonal(0, 0, 0)
m.diagonal(axis1=2)
v.diagonal()
np.broadcast_to(v, 3)
np.broadcast_to(v, (-1, 24))
""".strip().splitlines()

# w: the view.
USES = """
w
w[..., 0]
w[1:]
w.T
(w, w.flags.writeable, w[..., :1].flags.writeable, w.copy().flags.writeable)
w.sum(axis=-1)
w.max() if w.size else None
w * 2
(w + 1).flags.writeable
w.copy()
np.ascontiguousarray(w)
w.reshape(-1)
w.astype("f4")
w.shape, w.strides, w.size, w.ndim
np.median(w, axis=-1) if w.size else None
[each for each in w]
minidynamo.from_numpy(w) is None
""".strip().splitlines()

WRITES = """
w[0] = 1
w[...] = 2
w[1:] += 1
w += 1
w.fill(3)
np.add(w, 1, out=w)
w[w > 0] = 0
w[..., 0][:] = 4
w.T[0] *= 2
np.copyto(w, 0)
np.put(w, [0], [1])
w[[0, 1]] = 5
w.sort()
np.fft.fft(w); w[0] = 9
""".strip().splitlines()


def defined(lines):
    scope = {"np": np, "as_strided": as_strided, "sliding_window_view": sliding_window_view, "minidynamo": minidynamo}
    exec("def f(m, v, k):\n" + "".join(f"    {line}\n" for line in lines), scope)
    return scope["f"]


def arguments():
    drawn = np.random.default_rng(3).standard_normal(48)
    return [drawn[:24].reshape(6, 4).copy(), drawn[24:].copy(), 2]


def of(view, is_new):
    """The view of an argument, or of an array that the region makes."""
    return ["m, v = m * 2, v * 2"] * is_new + [f"w = {view}"]


@pytest.mark.parametrize("is_new", [False, True], ids=["argument", "new"])
@pytest.mark.parametrize("view", READ_ONLY + WRITABLE + LEFT_TO_NUMPY)
def test_uses(view, is_new):
    function = [defined([*of(view, is_new), f"return {use}"]) for use in USES]
    assert {
        use: found for use, each in zip(USES, function, strict=True) if (found := mismatch(each, arguments()))
    } == {}


@pytest.mark.parametrize("is_new", [False, True], ids=["argument", "new"])
@pytest.mark.parametrize("view", READ_ONLY + WRITABLE + LEFT_TO_NUMPY)
def test_writes(view, is_new):
    """Also what was written before stays, where the write raises."""
    found = {}
    for write in WRITES:
        before = [*of(view, is_new), "v[1] = 7"]
        caught = ["try:", f"    {write}", "except ValueError as error:", "    return str(error), m, v"]
        for lines in ([*before, write, "return m, v"], [*before, *caught, "return m, v, w"]):
            if text := mismatch(defined(lines), arguments()):
                found[write] = text
    assert found == {}


@pytest.mark.parametrize("view", READ_ONLY + WRITABLE)
def test_captured(view):
    assert is_captured(defined([f"w = {view}", "return w.sum(axis=-1), w * 2, w"]), arguments())


def test_windows_of_many_sizes():
    def rolling(v, k):
        windows = sliding_window_view(v, k)
        return windows.mean(axis=1), windows[::k], windows

    compiled = minidynamo.compile(rolling, dynamic=True)
    for size in (5, 9, 24, 3):
        for k in (3, 1, 2):
            v = np.arange(float(size))
            for ours, theirs in zip(compiled(v, k), rolling(v, k), strict=True):
                assert np.array_equal(ours, theirs)
                assert ours.flags.writeable == theirs.flags.writeable


def test_another_thread_cannot_write_what_is_read_only():
    """The base of the view may be written, and shows there."""
    v = np.arange(6.0)
    windows = minidynamo.compile(lambda v: sliding_window_view(v, 3))(v)
    v[2] = 10
    assert windows[0, 2] == windows[2, 0] == 10
    with pytest.raises(ValueError, match="read-only"):
        windows[0, 0] = 1
