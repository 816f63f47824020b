"""Gradients of convolutions of all forms, first and second, beside torch's."""

import random

import pytest

import minidynamo

torch = pytest.importorskip("torch")

COUNT = 60


def drawn(number):
    """(sizes of the input, sizes of the weights, arguments behind the bias)."""
    draw = random.Random(number)
    rank, groups, transposed = draw.choice([1, 2, 2, 3]), draw.choice([1, 1, 2, 4, 70]), draw.random() < 0.3
    channels = groups * draw.choice([1, 2, 3])
    results = groups * draw.choice([1, 2, 5]) if groups < 70 else groups

    def each(*numbers):
        return [draw.choice(numbers) for _ in range(rank)]

    kernel, stride, padding, dilation = each(1, 2, 3), each(1, 2, 3), each(0, 1, 2), each(1, 1, 2)
    weights = (channels, results // groups) if transposed else (results, channels // groups)
    beyond = [draw.randrange(max(pair)) for pair in zip(stride, dilation, strict=True)] if transposed else [0] * rank
    sizes = (draw.choice([1, 3]), channels, *each(5, 6, 9))
    return sizes, (*weights, *kernel), (stride, padding, dilation, transposed, beyond, groups)


def convolved(x, w, arguments):
    stride, padding, dilation, transposed, beyond, groups = arguments
    name = f"conv{'_transpose' if transposed else ''}{len(stride)}d"
    rest = (beyond, groups, dilation) if transposed else (dilation, groups)
    return getattr(minidynamo.nn.functional, name)(x, w, None, stride, padding, *rest)


def check_drawn(number):
    sizes, weights, arguments = drawn(number)
    generator = torch.Generator().manual_seed(number)
    x = torch.randn(sizes, dtype=torch.float64, generator=generator).requires_grad_()
    w = torch.randn(weights, dtype=torch.float64, generator=generator).requires_grad_()
    with torch.enable_grad():
        first = torch.autograd.grad(torch.convolution(x, w, None, *arguments).sin().sum(), (x, w), create_graph=True)
        second = torch.autograd.grad(first[0].sin().sum() + first[1].cos().sum(), (x, w))
    ours = [minidynamo.tensor(each.detach().numpy(), requires_grad=True) for each in (x, w)]
    found = minidynamo.autograd.grad(convolved(*ours, arguments).sin().sum(), ours, create_graph=True)
    again = minidynamo.autograd.grad(found[0].sin().sum() + found[1].cos().sum(), ours)
    for a, b in zip((*found, *again), (*first, *second), strict=True):
        torch.testing.assert_close(torch.from_numpy(a.detach().numpy()), b.detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("number", range(COUNT))
def test_first_and_second(number):
    check_drawn(number)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("number", range(0, COUNT, 4))
def test_other_dtypes(number, dtype):
    sizes, weights, arguments = drawn(number)
    generator = torch.Generator().manual_seed(number)
    x, w = (torch.randn(each, generator=generator).to(getattr(torch, dtype)).float() for each in (sizes, weights))
    with torch.enable_grad():
        given = [x.double().requires_grad_(), w.double().requires_grad_()]
        result = torch.convolution(*given, None, *arguments)
        weight = torch.randn(result.shape, generator=generator).to(getattr(torch, dtype))
        expected = torch.autograd.grad(result, given, weight.double())
    ours = [minidynamo.tensor(each.numpy()).to(getattr(minidynamo, dtype)).requires_grad_() for each in (x, w)]
    slope = minidynamo.tensor(weight.float().numpy()).to(getattr(minidynamo, dtype))
    tolerance = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 2e-3}[dtype]
    for a, b in zip(minidynamo.autograd.grad(convolved(*ours, arguments), ours, slope), expected, strict=True):
        assert a.dtype == getattr(minidynamo, dtype)
        scale = b.abs().max().item() + 1
        torch.testing.assert_close(
            torch.from_numpy(a.float().numpy()).double(), b, rtol=tolerance, atol=tolerance * scale
        )


def test_weights_do_not_depend_on_the_number_of_threads():
    x = minidynamo.randn(4, 20, 12, 12)
    w = minidynamo.randn(150, 20, 3, 3, requires_grad=True)
    before, found = minidynamo.get_num_threads(), []
    try:
        for count in (1, 2, 4):
            minidynamo.set_num_threads(count)
            (slope,) = minidynamo.autograd.grad(minidynamo.nn.functional.conv2d(x, w, padding=1).sin().sum(), [w])
            found.append(slope)
    finally:
        minidynamo.set_num_threads(before)
    assert all(minidynamo.equal(found[0], each) for each in found)
