"""minidynamo.fft, stft(), istft() and windows against torch's: sizes, dims, norms, dtypes, refusals, and in graphs."""

import itertools

import numpy as np
import pytest

import minidynamo

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def made(library, shape, dtype):
    numbers = np.random.RandomState(len(shape)).standard_normal((2, *shape))
    if dtype.startswith("complex"):
        return library.from_numpy((numbers[0] + 1j * numbers[1]).astype(dtype))
    return library.from_numpy(np.asarray(numbers[0] * 4)).to(getattr(library, dtype))


def outcome(call, library, *args, **keywords):
    try:
        return call(library, *args, **keywords)
    except Exception as error:
        return type(error)


def same(ours, theirs, what=""):
    if isinstance(theirs, type):
        assert ours is theirs, (what, ours)
        return
    assert not isinstance(ours, type), (what, ours)
    a, b = ours.detach().numpy(), theirs.detach().resolve_conj().numpy()
    assert (a.shape, a.dtype) == (b.shape, b.dtype), what
    bound = 1e-4 if a.dtype.itemsize > 2 else 4e-3
    np.testing.assert_allclose(a, b, rtol=bound, atol=bound * max(1, np.abs(b).max(initial=0)), err_msg=what)


ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = [*(f"{name}2" for name in ONE), *(f"{name}n" for name in ONE)]
DTYPES = ["float32", "float64", "int64", "bool", "complex64", "complex128", "float16", "bfloat16"]
ONE_DIM = [
    {},
    {"n": 5},
    {"n": 9, "norm": "ortho"},
    {"dim": 0},
    {"dim": 1, "n": 3, "norm": "forward"},
    {"norm": "backward"},
    {"n": 0},
    {"norm": "other"},
    {"dim": 4},
]
SEVERAL_DIMS = [
    {},
    {"s": (3, 5)},
    {"s": (5,), "dim": (0,)},
    {"dim": (0, 2), "norm": "ortho"},
    {"dim": (2, 0, 1), "norm": "forward"},
    {"s": (4, -1), "dim": (-1, -2)},
    {"dim": (0, 0)},
    {"s": (3,), "dim": (0, 1)},
    {"s": (1, 2, 3, 4)},
    {"norm": "other"},
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE)
def test_one_dim(name, dtype):
    for keywords in ONE_DIM:
        call = lambda library: getattr(library.fft, name)(made(library, (2, 6, 4), dtype), **keywords)  # noqa: E731, B023
        same(outcome(call, minidynamo), outcome(call, torch), f"{keywords}")


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "complex128"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_dims(name, dtype):
    for keywords in SEVERAL_DIMS:
        call = lambda library: getattr(library.fft, name)(made(library, (2, 6, 4), dtype), **keywords)  # noqa: E731, B023
        same(outcome(call, minidynamo), outcome(call, torch), f"{keywords}")


@pytest.mark.parametrize("name", [*ONE, *SEVERAL])
def test_in_one_graph(name):
    dtype = "complex64" if name.startswith(("irfft", "hfft")) else "float32"
    compiled = minidynamo.compile(lambda x: getattr(minidynamo.fft, name)(x * 2).abs() + 1, fullgraph=True)
    for shape in ((3, 6), (5, 8), (2, 4)):
        wanted = getattr(torch.fft, name)(made(torch, shape, dtype) * 2).abs() + 1
        same(compiled(made(minidynamo, shape, dtype)), wanted, str(shape))


def test_out():
    x = made(minidynamo, (4,), "float32")
    out = minidynamo.empty(4, dtype=minidynamo.complex64)
    assert minidynamo.fft.fft(x, out=out) is out
    same(out, torch.fft.fft(made(torch, (4,), "float32")))


FREQUENCIES = [
    "fftfreq(5)",
    "fftfreq(6, 0.5)",
    "fftfreq(1)",
    "rfftfreq(6, 2.0)",
    "rfftfreq(5)",
    "fftfreq(4, dtype=t.float64)",
    "fftshift(t.arange(7.0))",
    "fftshift(t.arange(6.0).reshape(2, 3))",
    "fftshift(t.arange(6.0).reshape(2, 3), 1)",
    "ifftshift(t.arange(7.0))",
    "ifftshift(t.arange(6.0).reshape(2, 3), (0,))",
]


@pytest.mark.parametrize("text", FREQUENCIES)
def test_frequencies(text):
    same(*[eval(f"t.fft.{text}", {"t": library}) for library in (minidynamo, torch)])


WINDOWS = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "hamming", "hann", "kaiser", "nuttall"]


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    for length, sym, dtype in itertools.product((0, 1, 2, 5, 8), (True, False), ("float32", "float64", "int64")):
        call = lambda t: getattr(t.signal.windows, name)(length, sym=sym, dtype=getattr(t, dtype))  # noqa: E731, B023
        same(outcome(call, minidynamo), outcome(call, torch), f"{length} {sym} {dtype}")
    for keywords in (
        {"M": -1},
        {"M": 3, "tau": -1.0},
        {"M": 3, "std": 0.0},
        {"M": 3, "beta": -1.0},
        {"M": 3, "center": 1.0},
    ):
        call = lambda t: getattr(t.signal.windows, name)(**keywords)  # noqa: E731, B023
        same(outcome(call, minidynamo), outcome(call, torch), f"{keywords}")


@pytest.mark.parametrize("name", ["general_cosine(5, a=[0.4, 0.3, 0.2])", "general_hamming(6, alpha=0.6, sym=False)"])
def test_general_windows(name):
    same(*[eval(f"t.signal.windows.{name}", {"t": library}) for library in (minidynamo, torch)])


PERIODIC = [
    "bartlett_window(5)",
    "blackman_window(6, False)",
    "hamming_window(7, True, 0.5, 0.4)",
    "hamming_window(7)",
    "hann_window(8)",
    "hann_window(8, dtype=t.float64)",
    "hann_window(8, dtype=t.float16)",
    "kaiser_window(5, True, 3.0)",
    "kaiser_window(5, False)",
    "hann_window(0)",
    "hann_window(1)",
    "hann_window(-1)",
    "hann_window(3, dtype=t.int64)",
]


@pytest.mark.parametrize("text", PERIODIC)
def test_periodic_windows(text):
    call = lambda library: eval(f"t.{text}", {"t": library})  # noqa: E731
    same(outcome(call, minidynamo), outcome(call, torch))


SHORT = [
    {"n_fft": 8, "return_complex": True},
    {"n_fft": 8, "hop_length": 3, "return_complex": True, "normalized": True},
    {"n_fft": 8, "win_length": 5, "return_complex": True},
    {"n_fft": 8, "window": 8, "return_complex": True, "onesided": False},
    {"n_fft": 8, "window": 6, "win_length": 6, "return_complex": True, "center": False},
    {"n_fft": 8, "return_complex": True, "pad_mode": "constant"},
    {"n_fft": 8, "return_complex": False},
    {"n_fft": 8},
    {"n_fft": 8, "hop_length": 0, "return_complex": True},
    {"n_fft": 8, "window": 5, "return_complex": True},
    {"n_fft": 0, "return_complex": True},
]


@pytest.mark.parametrize("shape", [(40,), (3, 40)])
@pytest.mark.parametrize("keywords", SHORT, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_short_time(keywords, shape):
    def call(library):
        given = dict(keywords)
        if "window" in given:
            given["window"] = library.hann_window(given["window"])
        return library.stft(made(library, shape, "float32"), **given)

    theirs = outcome(call, torch)
    same(outcome(call, minidynamo), theirs)
    if isinstance(theirs, type):
        return
    given = {**keywords, **({"window": minidynamo.hann_window(keywords["window"])} if "window" in keywords else {})}
    compiled = minidynamo.compile(lambda x, given: minidynamo.stft(x, **given), fullgraph=True)
    same(compiled(made(minidynamo, shape, "float32"), given), theirs)


INVERSE = [
    {},
    {"window": 8},
    {"length": 37},
    {"length": 45},
    {"normalized": True},
    {"center": False},
    {"hop_length": 3},
    {"onesided": False},
    {"window": 8, "center": False},
]


@pytest.mark.parametrize("keywords", INVERSE, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_inverse_short_time(keywords):
    def call(library):
        given = dict(keywords)
        if "window" in given:
            given["window"] = library.hann_window(given["window"])
        forth = {name: given[name] for name in ("window", "hop_length", "normalized", "onesided") if name in given}
        found = library.stft(made(library, (2, 40), "float32"), 8, return_complex=True, **forth)
        return library.istft(found, 8, **given)

    same(outcome(call, minidynamo), outcome(call, torch))
