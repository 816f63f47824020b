"""Tensor.data written, conversions of modules with gradients, copies and pickles of leaves, against torch."""

import copy
import pickle

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("library", [md, torch], ids=["minidynamo", "torch"])


def leaf(library, *values):
    return library.tensor(values, requires_grad=True)


@BOTH
def test_the_object_stays_and_its_elements_are_shared(library):
    x = leaf(library, 1.0, 2.0)
    x.grad = library.ones(2)
    called = []
    x.register_hook(lambda gradient: called.append(gradient.tolist()))
    other = library.tensor([5.0, 6.0])
    identity = id(x)
    x.data = other
    other[0] = 7.0
    assert (id(x), x.tolist(), x.grad.tolist()) == (identity, [7.0, 6.0], [1.0, 1.0])
    assert x.requires_grad and x.is_leaf and not other.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [15.0, 13.0] and called == [[14.0, 12.0]]


@BOTH
def test_a_graph_that_was_recorded_before_sees_the_elements(library):
    x = leaf(library, 1.0, 1.0)
    loss = (x * x).sum()
    x.data = library.full((2,), 5.0)
    loss.backward()
    assert x.grad.tolist() == [10.0, 10.0]


@BOTH
def test_other_sizes_and_dtypes(library):
    x = leaf(library, 1.0, 2.0)
    (x * 2).sum().backward()
    x.grad = None
    x.data = library.ones(3, dtype=library.float64)
    (x * 3).sum().backward()
    assert (tuple(x.shape), x.dtype, x.grad.dtype, x.grad.tolist()) == (
        (3,),
        library.float64,
        library.float64,
        [3.0] * 3,
    )


@BOTH
def test_views_and_aliases_keep_theirs(library):
    x = library.arange(4.0)
    view, alias = x[1:], x.detach()
    x.data = library.zeros(4)
    assert (view.tolist(), alias.tolist(), x.tolist()) == ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0], [0.0] * 4)
    part = library.arange(6.0).reshape(2, 3).T
    x.data = part
    assert (tuple(x.shape), tuple(x.stride()), x.is_contiguous()) == ((3, 2), (1, 3), False)
    x.data[0, 0] = 9.0
    assert part[0, 0].item() == 9.0


@BOTH
def test_wrong_data(library):
    x = leaf(library, 1.0)
    with pytest.raises(TypeError, match="^Variable data has to be a tensor, but got int$"):
        x.data = 5
    with pytest.raises(RuntimeError, match="^Deleting tensor data is not allowed. Delete tensor instead!$"):
        del x.data
    text = "^data set to a tensor that requires gradients must be floating point or complex dtype$"
    with pytest.raises(RuntimeError, match=text):
        x.data = library.tensor([1])
    x.data = x
    x.data = x.data
    assert x.tolist() == [1.0]


def test_concatenations_in_spare_memory():
    rows = md.ones(1, 2000)
    for _ in range(4):
        rows = md.cat([rows, md.ones(1, 2000)])
    x = md.zeros(1)
    x.data = rows
    longer = md.cat([rows, md.zeros(1, 2000)])
    x[0, 0] = 5.0
    assert rows[0, 0].item() == 5.0 and longer[0, 0].item() == 1.0
    rows.data = md.zeros(2)
    assert x[0, 0].item() == 5.0 and rows.tolist() == [0.0, 0.0]


def test_captures_see_other_elements():
    x = md.ones(3)
    weight = md.nn.Parameter(md.ones(3), requires_grad=False)

    @md.compile
    def product():
        return (x * weight).sum()

    found = [product().item(), product().item()]
    weight.data = md.full((3,), 2.0)
    found.append(product().item())
    weight.data = md.ones(1, dtype=md.float64)
    found.append(product().item())
    assert found == [3.0, 3.0, 6.0, 3.0]


def test_written_inside_of_a_capture():
    weight = md.nn.Parameter(md.ones(2), requires_grad=False)

    @md.compile
    def change(x):
        weight.data = x * 2
        return weight + 1

    for value in (1.0, 2.0, 3.0):
        assert change(md.full((2,), value)).tolist() == [value * 2 + 1] * 2
        assert weight.tolist() == [value * 2] * 2
        assert "data" not in vars(weight)


@BOTH
def test_conversions_of_modules_keep_parameters_and_optimizers(library):
    net = library.nn.Sequential(library.nn.Linear(2, 2), library.nn.BatchNorm1d(2))
    net[0].bias.requires_grad_(False)
    optimizer = library.optim.SGD(net.parameters(), lr=0.5)
    net(library.ones(3, 2)).sum().backward()
    parameters, gradient = list(net.parameters()), net[0].weight.grad
    for convert, dtype in (
        (net.double, "float64"),
        (net.half, "float16"),
        (net.bfloat16, "bfloat16"),
        (net.float, "float32"),
    ):
        convert()
        assert all(a is b for a, b in zip(net.parameters(), parameters, strict=True))
        assert net[0].weight.grad is gradient
        assert str(net[0].weight.dtype).endswith(dtype) and str(gradient.dtype).endswith(dtype)
        assert not net[0].bias.requires_grad and net[0].bias.grad is None
    net.to(library.float64)
    before = net[0].weight.detach().clone()
    optimizer.step()
    assert library.allclose(net[0].weight.detach(), before - 0.5 * gradient)
    net.zero_grad()
    net(library.ones(3, 2, dtype=library.float64)).sum().backward()
    assert net[0].weight.grad.dtype == library.float64


@BOTH
def test_tied_parameters_stay_tied(library):
    first, second = library.nn.Linear(2, 2), library.nn.Linear(2, 2)
    second.weight = first.weight
    library.nn.Sequential(first, second).double()
    assert second.weight is first.weight and first.weight.dtype == library.float64


@BOTH
def test_deep_copies(library):
    x = leaf(library, 1.0, 2.0)
    x.grad = library.tensor([3.0, 4.0])
    copied = copy.deepcopy([x, x])
    assert copied[0] is copied[1] and copied[0].requires_grad
    assert copied[0].grad.tolist() == [3.0, 4.0] and copied[0].grad is not x.grad
    parameter = library.nn.Parameter(library.ones(1))
    parameter.grad = library.ones(1)
    assert copy.deepcopy(parameter).grad is None
    assert pickle.loads(pickle.dumps(parameter)).grad is None
    assert pickle.loads(pickle.dumps(parameter)).requires_grad
    with pytest.raises(
        RuntimeError, match="^Only Tensors created explicitly by the user .graph leaves. support the deepcopy"
    ):
        copy.deepcopy(x * 2)
    assert copy.deepcopy((x * 2).detach()).tolist() == [2.0, 4.0]
