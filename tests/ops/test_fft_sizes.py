"""The kernels of Fourier transforms: sizes of all kinds of factors, how many at once, layouts, precision, threads."""

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")

NAMES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SHORT = [*range(1, 70), 97, 101, 127, 128, 210, 255, 256]
# Powers, primes, a prime times a power, and what is longer than a column of a tile may be.
LONG = [257, 289, 480, 509, 512, 961, 1000, 1009, 1024, 1536, 2018, 2048, 3125, 4096, 4099, 6000, 8192, 8198, 10007]
# Times the largest number of the result.
BOUNDS = {"float32": 4e-6, "float64": 1e-14}


def numbers(shape, dtype, is_real):
    rng = np.random.default_rng(sum(shape))
    parts = rng.standard_normal((2, *shape))
    if is_real:
        return parts[0].astype(dtype)
    return (parts[0] + 1j * parts[1]).astype("complex64" if dtype == "float32" else "complex128")


def close(found, expected, dtype, what=""):
    assert found.shape == expected.shape, what
    wide = "complex64" if dtype == "float32" else "complex128"
    assert found.dtype == np.dtype(wide if np.iscomplexobj(expected) else dtype), what
    bound = BOUNDS[dtype] * max(1e-30, np.abs(expected).max(initial=0))
    assert np.abs(found - expected).max(initial=0) <= bound * 4, what


def check(name, shape, n, dtype, dim=-1, norm=None):
    is_real = name in ("rfft", "ihfft")
    halved = name in ("irfft", "hfft")
    sizes = list(shape)
    sizes[dim] = n // 2 + 1 if halved else n
    x = numbers(sizes, dtype, is_real)
    exact = getattr(np.fft, name)(x.astype("float64" if is_real else "complex128"), n, dim, norm)
    found = getattr(md.fft, name)(md.from_numpy(x), n, dim, norm).numpy()
    close(found, exact, dtype, f"{name} {sizes} {n} {dim} {norm}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_short(name, dtype):
    for n in SHORT:
        if name in ("irfft", "hfft") and n == 1:
            continue
        for rows in (1, 3, 20):
            check(name, (rows, n), n, dtype)
        check(name, (n, 19), n, dtype, 0)
        check(name, (2, n, 3), n, dtype, 1, "ortho")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_long(name, dtype):
    for n in LONG:
        for rows in (1, 2, 17) if n < 3000 else (1, 9):
            check(name, (rows, n), n, dtype)
        check(name, (n, 2), n, dtype, 0, "forward")


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_very_long(name):
    for n in (1 << 17, 3 * 5 * 7 * 512, 99991):
        check(name, (n,), n, "float32")
        check(name, (n,), n, "float64")


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 1), (1, 2), (2, 0), (0, 1, 2)])
def test_several_dims(name, dims):
    x = numbers((6, 10, 18), "float64", name == "rfftn")
    layouts = [
        x,
        np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0),
        np.repeat(x, 2, 1)[:, ::2],
        x[:, ::-1],
    ]
    for layout, norm in [(each, norm) for each in layouts for norm in (None, "ortho", "forward")]:
        expected = getattr(np.fft, name)(layout, None, dims, norm)
        strided = md.from_numpy(np.array(x)) if layout is x else md.from_numpy(layout.copy())
        if layout is layouts[1]:
            strided = strided.permute(2, 0, 1).contiguous().permute(1, 2, 0)
        elif layout is layouts[2]:
            strided = strided.repeat_interleave(2, 1)[:, ::2]
        close(getattr(md.fft, name)(strided, None, dims, norm).numpy(), expected, "float64", f"{dims} {norm}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [12, 15, 37, 512])
def test_rows_are_apart(name, n):
    """Numbers of one row, even if they are none, are nothing to the others."""
    x = numbers((20, n // 2 + 1 if name in ("irfft", "hfft") else n), "float64", name in ("rfft", "ihfft"))
    expected = getattr(np.fft, name)(x, n)
    x[3, 1], x[7, 0] = np.nan, np.inf
    found = getattr(md.fft, name)(md.from_numpy(x), n).numpy()
    kept = [i for i in range(20) if i not in (3, 7)]
    close(found[kept], expected[kept], "float64")
    assert np.isnan(found[3]).any() and not np.isfinite(found[7]).all()


def test_imaginary_parts_that_do_not_count():
    for n in (8, 9, 512):
        x = numbers((3, n // 2 + 1), "float64", False)
        y = x.copy()
        y[:, 0] = y[:, 0].real
        if n % 2 == 0:
            y[:, -1] = y[:, -1].real
        assert np.array_equal(md.fft.irfft(md.from_numpy(x), n).numpy(), md.fft.irfft(md.from_numpy(y), n).numpy())


def test_no_elements():
    assert md.fft.fft(md.zeros(0, 4)).shape == (0, 4)
    assert md.fft.rfftn(md.zeros(3, 0, 4), dim=(0, 2)).shape == (3, 0, 3)
    assert md.fft.irfft(md.zeros(0, 3, dtype=md.complex64)).shape == (0, 4)


@pytest.mark.parametrize("shape", [(40, 1000), (1, 1 << 16), (3, 4099), (64, 64, 64)])
def test_number_of_threads(shape):
    x = md.from_numpy(numbers(shape, "float32", False))
    before = md.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            md.set_num_threads(threads)
            found.append(md.fft.fftn(x, dim=(-1,) if len(shape) == 2 else None).numpy())
    finally:
        md.set_num_threads(before)
    assert all(np.array_equal(found[0], each) for each in found)
