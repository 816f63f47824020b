"""Ops on random tensors: eager and compiled against NumPy, and against torch where it is installed.

Dtype, shape, layout, special values and arguments are random. `python -m tests.drawn operations` runs more of them.
"""

import math

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")
hypothesis = pytest.importorskip("hypothesis")
torch = None
try:
    import torch
except ImportError:
    pass

from drawn_tests import DTYPES, FLOATS, drawn  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 1e-10}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, math.inf, -math.inf, math.nan, 1e-3, 60.0]
WHOLE = [0, 1, 2, 3, 5, 7, 100, 127]

UNARY_EXACT = ("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "relu", "square")
UNARY_MATH = (
    "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "erf", "sigmoid",
)  # fmt: skip
UNARY_TRUTH = ("isnan", "isinf", "isfinite", "logical_not")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "remainder", "floor_divide", "atan2")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")
REDUCE = ("sum", "mean", "amax", "amin", "prod", "any", "all", "argmax", "argmin", "var", "std")
# NumPy has these under the same or another name; promotion and some results differ from torch's, so that NumPy is
# compared for one floating dtype only.
NUMPY_NAMES = {
    "neg": "negative", "round": "rint", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sub": "subtract", "mul": "multiply",
    "div": "divide", "pow": "power", "atan2": "arctan2", "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "abs": "absolute",
}  # fmt: skip
NO_NUMPY = ("relu", "rsqrt", "erf", "sigmoid")


class Drawn:
    """A tensor in all three libraries, with the same layout."""

    def __init__(self, dtype, shape, layout, seed):
        rng = np.random.default_rng(seed)
        pool = SPECIAL if dtype in FLOATS else [0, 1] if dtype == "bool" else WHOLE
        if dtype in ("int8", "int16", "int32", "int64"):
            pool = [*pool, -1, -3, -128]
        self.dtype, self.layout = dtype, layout
        whole = (
            tuple(size * 2 for size in shape)
            if layout == "strided"
            else shape[::-1]
            if layout == "transposed"
            else shape
        )
        values = rng.choice(np.array(pool, dtype=np.float64), size=whole)
        if dtype in FLOATS:
            noise = rng.standard_normal(whole)
            values = np.where(rng.random(whole) < 0.5, noise, values)
        self.array = np.asarray(values).astype("float32" if dtype == "bfloat16" else dtype)

    def arranged(self, tensor):
        if self.layout == "strided":
            return tensor[tuple(slice(None, None, 2) for _ in tensor.shape)] if tensor.ndim else tensor
        if self.layout == "transposed":
            return tensor.permute(*range(tensor.ndim)[::-1]) if tensor.ndim else tensor
        return tensor

    def ours(self):
        tensor = md.tensor(self.array)
        return self.arranged(tensor.to(md.bfloat16) if self.dtype == "bfloat16" else tensor)

    def torchs(self):
        tensor = torch.tensor(self.array)
        return self.arranged(tensor.to(torch.bfloat16) if self.dtype == "bfloat16" else tensor)

    def numpys(self):
        if self.layout == "strided":
            return self.array[tuple(slice(None, None, 2) for _ in self.array.shape)]
        return self.array.T if self.layout == "transposed" else self.array

    def __repr__(self):
        return f"{self.dtype}{self.numpys().shape} {self.layout}: {self.numpys().tolist()}"


def operand_cases(dtypes=DTYPES, shapes=None):
    shapes = shapes or st.lists(st.integers(0, 4), max_size=3).map(tuple)
    layouts = st.sampled_from(["plain", "plain", "strided", "transposed"])
    return st.builds(Drawn, st.sampled_from(dtypes), shapes, layouts, st.integers(0, 2**31))


BROADCAST = st.sampled_from(
    [((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((3,), ()), ((), ()), ((0, 3), (3,)), ((2, 3), (2, 3)), ((1,), (5,))]
)


def pairs(dtypes=DTYPES):
    def build(shapes, swap, dtype_a, dtype_b, layouts, seed):
        a, b = shapes[::-1] if swap else shapes
        return Drawn(dtype_a, a, layouts[0], seed), Drawn(dtype_b, b, layouts[1], seed + 1)

    layout = st.sampled_from(["plain", "strided", "transposed"])
    dtype = st.sampled_from(dtypes)
    return st.builds(build, BROADCAST, st.booleans(), dtype, dtype, st.tuples(layout, layout), st.integers(0, 2**31))


def name_of(dtype):
    return str(dtype).split(".")[-1]


def as_array(tensor):
    kind = name_of(tensor.dtype)
    if kind == "bfloat16":
        tensor = tensor.to(md.float32 if isinstance(tensor, md.Tensor) else torch.float32)
    return tensor.detach().numpy()


def results(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def outcome(call, *args):
    try:
        return results(call(*args)), None
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
        return None, error


def assert_close(ours, theirs, kind, what):
    assert ours.shape == theirs.shape, what
    if kind in FLOATS:
        tolerance = TOLERANCE[kind]
        np.testing.assert_allclose(
            ours.astype(np.float64), theirs.astype(np.float64), rtol=tolerance, atol=tolerance, err_msg=str(what)
        )
    else:
        np.testing.assert_array_equal(ours, theirs, err_msg=str(what))


def assert_same_zeros(ours, theirs, what):
    zeros = (ours == 0) & (theirs == 0)
    np.testing.assert_array_equal(np.signbit(ours[zeros]), np.signbit(theirs[zeros]), err_msg=str(what))


def check(ours_call, torch_call, operands, what, exact=False):
    """Eager against torch (dtype, shape, values, or that both raise), compiled against eager."""
    tensors = [operand.ours() if isinstance(operand, Drawn) else operand for operand in operands]
    eager, error = outcome(ours_call, *tensors)
    compiled, compiled_error = outcome(md.compile(ours_call), *tensors)
    assert type(error) is type(compiled_error), (what, error, compiled_error)
    if error is not None:
        assert str(error) == str(compiled_error)
    else:
        for a, b in zip(eager, compiled, strict=True):
            assert a.dtype is b.dtype and a.stride() == b.stride(), what
            assert_close(as_array(b), as_array(a), name_of(a.dtype), (what, "compiled"))
    if torch is None:
        return
    theirs, their_error = outcome(torch_call, *[o.torchs() if isinstance(o, Drawn) else o for o in operands])
    assert (error is None) == (their_error is None), (what, error, their_error)
    if error is not None:
        kinds = (NotImplementedError, RuntimeError)  # torch's is a subclass of the other
        assert type(error) is type(their_error) or (type(error) in kinds and type(their_error) in kinds), (
            what,
            error,
            their_error,
        )
        return
    for a, b in zip(eager, theirs, strict=True):
        assert name_of(a.dtype) == name_of(b.dtype), (what, a.dtype, b.dtype)
        assert_close(as_array(a), as_array(b), name_of(a.dtype), what)
        if exact and name_of(a.dtype) in FLOATS:
            assert_same_zeros(as_array(a), as_array(b), what)


def against_numpy(name, operands, what):
    if name in NO_NUMPY or not all(operand.dtype in ("float32", "float64") for operand in operands):
        return
    if len({operand.dtype for operand in operands}) > 1:
        return
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY_NAMES.get(name, name))(*[operand.numpys() for operand in operands])
    got = getattr(md, name)(*[operand.ours() for operand in operands])
    assert_close(as_array(got), np.asarray(expected), name_of(got.dtype), what)


def method(name):
    return lambda *args: getattr(args[0], name)(*args[1:])


@st.composite
def unary_cases(draw):
    name = draw(st.sampled_from([*UNARY_EXACT, *UNARY_MATH, *UNARY_TRUTH]))
    operand = draw(operand_cases())
    return name, operand


def check_unary(case):
    name, operand = case
    check(method(name), method(name), [operand], case, exact=name in UNARY_EXACT)
    if name not in UNARY_EXACT or name != "sign":
        against_numpy(name, [operand], case)


@st.composite
def binary_cases(draw):
    name = draw(st.sampled_from([*BINARY, *COMPARE, *BITS]))
    a, b = draw(pairs())
    scalar = draw(st.sampled_from([None, None, 2, -1, 0.5, 3.0, True]))
    return (
        name,
        a,
        b,
        None if name in ("maximum", "minimum", "atan2", "logical_and", "logical_or", "logical_xor") else scalar,
    )


def check_binary(case):
    name, a, b, scalar = case
    other = b if scalar is None else scalar
    # It is unspecified which of two zeros is the larger one: torch's vector code differs from its scalar code.
    check(method(name), method(name), [a, other], case, exact=name in ("add", "sub", "mul"))
    if scalar is None and name not in ("remainder", "floor_divide", "pow", *BITS):
        against_numpy(name, [a, b], case)


@st.composite
def in_place_cases(draw):
    name = draw(
        st.sampled_from(["add", "sub", "mul", "div", "copy", "eq", "pow", "remainder", "clamp", "sqrt", "relu", "neg"])
    )
    a, b = draw(pairs())
    return name, a, b, draw(st.sampled_from([None, None, 2, 0.5]))


def check_in_place(case):
    name, a, b, scalar = case
    unary = name in ("sqrt", "relu", "neg")
    if name == "copy" and a.dtype not in FLOATS and not (np.abs(b.numpys().astype(np.float64)) < 127).all():
        return  # the conversion to an integer of a float out of its range is unspecified
    other = [] if unary else [b if scalar is None or name == "copy" else scalar]

    def write(x, *args):
        y = x.clone()
        view = y[:1] if y.ndim else y
        getattr(y, name + "_")(*args)
        return y, view

    check(write, write, [a, *other], case)


@st.composite
def reduction_cases(draw):
    name = draw(st.sampled_from(REDUCE))
    operand = draw(operand_cases())
    dims = (
        st.none()
        if not operand.numpys().ndim
        else st.one_of(st.none(), st.integers(-operand.numpys().ndim, operand.numpys().ndim))
    )
    return name, operand, draw(dims), draw(st.booleans())


def check_reduction(case):
    name, operand, dim, keepdim = case
    if dim is None and name in ("prod",):
        call = method(name)
    elif dim is None:
        call = lambda x: getattr(x, name)()  # noqa: E731
    else:
        call = lambda x: getattr(x, name)(dim=dim, keepdim=keepdim)  # noqa: E731
    if name in ("argmax", "argmin", "amax", "amin") and np.isnan(operand.numpys().astype(np.float64)).any():
        return  # the NaN and its sign are unspecified
    check(call, call, [operand], case)


VIEWS = (
    lambda x: x.reshape(-1),
    lambda x: x.flatten(),
    lambda x: x.t(),
    lambda x: x.unsqueeze(0),
    lambda x: x.squeeze(),
    lambda x: x.transpose(0, -1),
    lambda x: x[..., :2],
    lambda x: x[0],
    lambda x: x[1:],
    lambda x: x[-1:, None],
    lambda x: x[:, ::2],
    lambda x: x.view(-1),
    lambda x: x.expand(2, *x.shape),
    lambda x: x.contiguous(),
    lambda x: x.chunk(2),
    lambda x: x.split(2),
    lambda x: x.unbind(),
    lambda x: x.narrow(0, 0, 1),
    lambda x: x.select(-1, 0),
    lambda x: x.permute(*range(x.ndim)[::-1]),
    lambda x: x[[0, -1]],
    lambda x: x[:, [0]],
    lambda x: x[x > 0],
    lambda x: x.clone(),
    lambda x: x.float(),
    lambda x: x.long() if not x.is_floating_point() else x.double(),
)


@st.composite
def view_cases(draw):
    return draw(operand_cases()), draw(st.lists(st.integers(0, len(VIEWS) - 1), min_size=1, max_size=3))


def check_view(case):
    operand, numbers = case

    def chain(x):
        for number in numbers:
            x = VIEWS[number](x)
            if isinstance(x, (tuple, list)):
                return x
        return x

    check(chain, chain, [operand], case, exact=True)


@st.composite
def product_cases(draw):
    size = st.integers(0, 5)
    n, k, m, batch = draw(size), draw(size), draw(size), draw(st.integers(1, 3))
    form = draw(st.sampled_from(["mm", "vector", "batch", "broadcast", "mismatch"]))
    shapes = {
        "mm": ((n, k), (k, m)),
        "vector": ((k,), (k, m)),
        "batch": ((batch, n, k), (batch, k, m)),
        "broadcast": ((batch, n, k), (k, m)),
        "mismatch": ((n, k + 1), (k, m)),
    }[form]
    dtype = draw(st.sampled_from(["float32", "float64", "int64", "bfloat16"]))
    seed = draw(st.integers(0, 2**31))
    layout = st.sampled_from(["plain", "transposed", "strided"])
    return [Drawn(dtype, shape, draw(layout), seed + i) for i, shape in enumerate(shapes)]


def check_product(case):
    if not all(np.isfinite(operand.numpys().astype(np.float64)).all() for operand in case):
        return  # the order of summation decides between NaN and infinity
    call = lambda a, b: a @ b  # noqa: E731
    check(call, call, case, case)


CASES = {
    "unary": (unary_cases(), check_unary),
    "binary": (binary_cases(), check_binary),
    "in_place": (in_place_cases(), check_in_place),
    "reduction": (reduction_cases(), check_reduction),
    "view": (view_cases(), check_view),
    "product": (product_cases(), check_product),
}


def run(kind, count, seed):
    strategy, checker = CASES[kind]

    @drawn(count, seed)
    @given(strategy)
    def drawn_cases(case):
        checker(case)
        md._dynamo.reset()

    drawn_cases()


@pytest.mark.parametrize("kind", CASES)
def test_drawn_ops(kind):
    run(kind, 60, 0)


def run_drawn(count, seed):
    for kind in CASES:
        run(kind, math.ceil(count / len(CASES)), seed)
