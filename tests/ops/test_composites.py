"""Composite operations: eager, compiled into one graph, and against NumPy and torch where it is installed."""

import math
import re

import numpy as np
import pytest
from composite_samples import BREAKING, EINSUMS, ELSEWHERE, FUNCTIONS, METHODS
from op_samples import Data, f, realize
from test_op_rows import assert_equal, dtype_name, flat, made, outcome

import minidynamo as md
from minidynamo import _composites

torch = None
try:
    import torch
except ImportError:
    pass


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()


def cases(table, owner):
    return [(name, number, *sample, owner) for name, samples in table.items() for number, sample in enumerate(samples)]


CASES = [*cases(FUNCTIONS, "function"), *cases(METHODS, "method")]
# torch raises another class for these, or does not raise.
OTHER_CLASSES = {"tensor_split-2", "hstack-4", "vstack-4", "dstack-4", "column_stack-4"}


def case_id(case):
    return f"{case[0]}-{case[1]}{'-method' if case[4] == 'method' else ''}"


def variant(name, owner, library):
    return getattr(library if owner == "function" else library.Tensor, name)


def assert_same(a, b, what, strides=False):
    (result, error), (other, other_error) = a, b
    assert (error is None) == (other_error is None), (what, error, other_error)
    if error is None:
        assert_equal(as_tensors(result), as_tensors(other), exact=False, strides=strides)


def as_tensors(result):
    return [part for part in flat(result) if hasattr(part, "dtype")]


def same_class(error, theirs):
    classes = {type(error), type(theirs)}
    return len(classes) == 1 or classes == {RuntimeError, NotImplementedError}


def test_every_composite_has_samples():
    tested = set(FUNCTIONS) | set(METHODS) | set(BREAKING) | {"einsum", "broadcast_shapes", "row_stack"}
    random = {"bernoulli", "bernoulli_", "normal", "normal_", "uniform_", "exponential_", "multinomial"}
    assert {*_composites.functions, *_composites.methods} - tested - random - ELSEWHERE == set()


def test_every_composite_has_documentation_and_types():
    for table in (_composites.functions, _composites.methods):
        for name, function in table.items():
            assert function.__doc__, name
            assert "return" in function.__annotations__, name


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_graph(case):
    name, number, args, keywords, owner = case
    call = variant(name, owner, md)
    plain = outcome(call, *made((0, 0, args, keywords)))
    compiled = md.compile(lambda *a, **k: call(*a, **k), fullgraph=True)
    assert_same(plain, outcome(compiled, *made((0, 0, args, keywords))), "compiled")
    if plain[1] is not None:
        assert name.rstrip("_") in str(plain[1]) or "[" in str(plain[1]), plain[1]


@pytest.mark.parametrize("case", [*CASES, *cases(BREAKING, "function")], ids=case_id)
def test_against_torch(case):
    if torch is None:
        pytest.skip("torch is not installed")
    name, number, args, keywords, owner = case
    ours = outcome(variant(name, owner, md), *made((0, 0, args, keywords)))
    theirs = outcome(variant(name, owner, torch), *made((0, 0, args, keywords), torch))
    if case_id(case) in OTHER_CLASSES and ours[1] is not None and theirs[1] is not None:
        return
    assert_same(ours, theirs, "torch")
    assert ours[1] is None or same_class(ours[1], theirs[1]), (ours[1], theirs[1])


@pytest.mark.parametrize("case", cases(BREAKING, "function"), ids=case_id)
def test_data_dependent_composites_break(case):
    name, number, args, keywords, owner = case
    call = variant(name, owner, md)
    plain = outcome(call, *made((0, 0, args, keywords)))
    compiled = md.compile(lambda *a, **k: call(*a, **k))
    for _ in range(2):
        assert_same(plain, outcome(compiled, *made((0, 0, args, keywords))), "compiled")


@pytest.mark.parametrize("name", sorted({*_composites.functions, *_composites.methods}))
def test_other_objects_are_refused(name):
    table = _composites.functions if name in _composites.functions else _composites.methods
    if name in (
        "broadcast_shapes",
        "isin",
        "normal",
        "type",
        "block_diag",
        "cartesian_prod",
        "meshgrid",
        "broadcast_tensors",
    ):
        return
    with pytest.raises((TypeError, AttributeError)):
        table[name](object(), object())


@pytest.mark.parametrize("equation, shapes", [(case[0], case[1:]) for case in EINSUMS])
def test_einsum(equation, shapes):
    operands = [f(*shape) for shape in shapes]
    plain = outcome(md.einsum, [equation, *[data.make(md) for data in operands]], {})
    compiled = md.compile(md.einsum, fullgraph=True)
    assert_same(plain, outcome(compiled, [equation, *[data.make(md) for data in operands]], {}), "compiled")
    if torch is not None:
        theirs = outcome(torch.einsum, [equation, *[data.make(torch) for data in operands]], {})
        assert_same(plain, theirs, "torch")
        assert plain[1] is None or same_class(plain[1], theirs[1]), (plain[1], theirs[1])
    if plain[1] is None:
        arrays = [data.make(md).numpy() for data in operands]
        np.testing.assert_allclose(plain[0].numpy(), np.einsum(equation, *arrays), rtol=2e-5, atol=1e-5)
    else:
        assert "einsum" in str(plain[1])


def test_einsum_by_lists_of_subscripts():
    a, b = f(3, 4).make(md), f(4, 5).make(md)
    assert md.equal(md.einsum(a, [0, 1], b, [1, 2], [0, 2]), md.einsum("ij,jk->ik", a, b))
    assert md.equal(md.einsum(a, [Ellipsis, 0], [0, Ellipsis]), a.t())
    assert md.equal(md.einsum("ij,jk->ik", [a, b]), a @ b)


def test_einsum_of_integers_and_halves():
    x = md.arange(6).reshape(2, 3)
    assert md.einsum("ij,kj->ik", x, x).tolist() == [[5, 14], [14, 50]]
    assert md.einsum("ij->i", x.to(md.int32)).dtype == md.int64  # a sum, as in torch
    assert md.einsum("ij,kj->ik", x.to(md.int32), x.to(md.int32)).dtype == md.int32
    assert md.einsum("ij,kj->ik", x.half(), x.half()).dtype == md.float16


@pytest.mark.parametrize("sizes", [(3, 4), (5, 4), (7, 2)])
def test_einsum_serves_other_sizes(sizes):
    @md.compile(dynamic=True, fullgraph=True)
    def run(x, y):
        return md.einsum("ij,jk->ik", x, y)

    x, y = md.randn(*sizes), md.randn(sizes[1], 3)
    assert md.allclose(run(x, y), x @ y, atol=1e-6)


def test_numpy_agrees():
    x = np.array([3, 1, 1, 7, 0, 3])
    t = md.tensor(x)
    values, inverse, counts = md.unique(t, return_inverse=True, return_counts=True)
    expected = np.unique(x, return_inverse=True, return_counts=True)
    for ours, theirs in zip((values, inverse, counts), expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    np.testing.assert_array_equal(md.bincount(t).numpy(), np.bincount(x))
    np.testing.assert_array_equal(md.repeat_interleave(t, 2).numpy(), np.repeat(x, 2))
    np.testing.assert_array_equal(
        md.searchsorted(md.tensor([0, 1, 3, 9]), t, right=True).numpy(), np.searchsorted([0, 1, 3, 9], x, "right")
    )
    np.testing.assert_array_equal(md.tile(t, (2, 2)).numpy(), np.tile(x, (2, 2)))
    np.testing.assert_array_equal(md.kron(t, t[:2]).numpy(), np.kron(x, x[:2]))
    np.testing.assert_array_equal(md.diff(t).numpy(), np.diff(x))
    a = np.linspace(-1, 1, 12).reshape(3, 4)
    for q in (0.1, 0.5, 0.77):
        np.testing.assert_allclose(md.quantile(md.tensor(a), q, 1).numpy(), np.quantile(a, q, 1))
    np.testing.assert_allclose(md.cov(md.tensor(a)).numpy(), np.cov(a))
    np.testing.assert_allclose(md.histc(md.tensor(a), 4, -1, 1).numpy(), np.histogram(a, 4, (-1, 1))[0])
    np.testing.assert_allclose(md.tensordot(md.tensor(a), md.tensor(a.T), 1).numpy(), np.tensordot(a, a.T, 1))
    np.testing.assert_allclose(
        md.cdist(md.tensor(a), md.tensor(a)).numpy(), np.linalg.norm(a[:, None] - a[None], axis=-1)
    )


def test_a_method_in_captured_code_is_guarded():
    def run(x):
        return x.tile(2).unflatten(0, (2, -1)) + 1

    compiled = md.compile(run, fullgraph=True)
    x = md.arange(4.0)
    for _ in range(2):
        assert md.equal(compiled(x), run(x))


# ---- in-place views, .H, type()


def test_views_in_place_change_the_object():
    x = md.arange(6.0).reshape(2, 3)
    y = x.view(6)
    assert x.t_() is x and tuple(x.shape) == (3, 2) and x.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert x.unsqueeze_(0) is x and tuple(x.shape) == (1, 3, 2)
    assert x.transpose_(0, 2) is x and tuple(x.shape) == (2, 3, 1)
    assert x.squeeze_(-1) is x and tuple(x.shape) == (2, 3)
    x[0, 0] = 9
    assert y[0].item() == 9
    with pytest.raises(IndexError):
        x.transpose_(0, 5)
    assert tuple(x.shape) == (2, 3)


def test_views_in_place_in_compiled_code():
    def run(x):
        y = x * 2
        y.t_()
        y.unsqueeze_(0)
        return y + 1

    x = md.arange(6.0).reshape(2, 3)
    compiled = md.compile(run)
    for _ in range(2):
        assert md.equal(compiled(x), run(x))
    given = md.arange(6.0).reshape(2, 3)
    md.compile(lambda x: x.t_() + 1)(given)
    assert tuple(given.shape) == (3, 2)


def test_a_leaf_that_requires_grad_is_not_turned():
    with pytest.raises(RuntimeError, match="leaf"):
        md.ones(2, 3, requires_grad=True).t_()


def test_h_is_the_transposed_matrix():
    x = md.arange(6.0).reshape(2, 3)
    assert md.equal(x.H, x.t()) and md.tensor(3.0).H.item() == 3
    assert md.equal(md.compile(lambda x: x.H + x.mH, fullgraph=True)(x), x.T * 2)
    for shape in ((3,), (2, 3, 4)):
        with pytest.raises(RuntimeError, match=r"2-D tensors.*" + re.escape(str(shape))):
            _ = md.ones(shape).H


def test_type_names_dtypes():
    x = md.ones(2)
    assert x.type() == "torch.FloatTensor" and x.long().type() == "torch.LongTensor"
    assert x.type("torch.DoubleTensor").dtype == md.float64 and x.type(md.int32).dtype == md.int32
    assert x.type(md.float32) is x
    with pytest.raises(ValueError, match="invalid type"):
        x.type("torch.NoTensor")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
def test_dtypes_stay(dtype):
    x = md.arange(6).reshape(2, 3).to(getattr(md, dtype))
    for result in (md.tile(x, (2,)), md.hstack([x, x]), x.diff(), md.kron(x, x), md.addcmul(x, x, x), md.diag_embed(x)):
        assert dtype_name(result) == dtype


def test_special_values_of_isclose_are_those_of_allclose():
    a = Data("f", 4, values=[1.0, math.nan, math.inf, 2.0]).make(md)
    assert md.isclose(a, a).tolist() == [True, False, True, True]
    assert bool(md.isclose(a, a, equal_nan=True).all()) == md.allclose(a, a, equal_nan=True)
    assert realize([a], md) == [a]


def test_operands_of_several_dtypes_are_one_in_the_graph():
    x, half, number = md.tensor([1.0, 2.0]), md.tensor([0.08, 3.0]).to(md.bfloat16), md.tensor(2.5)
    for function in (md.addcmul, md.addcdiv):
        expected = function(x, half.to(md.float32), number, value=2.0)
        compiled = md.compile(lambda *args, f=function: f(*args, value=2.0), fullgraph=True)
        assert compiled(x, half, number).tolist() == function(x, half, number, value=2.0).tolist() == expected.tolist()
    flags = md.tensor([True, False])
    compiled = md.compile(lambda a, b: md.logaddexp(a, b), fullgraph=True)
    assert compiled(flags, x).tolist() == md.logaddexp(flags.to(md.float32), x).tolist()


def test_covariances_with_a_correction_beyond_64_bits():
    assert md.cov(md.rand(3, 4), correction=-(2**63)).abs().max() < 1e-18
