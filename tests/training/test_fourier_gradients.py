"""First and second derivatives of Fourier transforms, beside torch's."""

import numpy
import pytest

import minidynamo

torch = pytest.importorskip("torch")

NORMS = (None, "ortho", "forward")
# name: whether it takes complex numbers, and further arguments.
ONE_DIM = {
    "fft": (True, [{}, {"n": 4}]),
    "ifft": (True, [{}, {"n": 7}]),
    "rfft": (False, [{}, {"n": 4}]),
    "ihfft": (False, [{}, {"n": 7}]),
    "irfft": (True, [{"n": 4}, {"n": 7}]),
    "hfft": (True, [{"n": 4}, {"n": 7}]),
}
SEVERAL_DIMS = {
    "fftn": (True, [{}, {"dim": (0, 2)}]),
    "ifft2": (True, [{}]),
    "rfftn": (False, [{}, {"dim": (1, 0)}]),
    "irfftn": (True, [{}]),
    "hfftn": (True, [{}]),
    "ihfft2": (False, [{}]),
}
CALLS = [
    (name, shape, is_complex, options)
    for table, shapes in ((ONE_DIM, [(3, 5), (3, 6), (2, 1), (2, 2)]), (SEVERAL_DIMS, [(3, 4, 5)]))
    for name, (is_complex, forms) in table.items()
    for options in forms
    for shape in shapes
]


def derivatives(library, x, name, options):
    """(the gradient of a sum of cubes of the absolute values, that of the sum of its squares)."""
    x = library.tensor(x, requires_grad=True)
    with library.enable_grad():
        result = getattr(library.fft, name)(x, **options)
        (first,) = library.autograd.grad((result.abs() ** 3).sum(), x, create_graph=True)
        (second,) = library.autograd.grad((first.abs() ** 2).sum(), x)
    return [each.detach().resolve_conj().numpy() for each in (first, second)]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name, shape, is_complex, options", CALLS)
def test_derivatives(name, shape, is_complex, options, norm):
    generator = numpy.random.default_rng(7)
    x = generator.standard_normal(shape)
    if is_complex:
        x = x + 1j * generator.standard_normal(shape)
    options = {**options, "norm": norm}
    for a, b in zip(derivatives(minidynamo, x, name, options), derivatives(torch, x, name, options), strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def test_in_a_graph():
    x = minidynamo.randn(6, 8, dtype=minidynamo.float64, requires_grad=True)

    def loss(x):
        return minidynamo.fft.irfft(minidynamo.fft.rfft(x) * 2, n=8).sin().sum()

    (expected,) = minidynamo.autograd.grad(loss(x), [x])
    (found,) = minidynamo.autograd.grad(minidynamo.compile(loss, fullgraph=True)(x), [x])
    numpy.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)
