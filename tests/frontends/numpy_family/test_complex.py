"""complex64 and complex128: each ufunc and function that takes them, beside each dtype, in each layout, with special values."""

import itertools

import numpy as np
import pytest
from compared import is_captured, mismatch

import minidynamo
from minidynamo import _C
from minidynamo._families.numpy_ufuncs import UFUNCS

COMPLEX = ["F", "D"]
REAL = ["?", "b", "h", "i", "l", "B", "H", "I", "L", "e", "f", "d"]
TAKES_COMPLEX = {row["name"] for row in _C._op_rows() if row["takes_complex"]}
UNARY = sorted(name for row, name in UFUNCS.items() if row in TAKES_COMPLEX and getattr(np, name).nin == 1)
BINARY = sorted(
    name for row, name in UFUNCS.items() if row in TAKES_COMPLEX and getattr(np, name).nin == 2 and name != "matmul"
)
PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 1e30, -1e-30]


def special(code):
    with np.errstate(all="ignore"):
        return np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)]).astype(code)


def plain(code):
    return (np.linspace(-3, 3, 24) + 1j * np.linspace(2, -1, 24)).astype(code)


def arrays(code):
    whole = plain(code)
    matrix = whole.reshape(4, 6).copy()
    return [
        whole,
        whole[::3],
        whole[::-2],
        matrix,
        matrix.copy("F"),
        matrix[:, 1:5:2],
        np.array(1.5 - 2j, code),
        np.zeros(0, code),
        np.zeros((0, 3), code),
        whole[5],
    ]


def mismatches(function, cases):
    found = [(arguments, mismatch(function, arguments)) for arguments in cases]
    return [f"{[np.shape(each) or each for each in arguments]}: {text}" for arguments, text in found if text]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("code", COMPLEX)
def test_one_operand(name, code):
    ufunc = getattr(np, name)
    assert mismatches(lambda x: ufunc(x), [(array,) for array in arrays(code)]) == []
    # By themselves: which of them warn differs.
    with np.errstate(all="ignore"):
        assert mismatches(lambda x: ufunc(x), [(special(code),)]) == []
    assert mismatches(lambda x: ufunc(x), [(special(code)[i : i + 1],) for i in range(0, 100, 7)]) == []


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("code", COMPLEX)
def test_two_operands(name, code):
    ufunc = getattr(np, name)

    def call(x, y):
        return ufunc(x, y)

    cases = [(array, array.copy()) for array in arrays(code)]
    cases += [(array, number) for array in arrays(code)[:7] for number in (2, 0.5, True, 1j, 2 - 1j, np.complex64(1j))]
    cases += [(number, arrays(code)[0]) for number in (2, 0.5, 1j, np.complex128(2j))]
    cases += [(arrays(code)[3], arrays(code)[3][0]), (arrays(code)[3], arrays(code)[4]), (plain("F"), plain("D"))]
    assert mismatches(call, cases) == []


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("code", COMPLEX)
def test_beside_real_dtypes(name, code):
    ufunc = getattr(np, name)
    for real in REAL:
        other = np.arange(1, 25).astype(real)
        cases = [(plain(code), other), (other, plain(code)), (plain(code), other[3]), (other[2], plain(code))]
        cases += [(other, 1j), (2.5 + 1j, other)]
        assert mismatches(lambda x, y: ufunc(x, y), cases) == [], real


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("code", COMPLEX)
def test_special_values(name, code):
    ufunc = getattr(np, name)
    values = special(code)
    with np.errstate(all="ignore"):
        pairs = (np.repeat(values, len(values)), np.tile(values, len(values)))
        assert mismatches(lambda x, y: ufunc(x, y), [pairs, (values, values[3]), (values[17], values)]) == []
    one_by_one = [(values[i : i + 1], values[j : j + 1]) for i, j in zip(range(0, 100, 7), range(99, 0, -7))]
    assert mismatches(lambda x, y: ufunc(x, y), one_by_one) == []


OPERATORS = {
    "negative": lambda x: -x,
    "sum": lambda x: x + x * x - x / (x + 4),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "times i": lambda x: 1j * x,
    "number last": lambda x: x * (2 - 1j) + 0.5,
    "equal": lambda x: (x == x[0], x != x[0]),
    "abs": lambda x: abs(x),
    "exp": lambda x: np.exp(1j * x) + np.sqrt(x),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("code", [*COMPLEX, "d", "f"])
def test_operators(name, code):
    values = plain("D").real.copy().astype(code) if code in "df" else plain(code)
    with np.errstate(all="ignore"):
        assert mismatches(OPERATORS[name], [(values,), (values[::2],), (values.reshape(4, 6).T,)]) == []
        assert is_captured(OPERATORS[name], [values])


def fill_in_place(x):
    x += 1
    x *= 1j
    x -= x[::-1]
    x /= 2
    return x


FUNCTIONS = {
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "real of a part": lambda x: (x[1:].real + 1, x[1:].imag),
    "parts of a new array": lambda x: (x * 2).real + (x * 2).imag,
    "parts": lambda x: np.real(x) * np.imag(x),
    "conj": lambda x: (x.conj(), np.conj(x), np.conjugate(x)),
    "angle": lambda x: np.angle(x),
    "sum": lambda x: (x.sum(), x.sum(axis=0), np.sum(x, keepdims=True)),
    "prod": lambda x: x.prod(),
    "mean": lambda x: (x.mean(), x.mean(axis=-1)),
    "var": lambda x: (x.var(), x.std(), x.var(axis=0)),
    "cumsum": lambda x: x.cumsum(),
    "any": lambda x: (x.any(), x.all()),
    "abs squared": lambda x: (x * x.conj()).real,
    "is complex": lambda x: (np.iscomplexobj(x), np.isrealobj(x)),
    "zeros": lambda x: np.zeros(x.shape, complex) + x,
    "like": lambda x: (np.zeros_like(x), np.ones_like(x), np.full_like(x, 2), np.full(3, 1j)),
    "astype": lambda x: (x.astype(np.complex64), x.astype("complex128"), x.astype(complex)),
    "truth": lambda x: x.astype(bool),
    "views": lambda x: (x.T, x.reshape(-1), x.ravel(), x[::-1], x[None]),
    "joins": lambda x: (np.concatenate([x, x]), np.stack([x, x * 1j]), np.hstack([x, x.real])),
    "moves": lambda x: (np.roll(x, 1), np.repeat(x, 2), np.tile(x, 2), np.flip(x), x.copy()),
    "where": lambda x: (np.where(np.abs(x) > 1, x, 0), np.where(x.real > 0, x, 1j)),
    "indices": lambda x: (x[[0, 2]], x[np.array([1, -1])], x.take([0, 1])),
    "nonzero": lambda x: np.nonzero(x),
    "outer": lambda x: np.outer(x, x),
    "dot": lambda x: (np.dot(x.ravel(), x.ravel()), np.vdot(x, x)),
    "in place": fill_in_place,
    "list": lambda x: np.array([1j, 2, 0.5]) + x.ravel()[:3],
    "scalars": lambda x: (x.ravel()[0] * 2, x.ravel()[1] + 1j, abs(x.ravel()[0])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("code", COMPLEX)
def test_functions(name, code):
    values = plain(code)
    layouts = [values, values[::2], values.reshape(4, 6).copy(), values.reshape(4, 6).copy("F")]
    assert mismatches(FUNCTIONS[name], [(each,) for each in layouts]) == []


@pytest.mark.parametrize("code", COMPLEX)
@pytest.mark.parametrize("other", [*COMPLEX, "d", "f"])
def test_products(code, other):
    a, b = plain(code).reshape(4, 6).copy(), plain("D").reshape(6, 4).copy()
    b = b.real.astype(other) if other in "df" else b.astype(other)
    cases = [(a, b), (a[0].copy(), b), (a, b[:, 0].copy()), (b.T.copy().T, a), (np.stack([a, a]), b)]
    assert mismatches(lambda x, y: x @ y, cases) == []
    assert is_captured(lambda x, y: x @ y, [a, b])


def mandelbrot(c, horizon, count):
    z = np.zeros(c.shape, c.dtype)
    steps = np.zeros(c.shape, int)
    for n in range(count):
        inside = np.abs(z) < horizon
        steps[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    steps[steps == count - 1] = 0
    return z, steps


def mandelbrot_in_place(c, count):
    z = np.zeros_like(c)
    for _ in range(count):
        np.multiply(z, z, out=z)
        np.add(z, c, out=z)
    return z


def spectrum(x):
    k = np.arange(len(x))
    return np.exp(-2j * np.pi * k[:, None] * k / len(x)) @ x


def grid(n):
    return np.linspace(-2.0, 1.0, n) + 1j * np.linspace(-1.5, 1.5, n)[:, None]


def write_parts(z):
    z.real[...] = 1
    z.imag += 2
    return z


def written_then_read(z):
    part = z.real
    z[0] = 7 - 1j
    z[1:] *= 2
    return part + 0, z.imag


@pytest.mark.parametrize("code", COMPLEX)
def test_programs(code):
    with np.errstate(all="ignore"):
        c = grid(12).astype(code)
        assert mismatch(mandelbrot, [c, 2.0, 9]) == ""
        assert mismatch(mandelbrot_in_place, [c[:4] / 4, 5]) == ""
        assert mismatch(spectrum, [np.linspace(0, 1, 16)]) == ""
        assert mismatch(spectrum, [plain(code)]) == ""
        assert mismatch(grid, [10]) == ""
        assert mismatch(write_parts, [plain(code)]) == ""
        assert mismatch(written_then_read, [plain(code)]) == ""


def test_elements_are_scalars():
    def call(x):
        return x[0], x[1] + 1, x.sum(), np.abs(x[0])

    assert mismatch(call, [plain("D")]) == mismatch(call, [plain("F")]) == ""
    found = minidynamo.compile(call)(plain("F"))
    assert [type(each) for each in found] == [np.complex64, np.complex64, np.complex64, np.float32]


# What discards imaginary parts warns, what has no order raises, and so on: NumPy says what, at its line.
WRONG = {
    "real dtype": lambda x: x.astype(float),
    "into reals": lambda x: np.zeros(len(x)).__setitem__(slice(None), x),
    "an element into reals": lambda x: np.zeros(3).__setitem__(0, x[0]),
    "a number into reals": lambda x: np.zeros(3).__setitem__(0, 1j),
    "out of reals": lambda x: np.add(x, x, out=np.zeros(len(x))),
    "in place of reals": lambda x: x.real.__iadd__(x),
    "floor": lambda x: np.floor(x),
    "modulo": lambda x: x % 2,
    "floor_divide": lambda x: x // 2,
    "and": lambda x: x & x,
    "shapes": lambda x: x + x[:3],
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[0]),
    "arctan2": lambda x: np.arctan2(x, x),
    "matmul": lambda x: x @ x[:3],
    "index": lambda x: x[99],
    "sum in floats": lambda x: x.sum(dtype=float),
    "full": lambda x: np.full(3, 1j, dtype=float),
    "by zero": lambda x: x / 0,
    "log of zero": lambda x: np.log(x * 0),
    "overflow": lambda x: np.exp(x * 1e4),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("code", COMPLEX)
def test_wrong_calls(name, code):
    assert mismatch(WRONG[name], [plain(code)], calls=5) == ""


# Captured or not: what they compute is NumPy's.
ANY = {
    "order": lambda x: (np.sort(x), np.argmax(x), x.max(), np.maximum(x, x[::-1])),
    "less": lambda x: (x < x[::-1], x >= 1),
    "sign": lambda x: np.sign(x),
    "power": lambda x: (x**0.5, x**-1, x**2.5, x**x, 2**x, np.power(x, 4)),
    "norm": lambda x: np.linalg.norm(x),
    "round": lambda x: np.round(x, 1),
    "real_if_close": lambda x: np.real_if_close(x),
    "isclose": lambda x: (np.isclose(x, x), np.allclose(x, x * (1 + 1e-12)), np.array_equal(x, x)),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "fft": lambda x: np.fft.fft(x),
    "unique": lambda x: np.unique(x),
    "gradient": lambda x: np.gradient(x),
    "convolve": lambda x: np.convolve(x, x[:3]),
    "diff": lambda x: np.diff(x),
    "average": lambda x: np.average(x, weights=np.abs(x)),
    "median": lambda x: np.median(x),
    "cov": lambda x: np.cov(x),
    "interp": lambda x: np.interp(0.5, [0, 1, 2], x[:3]),
    "polyval": lambda x: np.polyval(x[:3], x),
    "einsum": lambda x: (np.einsum("i,i->", x, x), np.einsum("i,j->ij", x, x)),
    "kron": lambda x: np.kron(x[:2], x[:2]),
    "cross": lambda x: np.cross(x[:3], x[3:6]),
    "trapezoid": lambda x: np.trapezoid(x),
    "nansum": lambda x: (np.nansum(x), np.nanmean(x)),
    "clip": lambda x: np.clip(x, 0, 1),
    "imag of reals": lambda x: x.real.imag,
    "view": lambda x: x.view(x.real.dtype),
    "complex()": lambda x: (complex(x[0]), x[0].real, x[0].imag, x[0].conjugate()),
    "angle in degrees": lambda x: np.angle(x, deg=True),
    "pad": lambda x: np.pad(x, 2),
    "at": lambda x: np.add.at(x, np.array([0, 0, 1]), 1j),
    "reduce": lambda x: (np.add.reduce(x), np.multiply.reduce(x), np.add.accumulate(x)),
    "put": lambda x: np.put(x, [0, 1], [1j, 2]),
    "divmod": lambda x: np.isreal(x),
}


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize("code", COMPLEX)
def test_captured_or_not(name, code):
    with np.errstate(all="ignore"):
        assert mismatch(ANY[name], [plain(code)]) == ""


# Blocks of vectors: ordinary numbers, of all signs and quadrants, beside some that are the C library's.
def many(code):
    size = np.geomspace(1e-12, 30, 210)
    values = size * np.exp(1j * np.linspace(-7, 7, 210))
    values[::7] = values[::7].real
    values[3::7] = 1j * values[3::7].imag
    values[40:50] = 1 + 1e-7 * np.arange(10) - 3e-7j
    return values.astype(code)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("code", COMPLEX)
def test_many_elements(name, code):
    ufunc = getattr(np, name)
    odd = many(code)
    odd[[5, 100, 199]] = [complex(np.inf, 1), complex(0.0, -0.0), complex(1e30, np.nan)]
    with np.errstate(all="ignore"):
        cases = [(many(code),), (odd,), (many(code)[::-1],), (many(code).reshape(14, 15).T,), (many(code)[:65] * 1e-3,)]
        assert mismatches(lambda x: ufunc(x), cases) == []
    assert mismatches(lambda x: ufunc(x), [(many(code)[60:130],)]) == []


SHAPES = [
    (2, 2, 300),
    (5, 3, 7),
    (4, 1, 4),
    (1, 40, 9),
    (3, 200, 5),
    (7, 140, 65),
    (33, 9, 1),
    (20, 300, 17),
    (6, 0, 4),
]


@pytest.mark.parametrize("code", COMPLEX)
@pytest.mark.parametrize("m, k, n", SHAPES)
def test_products_of_many_shapes(code, m, k, n):
    draw = np.random.default_rng(m + k + n)

    def drawn(*shape):
        return (draw.standard_normal(shape) + 1j * draw.standard_normal(shape)).astype(code)

    a, b = drawn(m, k), drawn(k, n)
    cases = [
        (a, b),
        (a.copy("F"), b.copy("F")),
        (drawn(m, 2 * k)[:, ::2], drawn(k, 2 * n)[:, ::2]),
        (a[::-1], b[:, ::-1]),
    ]
    cases += [(drawn(3, m, k), b), (a, drawn(3, k, n)), (drawn(2, 1, m, k), drawn(3, k, n)), (a[0], b), (a, b[:, 0])]
    for x, y in cases:
        found, expected = minidynamo.compile(np.matmul)(x, y), x @ y
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        scale = np.abs(x) @ np.abs(y) + 1
        assert (np.abs(found - expected) <= (1e-13 if code == "D" else 1e-5) * scale).all()
        adjoint = minidynamo.compile(lambda x, y: x.conj() @ y)(x, y)
        assert (np.abs(adjoint - x.conj() @ y) <= (1e-13 if code == "D" else 1e-5) * scale).all()


def test_a_product_of_infinities_is_not_finite():
    a, b = np.ones((3, 5), complex), np.ones((5, 9), complex)
    a[1, 2] = np.inf
    with np.errstate(all="ignore"):
        found, expected = minidynamo.compile(np.matmul)(a, b), a @ b
    assert np.array_equal(np.isfinite(found), np.isfinite(expected))
