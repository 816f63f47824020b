"""Conversions of tensors in captured code: the results of eager calls, without a break."""

import pytest

import minidynamo as md

X = md.tensor([[1.5, -2.0, 0.0], [3.25, 4.0, -0.5]])
OTHER = md.tensor([1, 2])


def check(function, *args):
    """Checks that one graph is captured, and that values, dtypes and identities are those of an eager call."""
    md._dynamo.reset()  # the functions of one loop share their code
    expected = function(*args)
    result = md.compile(function, fullgraph=True)(*args)
    for one, other in zip(
        *(value if isinstance(value, tuple) else (value,) for value in (result, expected)), strict=True
    ):
        if not isinstance(other, md.Tensor):
            assert one == other
            continue
        assert one.dtype == other.dtype and one.tolist() == other.tolist()
        assert one.stride() == other.stride() and one.requires_grad == other.requires_grad


@pytest.mark.parametrize(
    "method", ["float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool", "cpu"]
)
@pytest.mark.parametrize("source", [X, OTHER, X.t()], ids=["float32", "int64", "transposed"])
def test_methods(method, source):
    check(lambda x: getattr(x, method)(), source.abs())


@pytest.mark.parametrize(
    "convert",
    [
        lambda x, y: x.to(md.float64),
        lambda x, y: x.to(dtype=md.float64),
        lambda x, y: x.to("cpu"),
        lambda x, y: x.to(md.device("cpu"), md.int64),
        lambda x, y: x.to("cpu", md.int64, False, True),
        lambda x, y: (md.zeros(md.Size([2, x.shape[1]]), device=md.device("cpu", 0)).to(y), md.device("cpu").type),
        lambda x, y: x.to(device=x.device, dtype=y.dtype, non_blocking=True),
        lambda x, y: x.to(y),
        lambda x, y: x.to(other=y, copy=True),
        lambda x, y: x.type_as(y),
        lambda x, y: x.to(md.float32, copy=True),
        lambda x, y: x.to(None),
        lambda x, y: (x.data + 1).to(x.dtype),
        lambda x, y: abs(x) * abs(-2) + abs(y[0]),
    ],
)
def test_forms(convert):
    check(convert, X, OTHER)


def test_a_conversion_without_effect_returns_the_same_tensor():
    def f(x, y):
        return (
            x.float() is x,
            x.to(md.float32) is x,
            x.cpu() is x,
            x.type_as(x) is x,
            x.to(x) is x,
            x.double() is x,
            y.long() is y,
        )

    check(f, X, OTHER)
    assert md.compile(lambda x: x.to(md.float32), fullgraph=True)(X) is X


def test_a_copy_shares_nothing():
    def f(x):
        y = x.to(md.float32, copy=True)
        y.add_(1)
        z = x.float()
        z.mul_(2)
        return x, y

    plain, captured = X.clone(), X.clone()
    expected, result = f(plain), md.compile(f, fullgraph=True)(captured)
    assert result[0] is captured
    assert [one.tolist() for one in result] == [one.tolist() for one in expected]


def test_the_dtype_of_the_other_is_guarded():
    compiled = md.compile(lambda x, y: x.to(y) + 1, fullgraph=True)
    for dtype in (md.float64, md.int32, md.float64):
        assert compiled(X, OTHER.to(dtype)).dtype == dtype


def test_requires_grad_goes_with_floating_results():
    x = X.clone().requires_grad_()
    check(lambda x: (x.double(), x.data), x)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x.to(3),
        lambda x: x.to(md.float32, copy=1),
        lambda x: x.to("nowhere"),
        lambda x: x.to(nothing=1),
        lambda x: x.type_as(3),
        lambda x: x.to(md.float32, False, False, 4),
    ],
)
def test_errors(wrong):
    with pytest.raises(Exception) as expected:  # noqa: PT011
        wrong(X)
    with pytest.raises(type(expected.value)) as found:
        md.compile(wrong)(X)
    assert str(found.value) == str(expected.value)


@pytest.mark.counts_regions
def test_the_graph_shows_the_method():
    found = []
    md.compile(lambda x: x.long().to(md.float64), backend=lambda gm, inputs: found.append(gm) or gm.forward)(X)
    assert "l_x_.to(minidynamo.int64)" in found[0].code and ".to(minidynamo.float64)" in found[0].code
    assert [node.target for node in found[0].graph.nodes if node.op == "call_method"] == ["to", "to"]


@pytest.mark.counts_regions
@pytest.mark.parametrize(
    ("take", "gb_id"),
    [
        (lambda x: int(x), "MD0018"),
        (lambda x: float(x), "MD0018"),
        (lambda x: x.equal(x), "MD0018"),
        (lambda x: str(x), "MD0021"),
        (lambda x: x[x > 0], "MD0022"),
    ],
)
def test_reasons_for_breaks(take, gb_id):
    assert [reason.gb_id for reason in md._dynamo.explain(take)(md.ones(1)).break_reasons] == [gb_id]
