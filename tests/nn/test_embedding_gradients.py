"""The gradient of embeddings: rows that stand for padding, and rows divided by how often they are used, as in torch."""

import numpy
import pytest

import minidynamo

torch = pytest.importorskip("torch")

INDICES = numpy.array([[0, 1, 3], [2, 0, 1]])
OPTIONS = [
    {},
    {"padding_idx": 0},
    {"padding_idx": -3},
    {"scale_grad_by_freq": True},
    {"padding_idx": 1, "scale_grad_by_freq": True},
]


def gradient(library, numbers, indices, options, is_compiled=False):
    weight = library.tensor(numbers, requires_grad=True)

    def rows(weight, indices):
        return library.nn.functional.embedding(indices, weight, **options)

    call = minidynamo.compile(rows, fullgraph=True) if is_compiled else rows
    with library.enable_grad():
        call(weight, library.tensor(indices)).sin().sum().backward()
    return weight.grad.numpy()


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rows(options, is_compiled):
    numbers = numpy.random.default_rng(3).standard_normal((5, 4))
    expected = gradient(torch, numbers, INDICES, options)
    numpy.testing.assert_allclose(gradient(minidynamo, numbers, INDICES, options, is_compiled), expected, rtol=1e-12)


def test_rows_that_are_infinite_stay_so():
    numbers = numpy.array([[numpy.inf, 1.0], [numpy.nan, -numpy.inf]])
    weight = minidynamo.tensor(numbers, requires_grad=True)
    rows = minidynamo.nn.functional.embedding(minidynamo.tensor([0, 1, 1]), weight, scale_grad_by_freq=True)
    numpy.testing.assert_array_equal(rows.detach().numpy(), numbers[[0, 1, 1]])


def test_the_layer():
    layer = minidynamo.nn.Embedding(4, 3, padding_idx=2)
    layer(minidynamo.tensor([[2, 1], [1, 2]])).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3]
