"""Complex tensors: each row that takes them against torch, and what they are by themselves."""

import cmath
import itertools
import math
import operator
import pickle

import numpy as np
import pytest

import minidynamo as md
from minidynamo import _C


@pytest.fixture(autouse=True)
def any_number_of_captures():
    with md._dynamo.config.patch(recompile_limit=10_000):
        yield
    md._dynamo.reset()


DTYPES = ["complex64", "complex128"]
REAL = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"]
PARTS = [0.0, -0.0, 1.0, -2.5, math.inf, math.nan]
ROWS = {row["name"]: row for row in _C._op_rows()}
UNARY = sorted(
    name
    for name, row in ROWS.items()
    if row["kind"] == "PointwiseUnary" and row["takes_complex"] and row["function"] and "." not in name
)
BINARY = ["add", "sub", "mul", "div", "eq", "ne"]
# Of tensors of two dims.
CALLS = {
    "sum": lambda m, x: (m.sum(x), m.sum(x, 0), x.sum(1, keepdim=True)),
    "prod": lambda m, x: (m.prod(x), m.prod(x, 1)),
    "mean": lambda m, x: (x.mean(), x.mean(0)),
    "var": lambda m, x: (m.var(x), m.std(x), m.var(x, 0), m.var(x, 1, correction=0)),
    "cumsum": lambda m, x: m.cumsum(x, 1),
    "any": lambda m, x: (x.any(), x.all()),
    "matmul": lambda m, x: (x @ x.t(), m.mm(x, x.t()), m.mv(x, x[0]), m.dot(x[0], x[0])),
    "addmm": lambda m, x: m.addmm(x @ x.t(), x, x.t(), beta=2, alpha=0.5),
    "outer": lambda m, x: m.outer(x[0], x[1]),
    "views": lambda m, x: (x.t(), x.view(-1), x.real, x.imag, m.view_as_real(x), x[:, ::2], x.unsqueeze(0)),
    "view_as_complex": lambda m, x: m.view_as_complex(m.view_as_real(x) * 2),
    "joins": lambda m, x: (m.cat([x, x]), m.stack([x, x * 1j]), m.cat([x, x.real])),
    "moves": lambda m, x: (m.flip(x, [0]), m.roll(x, 1), x.repeat(2, 1), x.clone(), x.t().contiguous()),
    "index": lambda m, x: (x[m.tensor([1, 0])], x[x.abs() > 2], m.index_select(x, 1, m.tensor([2, 0]))),
    "where": lambda m, x: (m.where(x.abs() > 2, x, 0), m.where(x.real > 0, x, x * 2)),
    "nonzero": lambda m, x: m.nonzero(x - x[0]).contiguous(),
    "triangles": lambda m, x: (m.tril(x), m.triu(x)),
    "creation": lambda m, x: (
        m.zeros_like(x),
        m.ones_like(x),
        m.full_like(x, 2),
        x.new_zeros(2),
        m.eye(2, dtype=x.dtype),
    ),
    "casts": lambda m, x: (x.to(m.complex64), x.to(m.complex128), x.to(m.bool)),
    "numbers": lambda m, x: (x * 1j, 1j - x, x + 2, 0.5 * x, x / (1 + 1j), x == 1j, x**2, x**3, x**-1, x**0.5),
    "masked": lambda m, x: (x.masked_fill(x.real > 0, 1j), x.masked_fill(x.real > 0, 2.0)),
    "conj": lambda m, x: (x.conj() * x, m.conj_physical(x), m.angle(x)),
    "complex": lambda m, x: (m.complex(x.real, x.imag), m.polar(x.abs(), x.angle())),
    "alpha": lambda m, x: (m.add(x, x, alpha=2), m.sub(x, x, alpha=0.5)),
    "scaled sums": lambda m, x: (
        m.addmv(x[:, 0], x, x[0], alpha=0.5),
        m.addr(x, x[:, 0], x[0], beta=0.5, alpha=0.25),
        m.baddbmm(x.unsqueeze(0), x.unsqueeze(0), x[:, :1].unsqueeze(0).expand(1, 3, 4).mT @ x.unsqueeze(0), alpha=0.5),
    ),
    "addcmul": lambda m, x: (m.addcmul(x, x, x, value=0.5), m.addcdiv(x, x, x + 9, value=0.5)),
    "kinds in one": lambda m, x: (m.addcmul(x, x.real, x.imag), m.addcmul(x.real, x, x.imag[0, 0])),
    "adjoint": lambda m, x: (m.adjoint(x).resolve_conj(), x.real.adjoint(), x.unsqueeze(0).adjoint().resolve_conj()),
    "sgn": lambda m, x: (m.sgn(x), m.sgn(x - x[0]), m.sgn(x.real)),
    "isreal": lambda m, x: (m.isreal(x), m.isreal(x.real), m.isreal(m.complex(x.real, x.real * 0))),
    "sinc": lambda m, x: (m.sinc(x / 4), m.sinc(x - x[0])),
    "nan_to_num": lambda m, x: (
        m.nan_to_num(x),
        m.nan_to_num(m.complex(x.real / 0, x.imag - math.nan)),
        m.nan_to_num(m.complex(x.real / 0, x.imag - math.nan), 1.0, 2.0, 3.0),
    ),
    "isclose": lambda m, x: (m.isclose(x, x + 1e-9), m.tensor(m.allclose(x, x + 1e-9)), m.tensor(m.equal(x, x))),
    "facts": lambda m, x: (m.tensor(x.is_complex()), m.tensor(x.is_floating_point()), m.tensor(x.element_size())),
}


def numbers(rows=3, columns=4):
    return [[complex(i - 1.5, j - i / 2) for j in range(columns)] for i in range(rows)]


def made(library, dtype, values=None):
    return library.tensor(numbers() if values is None else values, dtype=getattr(library, dtype))


def flat(result):
    return [part for each in result for part in flat(each)] if isinstance(result, (tuple, list)) else [result]


def is_close(a, b, tolerance):
    if not isinstance(b, complex):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    far = [each for each in (a.real - b.real, a.imag - b.imag) if abs(each) > tolerance * max(1, abs(b))]
    is_finite = cmath.isfinite(a) and cmath.isfinite(b)
    return (is_finite and not far) or (not cmath.isfinite(a) and not cmath.isfinite(b))


def assert_alike(ours, theirs):
    for x, y in zip(flat(ours), flat(theirs), strict=True):
        assert str(x.dtype).split(".")[1] == str(y.dtype).split(".")[1]
        assert tuple(x.shape) == tuple(y.shape) and (x.numel() == 0 or x.stride() == y.stride())
        tolerance = 1e-12 if "128" in str(y.dtype) or "64" in str(y.dtype).removeprefix("torch.complex64") else 1e-5
        values = zip(x.reshape(-1).tolist(), y.reshape(-1).resolve_conj().tolist(), strict=True)
        assert all(is_close(a, b, tolerance) for a, b in values), (x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_against_torch(name, dtype):
    torch = pytest.importorskip("torch")
    function, theirs = getattr(md, name), getattr(torch, name)
    for values in (numbers(), [], 1.5 - 2j):
        assert_alike(function(made(md, dtype, values)), theirs(made(torch, dtype, values)))
    ours, wide = made(md, dtype)[:, ::2], made(torch, dtype)[:, ::2]
    assert_alike(function(ours), theirs(wide))
    compiled = md.compile(lambda x: function(x), fullgraph=True)
    assert_alike(compiled(ours), theirs(wide))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_operands_against_torch(name, dtype):
    torch = pytest.importorskip("torch")
    function, theirs = getattr(md, name), getattr(torch, name)
    for other in [*REAL, *DTYPES][name == "sub" :]:
        plain = [[1, 2, 3, 4]] * 3
        pairs = [(made(md, dtype), made(torch, dtype)), (made(md, other, plain), made(torch, other, plain))]
        for (a, x), (b, y) in itertools.permutations(pairs):
            assert_alike(function(a, b), theirs(x, y))
            assert_alike(function(a, b[0, 0]), theirs(x, y[0, 0]))
            assert_alike(md.compile(lambda a, b: function(a, b), fullgraph=True)(a, b), theirs(x, y))
        for number in (2, 0.5, True, 1j, 2 - 1j):
            a, x = pairs[1]
            if number is not True or name != "sub":
                assert_alike(function(a, number), theirs(x, number))
                assert_alike(md.compile(lambda a: function(a, number), fullgraph=True)(a), theirs(x, number))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "exp", "sqrt", "neg", "abs", "isnan", "isinf", "isfinite"])
def test_special_values_against_torch(name, dtype):
    torch = pytest.importorskip("torch")
    values = [complex(*parts) for parts in itertools.product(PARTS, PARTS)]
    a, x = made(md, dtype, values), made(torch, dtype, values)
    binary = name in BINARY
    assert_alike(
        getattr(md, name)(a, a.flip(0)) if binary else getattr(md, name)(a),
        getattr(torch, name)(x, x.flip(0)) if binary else getattr(torch, name)(x),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_calls_against_torch(name, dtype):
    torch = pytest.importorskip("torch")
    assert_alike(CALLS[name](md, made(md, dtype)), CALLS[name](torch, made(torch, dtype)))
    compiled = md.compile(lambda x: CALLS[name](md, x))
    assert_alike(compiled(made(md, dtype)), CALLS[name](torch, made(torch, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_texts_are_those_of_torch(dtype):
    torch = pytest.importorskip("torch")
    for values in (
        numbers(),
        [1j, -0.5],
        [complex(math.nan, math.inf), 1e10],
        2 - 1j,
        [],
        [complex(i, -i) for i in range(40)],
    ):
        ours, theirs = repr(made(md, dtype, values)), repr(made(torch, dtype, values))
        assert ours.replace("minidynamo.", "torch.") == theirs


@pytest.mark.parametrize("dtype", DTYPES)
def test_interchange(dtype):
    array = np.array(numbers(), dtype)
    tensor = md.from_numpy(array)
    assert tensor.dtype == getattr(md, dtype) and np.asarray(tensor).dtype == array.dtype
    tensor[0, 0] = 5j
    assert array[0, 0] == 5j
    for again in (md.from_dlpack(array), md.from_dlpack(tensor), pickle.loads(pickle.dumps(tensor)), md.tensor(array)):
        assert again.dtype == tensor.dtype and again.tolist() == array.tolist()
    assert np.from_dlpack(tensor).tolist() == array.tolist()
    assert complex(tensor[0, 0]) == tensor[0, 0].item() == 5j


def test_names_and_dtypes():
    assert md.cfloat is md.complex64 and md.cdouble is md.complex128
    assert md.complex64.is_complex and not md.complex64.is_floating_point and md.complex128.itemsize == 16
    assert md.tensor(1j).dtype is md.complex64 and md.tensor([1, 2.5, 1j]).dtype is md.complex64
    assert md.promote_types(md.float64, md.complex64) is md.complex128
    assert md.promote_types(md.int64, md.complex64) is md.complex64
    assert md.result_type(md.tensor([1.0]), 1j) is md.complex64
    assert md.zeros(2, dtype=complex).dtype is md.complex128


def test_writes():
    x = md.zeros(3, dtype=md.complex64)
    x[0] = 1 + 2j
    x[1:] = md.tensor([3.0, 4.0])
    x += 1j
    x *= x
    x.real[2] = 9
    assert x.tolist() == [(1 + 3j) ** 2, (3 + 1j) ** 2, complex(9, 8)]
    assert x.fill_(1j).tolist() == [1j] * 3

    @md.compile
    def compiled(x):
        x[0] = 2j
        x[1:] *= 1 - 1j
        return x.real, x + 1

    y = md.tensor([1j, 2, 3])
    parts, more = compiled(y)
    assert (
        y.tolist() == [2j, 2 - 2j, 3 - 3j] and parts.tolist() == [0, 2, 3] and more.tolist() == [1 + 2j, 3 - 2j, 4 - 3j]
    )


REFUSED = {
    "floor": lambda x: md.floor(x),
    "less": lambda x: x < x,
    "max": lambda x: x.max(),
    "sort": lambda x: x.sort(),
    "clamp": lambda x: x.clamp(0, 1),
    "remainder": lambda x: x % 2,
    "floor_divide": lambda x: x // 2,
    "relu": lambda x: md.relu(x),
    "atan2": lambda x: md.atan2(x, x),
    "softmax": lambda x: md.softmax(x, 0),
    "into reals": lambda x: md.zeros(3).add_(x),
    "a number into reals": lambda x: md.zeros(3).fill_(1j),
    "two dtypes": lambda x: x @ x.to(md.complex128),
    "imag of reals": lambda x: x.real.imag,
    "parts of reals": lambda x: md.view_as_real(x.real),
    "pairs": lambda x: md.view_as_complex(md.zeros(3)),
    "complex of ints": lambda x: md.complex(md.tensor([1]), md.tensor([1])),
    "halves": lambda x: md.zeros(2, dtype=md.float16) * 1j,
    "bits": lambda x: x & x,
    "random integers": lambda x: md.randint(3, (2,), dtype=md.complex64),
    "H": lambda x: x.unsqueeze(0).H,
    "isposinf": lambda x: md.isposinf(x),
    "isneginf": lambda x: md.isneginf(x),
    "deg2rad": lambda x: md.deg2rad(x),
    "rad2deg": lambda x: md.rad2deg(x),
    "sign": lambda x: md.sign(x),
    "in place of reals": lambda x: md.ones(3).xlogy_(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    x = md.tensor([1j, 2, 3])
    with pytest.raises(RuntimeError) as plain:
        REFUSED[name](x)
    with pytest.raises(RuntimeError) as compiled:
        md.compile(REFUSED[name])(x)
    assert str(plain.value) == str(compiled.value)


@pytest.mark.parametrize("function", [md.abs, md.exp, md.acos, md.sum, md.mean, md.neg, md.conj])
def test_functions_of_tensors_take_no_numbers(function):
    with pytest.raises(TypeError):
        function(1j)


# Functions of real numbers alone, in torch as well.
OF_REALS = {
    **{name: name for name in ("lgamma", "digamma", "erfinv", "i0", "logit")},
    **{
        f"special.{name}": f"special.{name}"
        for name in (
            *("i0e", "i1", "i1e", "entr", "erfcx", "ndtr", "ndtri", "log_ndtr", "bessel_j0", "bessel_j1", "bessel_y0"),
            *("bessel_y1", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "spherical_bessel_j0"),
            *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
        )
    },
}
OF_TWO_REALS = ["xlogy", "logaddexp2", "special.xlog1py", "special.zeta", "special.chebyshev_polynomial_t"]


@pytest.mark.parametrize("name", [*OF_REALS, *OF_TWO_REALS])
def test_functions_of_real_numbers_refuse_complex_ones(name):
    torch = pytest.importorskip("torch")
    for library in (torch, md):
        x = library.tensor([1 + 2j, 0.5])
        function = operator.attrgetter(name)(library)
        with pytest.raises(NotImplementedError):
            function(*[x] * (1 + (name in OF_TWO_REALS)))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_polygamma_refuses_complex_numbers(n):
    with pytest.raises(NotImplementedError):
        md.polygamma(n, md.tensor([1j]))
    with pytest.raises(NotImplementedError):
        md.mvlgamma(md.tensor([1j]), 1 + n)


def test_complex_numbers_are_no_indices():
    x = md.tensor([1j, 2])
    for call in (lambda: md.ones(3)[x], md.compile(lambda: md.ones(3)[x]), lambda: md.ones(3).__setitem__(x, 1)):
        with pytest.raises(IndexError, match="tensors used as indices must be long"):
            call()


def test_gradients_may_be_required():
    torch = pytest.importorskip("torch")
    for m in (md, torch):
        x = m.tensor([1j, 2], requires_grad=True)
        assert x.requires_grad and (x * 2).requires_grad and m.zeros(2, dtype=m.complex64, requires_grad=True).is_leaf
        assert x.detach().requires_grad_().requires_grad and not (x == x).requires_grad and x.abs().requires_grad
    assert md.compile(lambda x: x * 2, fullgraph=True)(md.tensor([1j], requires_grad=True)).requires_grad


def test_modules_convert_complex_parameters():
    layer = md.nn.Module()
    layer.weight = md.nn.Parameter(md.tensor([1j, 2]))
    layer.register_buffer("count", md.tensor([3]))
    layer.to(md.complex128)
    assert layer.weight.dtype is md.complex128 and layer.count.dtype is md.int64


# Views of another dtype of a tensor behind the start of its memory: the offset counts other elements.
WIDTHS = {
    "pairs": ("float32", lambda x: md.view_as_complex(x.reshape(-1, 2))),
    "pairs and more": ("float32", lambda x: md.view_as_complex(x.reshape(-1, 2))[1:]),
    "parts": ("complex64", lambda x: md.view_as_real(x)),
    "parts and more": ("complex64", lambda x: md.view_as_real(x)[1:, 1]),
    "real": ("complex128", lambda x: x.real),
    "imag": ("complex128", lambda x: x.imag[1:]),
    "there and back": ("complex64", lambda x: md.view_as_complex(md.view_as_real(x)[2:])),
}


@pytest.mark.parametrize("made", [False, True], ids=["argument", "computed"])
@pytest.mark.parametrize("offset", [0, 2, 4, 6])
@pytest.mark.parametrize("name", WIDTHS)
def test_offsets_of_views_of_another_dtype(name, offset, made):
    dtype, view = WIDTHS[name]

    def program(base):
        memory = base + 1 if made else base
        return view(memory[offset:14])

    base = md.arange(16.0).to(getattr(md, dtype))
    part = base[offset:14]
    for compiled, given in ((md.compile(program), base), (md.compile(view), part)):
        for _ in range(2):
            expected = (program if given is base else view)(given)
            found = compiled(given)
            assert found.tolist() == expected.tolist()
            assert found.storage_offset() == expected.storage_offset() or made
