"""What the tests of our own convolutions share: values against float64, with and without threads, and the kernel's name."""

import pytest

import minidynamo

F64 = minidynamo.float64


@pytest.fixture(autouse=True)
def fresh():
    minidynamo.manual_seed(7)
    threads = minidynamo.get_num_threads()
    yield
    minidynamo.set_num_threads(threads)
    minidynamo._dynamo.reset()


def kernel_of(function, *args):
    (region,) = minidynamo._dynamo.explain(function)(*args).regions
    return region.plan.steps[0].kernel


def check_values(convolve, x, weight, bias, kernel):
    """bias may be None; kernel: part of the name of what computes it."""
    exact = convolve(x.to(F64), weight.to(F64), bias if bias is None else bias.to(F64))
    largest = convolve(x.abs().to(F64), weight.abs().to(F64), None).amax().item()
    found = convolve(x, weight, bias)
    assert found.shape == exact.shape
    assert (found.to(F64) - exact).abs().amax().item() <= 1e-6 * largest
    compiled = minidynamo.compile(lambda *args: convolve(*args).relu() + 1)
    for threads in (1, 2):
        minidynamo.set_num_threads(threads)
        assert minidynamo.equal(convolve(x, weight, bias), found)
        assert minidynamo.equal(compiled(x, weight, bias), found.relu() + 1)
    assert kernel in kernel_of(convolve, x, weight, bias)
