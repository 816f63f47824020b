"""Ops against NumPy, over dtypes, strides, broadcasting, 0-d and empty shapes; and against torch where it is installed."""

import inspect
import math

import pytest

import minidynamo as md
import minidynamo.nn.functional as F  # noqa: N812
from minidynamo import _C

np = pytest.importorskip("numpy")

FLOATS = (md.float16, md.float32, md.float64)
INTEGERS = (md.uint8, md.int8, md.int16, md.int32, md.int64)
# Relative to the size of the result; includes transcendental functions of low precision.
TOLERANCE = {md.float16: 2e-3, md.float32: 2e-6, md.float64: 1e-12}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.7, 100.0, math.inf, -math.inf, math.nan]


def numpy_dtype(dtype):
    return str(dtype).partition(".")[2]


def layouts(dtype):
    """The same data in several layouts: (tensor, array)."""
    values = np.array(SPECIAL if dtype in FLOATS else [0, 1, 2, 3, 5, 7, 11, 100, 126, 1, 0, 2, 9])
    data = np.resize(values, (3, 4, 5)).astype(numpy_dtype(dtype))
    whole = md.tensor(data)
    yield whole, data
    yield whole.permute(2, 0, 1), data.transpose(2, 0, 1)
    yield whole[:, 1:3, ::2], data[:, 1:3, ::2]
    yield whole[1, 2, 3], data[1, 2, 3]
    yield whole[:0], data[:0]
    yield whole[0, :1].expand(6, 5), np.broadcast_to(data[0, :1], (6, 5))
    yield md.tensor(np.resize(data, (1037,))), np.resize(data, (1037,))


def assert_same(ours, theirs, dtype=None):
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape
    got = np.asarray(ours.tolist() if ours.dtype is md.bfloat16 else ours.numpy())
    if got.dtype.kind in "f":
        tolerance = TOLERANCE.get(dtype or ours.dtype, 1e-2)
        np.testing.assert_allclose(got, theirs.astype(got.dtype), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(got, theirs.astype(got.dtype))


UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "reciprocal": lambda a: 1 / a,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "relu": lambda a: np.where(a < 0, 0, a),
    "erf": np.vectorize(math.erf, otypes=[float]),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_unary_of_floats(name, dtype):
    for x, a in layouts(dtype):
        with np.errstate(all="ignore"):
            # In float64, then rounded: the best result that the dtype can hold.
            expected = UNARY[name](a.astype(np.float64))
            if name == "sign":
                expected = np.nan_to_num(expected)  # torch's sign of NaN is 0
            if expected.dtype.kind == "f":
                expected = expected.astype(a.dtype)
        assert_same(getattr(md, name)(x), expected, dtype)
        assert_same(getattr(x, name)(), expected, dtype)


@pytest.mark.parametrize("name", ["abs", "sign", "square", "floor", "ceil", "trunc", "round", "relu", "neg"])
def test_unary_of_integers(name):
    for dtype in INTEGERS:
        for x, a in layouts(dtype):
            expected = UNARY[name](a)
            assert_same(getattr(md, name)(x), expected)
            assert getattr(md, name)(x).dtype is dtype


def test_float_functions_of_integers():
    for dtype in (*INTEGERS, md.bool):
        for x, a in layouts(dtype):
            result = md.exp(x)
            assert result.dtype is md.float32
            with np.errstate(all="ignore"):
                assert_same(result, np.exp(a.astype(np.float32)))


def test_bitwise_not():
    assert (~md.tensor([True, False])).tolist() == [False, True]
    assert (~md.tensor([0, 5])).tolist() == [-1, -6]
    with pytest.raises(TypeError, match="bitwise_not"):
        ~md.ones(2)


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "atan2": np.arctan2,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", (*FLOATS, *INTEGERS), ids=repr)
def test_binary(name, dtype):
    for x, a in layouts(dtype):
        for y, b in (
            (x, a),
            (x[..., :1], a[..., :1]) if x.ndim else (x, a),
            (md.tensor(2, dtype=dtype), np.array(2, numpy_dtype(dtype))),
        ):
            with np.errstate(all="ignore"):
                floats = dtype in FLOATS
                expected = BINARY[name](a.astype(np.float64), np.float64(b)) if floats else BINARY[name](a, b)
                if name == "atan2" and not floats:
                    expected = np.arctan2(a.astype(np.float32), np.float32(b))
                if floats and expected.dtype.kind == "f":
                    expected = expected.astype(a.dtype)
            ours = getattr(md, name)(x, y)
            if name in ("div", "atan2") and not floats:
                assert ours.dtype is md.float32
                assert_same(ours, expected, md.float32)
                continue
            assert_same(ours, expected, dtype)
            assert_same(getattr(x, name)(y), expected, dtype)


def test_operators():
    x, y = md.tensor([5.0, -7.5]), md.tensor([2.0, 2.0])
    for name, ours, theirs in [
        ("+", x + y, [7.0, -5.5]),
        ("-", x - y, [3.0, -9.5]),
        ("*", x * y, [10.0, -15.0]),
        ("/", x / y, [2.5, -3.75]),
        ("//", x // y, [2.0, -4.0]),
        ("%", x % y, [1.0, 0.5]),
        ("**", x**y, [25.0, 56.25]),
        ("r+", 1 + x, [6.0, -6.5]),
        ("r-", 1 - x, [-4.0, 8.5]),
        ("r/", 10 / y, [5.0, 5.0]),
        ("r//", 7 // y, [3.0, 3.0]),
        ("r%", 7 % y, [1.0, 1.0]),
        ("r**", 2**y, [4.0, 4.0]),
        ("neg", -x, [-5.0, 7.5]),
        ("pos", +x, [5.0, -7.5]),
        ("abs", abs(x), [5.0, 7.5]),
        ("<", x < y, [False, True]),
        ("r<", 2 > x, [False, True]),
        ("==", x == 5, [True, False]),
        ("!=", x != y, [True, True]),
        ("@", x @ y, -5.0),
    ]:
        assert ours.tolist() == theirs, name
    i, j = md.tensor([6, 3]), md.tensor([3, 5])
    for name, ours, theirs in [
        ("&", i & j, [2, 1]),
        ("|", i | j, [7, 7]),
        ("^", i ^ j, [5, 6]),
        ("<<", i << 1, [12, 6]),
        (">>", i >> 1, [3, 1]),
        ("r&", 4 & i, [4, 0]),
        ("//", -i // 4, [-2, -1]),
        ("%", -i % 4, [2, 1]),
        ("**", i**2, [36, 9]),
    ]:
        assert ours.tolist() == theirs, name
        assert ours.dtype is md.int64


def test_integer_division_by_zero():
    for op in (lambda x: x // 0, lambda x: x % 0):
        with pytest.raises(RuntimeError, match="(?i)zero"):
            op(md.tensor([1, 2]))
    assert (md.tensor([1.0]) // 0).tolist() == [math.inf]


def test_alpha_and_rounding():
    x, y = md.tensor([1.0, 2.0]), md.tensor([3.0, -3.5])
    assert md.add(x, y, alpha=2).tolist() == [7.0, -5.0]
    assert x.sub(y, alpha=0.5).tolist() == [-0.5, 3.75]
    assert md.div(y, x, rounding_mode="floor").tolist() == [3.0, -2.0]
    assert md.div(y, x, rounding_mode="trunc").tolist() == [3.0, -1.0]
    with pytest.raises((RuntimeError, ValueError), match="rounding_mode"):
        md.div(x, y, rounding_mode="up")


def test_where_clamp_lerp():
    for x, a in layouts(md.float32):
        assert_same(md.where(x > 1, x, -1.0), np.where(a > 1, a, np.float32(-1)))
        assert_same(x.clamp(-1, 2), np.clip(a, -1, 2))
        assert_same(x.clamp(min=0), np.maximum(a, 0))
        assert_same(md.clamp(x, max=x * 0 + 1), np.minimum(a, np.where(np.isfinite(a), 1, np.nan)))
    assert md.where(md.tensor([True, False]), 1, 2).tolist() == [1, 2]
    assert md.lerp(md.zeros(2), md.ones(2), 0.25).tolist() == [0.25, 0.25]
    with pytest.raises(RuntimeError, match="clamp"):
        md.clamp(md.ones(2))
    with pytest.raises(RuntimeError, match="where.*bool"):
        md.where(md.ones(2), 1, 2)


REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
    "var": lambda a, **k: np.var(a, ddof=1, **k),
    "std": lambda a, **k: np.std(a, ddof=1, **k),
    "any": np.any,
    "all": np.all,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [md.float32, md.float64], ids=repr)
def test_reductions(name, dtype):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(3, 4, 5)).astype(numpy_dtype(dtype))
    for x, a in ((md.tensor(data), data), (md.tensor(data).permute(2, 0, 1), data.transpose(2, 0, 1))):
        reduce = REDUCTIONS[name]
        assert_same(getattr(x, name)(), reduce(a))
        for dim in (0, 1, -1, (0, 2), (1,)):
            assert_same(getattr(x, name)(dim), reduce(a, axis=dim))
            assert_same(getattr(md, name)(x, dim=dim, keepdim=True), reduce(a, axis=dim, keepdims=True))
            assert_same(getattr(md, name)(x, axis=dim, keepdims=True), reduce(a, axis=dim, keepdims=True))


def test_reductions_of_integers():
    for dtype in (*INTEGERS, md.bool):
        for x, a in layouts(dtype):
            assert_same(x.sum(), np.sum(a, dtype=np.int64))
            assert x.sum().dtype is md.int64
            assert_same((x > 1).any(), np.any(a > 1))
    assert md.ones(3, dtype=md.int32).sum(dtype=md.float64).dtype is md.float64
    with pytest.raises((RuntimeError, NotImplementedError), match="mean"):
        md.ones(3, dtype=md.int32).mean()


def test_reductions_of_empty_tensors():
    empty = md.zeros(0, 3)
    assert empty.sum().item() == 0 and empty.sum(0).tolist() == [0, 0, 0] and empty.sum(1).shape == (0,)
    assert empty.prod().item() == 1 and empty.all().item() is True and empty.any().item() is False
    assert math.isnan(empty.mean().item())
    for name in ("max", "amax", "argmax"):
        with pytest.raises((RuntimeError, IndexError), match=name.replace("max", "max")):
            getattr(empty, name)()


def test_max_min_and_their_indices():
    data = np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 7.0]], dtype=np.float32)
    x = md.tensor(data)
    assert x.max().item() == 7 and x.min().item() == 0
    values, indices = x.max(1)
    assert values.tolist() == [5, 7] and indices.tolist() == [1, 0] and indices.dtype is md.int64
    result = md.min(x, dim=0, keepdim=True)
    assert result.values.tolist() == [[1, 0, 2]] and result.indices.tolist() == [[0, 1, 0]]
    assert repr(type(result)) == "<class 'minidynamo.return_types.min'>"
    assert md.max(x, md.tensor(3.0)).tolist() == [[3, 5, 3], [7, 3, 7]]
    assert x.argmax().item() == 3 and x.argmin(dim=1).tolist() == [0, 1]
    assert x.argmax(1, keepdim=True).tolist() == [[1], [0]]
    assert math.isnan(md.tensor([1.0, math.nan, 2.0]).max().item())
    assert md.tensor([1.0, math.nan, 2.0]).argmax().item() == 1
    with pytest.raises(TypeError, match=r"max\(\) received an invalid combination of arguments"):
        x.max("a")


def test_softmax():
    data = np.random.default_rng(1).normal(size=(3, 7)).astype(np.float32) * 10
    x = md.tensor(data)
    for dim in (0, 1, -1):
        shifted = np.exp(data.astype(np.float64) - data.max(axis=dim, keepdims=True))
        expected = shifted / shifted.sum(axis=dim, keepdims=True)
        assert_same(md.softmax(x, dim), expected.astype(np.float32))
        assert_same(F.softmax(x, dim=dim), expected.astype(np.float32))
        np.testing.assert_allclose(x.log_softmax(dim).numpy(), np.log(expected), rtol=1e-4, atol=1e-5)
    assert F.softmax(x, 1, dtype=md.float64).dtype is md.float64


def test_matrix_products():
    rng = np.random.default_rng(2)
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
    ]
    shapes += [((4, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 64), (64, 33))]
    for dtype in (md.float32, md.float64):
        for left, right in shapes:
            a = rng.normal(size=left).astype(numpy_dtype(dtype))
            b = rng.normal(size=right).astype(numpy_dtype(dtype))
            np.testing.assert_allclose((md.tensor(a) @ md.tensor(b)).numpy(), a @ b, rtol=1e-4, atol=1e-5)
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(4, 5))
    np.testing.assert_allclose((md.tensor(a).T @ md.tensor(b)).numpy(), a.T @ b)
    assert md.mm(md.ones(2, 3), md.ones(3, 2)).tolist() == [[3, 3], [3, 3]]
    assert md.bmm(md.ones(2, 1, 3), md.ones(2, 3, 1)).shape == (2, 1, 1)
    assert md.addmm(md.ones(2), md.ones(2, 3), md.ones(3, 2), beta=2, alpha=0.5).tolist() == [[3.5, 3.5]] * 2
    assert (md.tensor([[1, 2]]) @ md.tensor([[3], [4]])).tolist() == [[11]]


def test_linear_and_activations():
    rng = np.random.default_rng(3)
    a, w, b = (rng.normal(size=size).astype(np.float32) for size in ((5, 3), (4, 3), (4,)))
    x, weight, bias = md.tensor(a), md.tensor(w), md.tensor(b)
    np.testing.assert_allclose(F.linear(x, weight).numpy(), a @ w.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(F.linear(x, weight, bias).numpy(), a @ w.T + b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        F.linear(input=x[None], weight=weight, bias=bias).numpy(), (a @ w.T + b)[None], rtol=1e-5, atol=1e-6
    )
    erf = np.vectorize(math.erf)
    np.testing.assert_allclose(F.gelu(x).numpy(), a * 0.5 * (1 + erf(a / math.sqrt(2))), rtol=1e-5, atol=1e-6)
    inner = math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)
    np.testing.assert_allclose(
        F.gelu(x, approximate="tanh").numpy(), 0.5 * a * (1 + np.tanh(inner)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(F.silu(x).numpy(), a / (1 + np.exp(-a)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(F.leaky_relu(x, 0.1).numpy(), np.where(a > 0, a, 0.1 * a), rtol=1e-5)
    np.testing.assert_allclose(F.elu(x, 2.0).numpy(), np.where(a > 0, a, 2 * np.expm1(a)), rtol=1e-5, atol=1e-6)
    assert F.relu(x).tolist() == np.maximum(a, 0).tolist()
    normal = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(x, (3,)).numpy(), normal, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="gelu"):
        F.gelu(x, approximate="q")


def test_views():
    data = np.arange(24.0).reshape(2, 3, 4)
    x = md.tensor(data)
    for ours, theirs in [
        (x.view(6, 4), data.reshape(6, 4)),
        (x.view((4, -1)), data.reshape(4, 6)),
        (x.view(md.Size([24])), data.reshape(24)),
        (x.reshape(-1), data.reshape(-1)),
        (md.reshape(x.permute(2, 0, 1), (8, 3)), data.transpose(2, 0, 1).reshape(8, 3)),
        (x.permute(2, 0, 1), data.transpose(2, 0, 1)),
        (md.permute(x, (1, 0, 2)), data.transpose(1, 0, 2)),
        (x.transpose(0, -1), data.swapaxes(0, -1)),
        (x[0].t(), data[0].T),
        (x[:1].squeeze(), data[0]),
        (x[:1].squeeze(0), data[0]),
        (x.unsqueeze(1), data[:, None]),
        (x[:, :1].expand(2, 5, 4), np.broadcast_to(data[:, :1], (2, 5, 4))),
        (x[:, :1].expand(-1, 5, -1), np.broadcast_to(data[:, :1], (2, 5, 4))),
        (x.flatten(), data.reshape(-1)),
        (x.flatten(1), data.reshape(2, 12)),
        (x.select(1, 2), data[:, 2]),
        (x.narrow(2, 1, 2), data[:, :, 1:3]),
        (x.permute(2, 1, 0).contiguous(), data.transpose(2, 1, 0)),
        (x.permute(2, 1, 0).clone(), data.transpose(2, 1, 0)),
    ]:
        assert_same(ours, theirs)
    assert x.view(6, 4).data_ptr() == x.data_ptr()
    assert x.contiguous() is x and x.permute(2, 1, 0).contiguous().is_contiguous()
    parts = x.split(2, dim=2)
    assert isinstance(parts, tuple) and [p.shape for p in parts] == [(2, 3, 2), (2, 3, 2)]
    assert [p.shape[1] for p in md.split(x, [1, 2], 1)] == [1, 2]
    assert [p.shape[1] for p in x.chunk(2, 1)] == [2, 1]
    assert [p.tolist() for p in md.unbind(x[0])] == data[0].tolist()


def test_joining_and_picking():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0, 12.0).reshape(2, 3)
    x, y = md.tensor(a), md.tensor(b)
    assert_same(md.cat([x, y]), np.concatenate([a, b]))
    assert_same(md.cat((x, y.T.T, x), dim=1), np.concatenate([a, b, a], 1))
    assert_same(md.concat([x, y], axis=-1), np.concatenate([a, b], -1))
    assert_same(md.stack([x, y], 1), np.stack([a, b], 1))
    assert_same(md.index_select(x, 1, md.tensor([2, 0])), a[:, [2, 0]])
    assert_same(x.gather(1, md.tensor([[0, 0], [2, 1]])), np.take_along_axis(a, np.array([[0, 0], [2, 1]]), 1))
    assert_same(x.masked_fill(x > 2, -1), np.where(a > 2, -1, a))
    assert_same(F.embedding(md.tensor([1, 0, 1]), x), a[[1, 0, 1]])
    assert_same(md.tril(x), np.tril(a))
    assert_same(x.triu(1), np.triu(a, 1))
    assert_same(x.cumsum(1), np.cumsum(a, 1))
    for wrong in (5, -3):
        with pytest.raises((IndexError, RuntimeError), match="index_select"):
            md.index_select(x, 1, md.tensor([wrong]))


def test_creation():
    assert md.zeros(2, 3).tolist() == [[0] * 3] * 2 and md.ones((2,), dtype=md.int8).dtype is md.int8
    assert md.zeros(()).shape == () and md.empty(0).shape == (0,) and md.ones(md.Size([1, 2])).shape == (1, 2)
    assert md.full((2,), 7).dtype is md.int64 and md.full((2,), 1.5).tolist() == [1.5, 1.5]
    assert md.full([1], True).dtype is md.bool
    assert md.arange(3).tolist() == [0, 1, 2] and md.arange(1, 2, 0.5).tolist() == [1, 1.5]
    assert md.arange(5, 1, -2).tolist() == [5, 3] and md.arange(3.0).dtype is md.float32
    assert md.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert md.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = md.ones(2, 3, dtype=md.float64, device="cpu", requires_grad=True)
    assert x.requires_grad and x.is_leaf
    assert md.zeros_like(x).dtype is md.float64 and not md.zeros_like(x).requires_grad
    assert md.full_like(x, 3).tolist() == [[3] * 3] * 2 and md.ones_like(x, dtype=md.int32).dtype is md.int32
    assert x.new_zeros(2).dtype is md.float64 and x.new_full((1,), 2).tolist() == [2]
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        md.ones(2, dtype=md.int32, requires_grad=True)
    with pytest.raises(RuntimeError, match="ones.*'cuda'"):
        md.ones(2, device="cuda")


def test_random():
    md.manual_seed(3)
    a, b = md.rand(4, 5), md.randn(1000)
    md.manual_seed(3)
    assert (md.rand(4, 5) == a).all() and (md.randn(1000) == b).all()
    assert 0 <= a.min().item() and a.max().item() < 1
    assert abs(b.mean().item()) < 0.2 and abs(b.std().item() - 1) < 0.1
    assert not (md.rand(10) == md.rand(10)).all()
    assert md.rand(2, dtype=md.float64).dtype is md.float64 and md.randn_like(a).shape == a.shape
    md.manual_seed(-1)
    for wrong in ("a", 2**65, None):
        with pytest.raises((TypeError, ValueError), match="manual_seed"):
            md.manual_seed(wrong)


def test_equal_and_allclose():
    x = md.tensor([1.0, 2.0])
    assert md.equal(x, x.clone()) and not md.equal(x, x + 1) and not md.equal(x, md.ones(3))
    assert md.allclose(x, x + 1e-9) and not md.allclose(x, x + 1e-3) and md.allclose(x, x + 1e-3, atol=1e-2)
    nan = md.tensor([math.nan])
    assert not md.allclose(nan, nan) and md.allclose(nan, nan, equal_nan=True)
    assert x.equal(x) and x.allclose(x)
    for wrong in (1, "a"):
        with pytest.raises(TypeError, match="equal"):
            md.equal(x, wrong)
        with pytest.raises(TypeError, match="allclose"):
            md.allclose(x, wrong)
    with pytest.raises(RuntimeError, match="did not match"):
        md.allclose(x, x.double())


def test_names_of_parameters_are_those_of_torch():
    x = md.tensor([1.0, -2.0])
    assert md.abs(input=x).tolist() == [1, 2] and md.add(input=x, other=1).tolist() == [2, -1]
    assert md.multiply(x, 2).tolist() == (x * 2).tolist() and md.clip(x, 0).tolist() == [1, 0]


def test_functions_describe_themselves():
    assert md.add.__name__ == "add" and md.add.__module__ == "minidynamo"
    assert md.add.__doc__.startswith("add(Number self, Number other, *, Scalar alpha=1) -> Tensor")
    assert str(inspect.signature(md.add)) == "(self, other, *, alpha=1, out=None)"
    assert "add(" in md.Tensor.add.__doc__
    assert F.gelu.__module__ == "minidynamo.nn.functional"
    for row in _C._op_rows():
        name = row["name"].partition(".")[0]
        assert not row["function"] or row["schema"] in getattr(md, name).__doc__
        assert not row["method"] or row["schema"] in getattr(md.Tensor, name).__doc__
        assert not row["functional"] or row["schema"] in getattr(F, name).__doc__


# ---- torch as the oracle ----

# Values to try for each type of parameter; the first that torch accepts as well is compared.
ARGUMENTS = {
    "Tensor": ["x"],
    "Number": ["x", 2],
    "Number?": [None, 1],
    "Scalar": [2],
    "Scalar?": [1],
    "int": [0, 1],
    "int?": [None, 1],
    "int[]?": [None, 1, (0, 1)],
    "bool": [False, True],
}


def calls(row):
    """Argument lists for a row whose parameters are all of the types above."""
    inner = row["schema"][row["schema"].index("(") + 1 : row["schema"].rindex(") ->")]
    lists = [[]]
    for part in inner.split(", ") if inner else []:
        kind, _, rest = part.rpartition(" ")
        if part == "*" or rest.startswith("dtype=") or rest.startswith("alpha=") or rest.startswith("correction="):
            break
        if kind not in ARGUMENTS:
            return []
        lists = [[*head, value] for head in lists for value in ARGUMENTS[kind]]
    return lists


COMPARED_KINDS = ("PointwiseUnary", "PointwiseBinary", "PointwiseTernary", "Compare", "Reduction", "Softmax", "View")
# Of tensors that the calls below do not have, of one number, of complex numbers or of pairs: in op_samples.py.
OF_OTHER_TENSORS = ("narrow.tensor", "view_as_real", "view_as_complex")
COMPARED = [
    row
    for row in _C._op_rows()
    if row["kind"] in COMPARED_KINDS and row["function"] and row["name"] not in OF_OTHER_TENSORS and calls(row)
]


@pytest.mark.parametrize("row", COMPARED, ids=[row["name"] for row in COMPARED])
def test_against_torch(row):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    compared = 0
    for dtype in ("float32", "float64", "int64", "int32", "uint8", "bool"):
        data = (rng.normal(size=(3, 4)) * 3).astype(dtype)
        for arguments in calls(row):
            for layout in (lambda t: t, lambda t: t.T, lambda t: t[1:, ::2]):

                def made(module, array, arguments=arguments, layout=layout):
                    return [layout(module.tensor(array)) if value == "x" else value for value in arguments]

                name = row["name"].partition(".")[0]
                if name == "where" and dtype == "uint8":
                    continue  # torch accepts such a condition with a deprecation warning
                try:
                    expected = getattr(torch, name)(*made(torch, data))
                except Exception:  # where torch raises, eager may raise too; it must not crash
                    try:
                        getattr(md, name)(*made(md, data))
                    except Exception as error:
                        assert str(error)
                    continue
                ours = getattr(md, name)(*made(md, data))
                # A number to the power of a tensor: torch's result is row-major, ours has the layout of the tensor.
                compare_with_torch(ours, expected, strides=not (name == "pow" and arguments[0] == 2))
                compared += 1
    assert compared > 0


def compare_with_torch(ours, theirs, strides=True):
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare_with_torch(a, b)
        return
    assert repr(ours.dtype).split(".")[1] == repr(theirs.dtype).split(".")[1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride() or ours.numel() == 0 or not strides
    np.testing.assert_allclose(np.array(ours.tolist()), np.array(theirs.tolist()), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("offset", [3, -3, 2**31, -(2**31), 2**62, -(2**62), 2**63 - 1, -(2**63 - 1), -(2**63)])
def test_a_diagonal_far_outside_is_empty(offset):
    x = md.arange(9).reshape(3, 3)
    assert x.diagonal(offset).shape == (0,)
    assert md.compile(lambda x: x.diagonal(offset) + 1)(x).shape == (0,)


def test_covariances_of_integers():
    x = md.tensor([[2, 1, 0], [0, -1, 5]])
    for function in (md.cov, md.corrcoef):
        assert function(x).dtype == md.float32 and function(x).tolist() == function(x.float()).tolist()
        with pytest.raises(RuntimeError, match="bool dtype is not supported"):
            function(x > 0)
    assert md.adjoint(md.tensor(2.0)).tolist() == 2.0


def test_gather_and_scatter_take_indices_of_32_bits():
    x = md.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    index = md.tensor([[2, 0], [1, 1]], dtype=md.int32)
    wide = index.to(md.int64)
    assert x.gather(1, index).tolist() == [[3, 1], [5, 5]]
    assert x.scatter(1, index, 0.0).tolist() == x.scatter(1, wide, 0.0).tolist()
    assert x.scatter_add(1, index, x).tolist() == x.scatter_add(1, wide, x).tolist()
    with pytest.raises(RuntimeError, match="int32/int64"):
        x.gather(1, index.to(md.int16))
