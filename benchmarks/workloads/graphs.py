"""Functions with many operations, for how long it takes to compile them. They are not in the steady table."""

import numpy

from .models import transformer_array, transformer_weights
from .special import Exact
from .table import Row, array_forms

LAYERS, WIDTH, HEADS, LENGTH = 4, 256, 8, 32
OPERATIONS = 5_000


def encoder_torch(torch):
    from .torch_modules import transformer_block

    return torch.nn.Sequential(*(transformer_block(torch, WIDTH, HEADS) for _ in range(LAYERS)))


def encoder_array(library):
    block = transformer_array(library, HEADS)

    def f(x, weights):
        for layer in range(LAYERS):
            prefix = f"{layer}."
            own = {name.removeprefix(prefix): values for name, values in weights.items() if name.startswith(prefix)}
            x = block(x, own)
        return x

    return f


def encoder_weights(rng):
    layers = [transformer_weights(rng, WIDTH) for _ in range(LAYERS)]
    return {f"{layer}.{name}": values for layer, own in enumerate(layers) for name, values in own.items()}


def chain(library):
    def f(x):
        for i in range(OPERATIONS // 2):
            x = x * 0.5 + i
        return x

    return f


def reuse(library):
    """Each intermediate is used two times."""

    def f(x):
        for _ in range(OPERATIONS // 5):
            y = x * 0.5
            x = y * y - x * 0.25 + 0.5
        return x

    return f


def row(family, inputs, reference, forms, weights=None):
    return Row(family, "", "float32", "graphs", inputs, reference, forms, weights)


def three_values():
    return numpy.array([1.0, 2.0, 3.0])


def three(rng):
    return [rng.random(3)]


ROWS = [
    row(
        f"encoder of {LAYERS} layers",
        lambda rng: [rng.standard_normal((1, LENGTH, WIDTH))],
        encoder_array(Exact),
        {"torch": encoder_torch, **array_forms(encoder_array, "numpy", "jax", "mlx")},
        encoder_weights,
    ),
    row(f"{OPERATIONS} operations", three, chain(numpy), array_forms(chain)),
    row(f"{OPERATIONS} operations, intermediates used twice", three, reuse(numpy), array_forms(reuse)),
]
