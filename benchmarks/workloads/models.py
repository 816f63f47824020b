"""Blocks of models: a transformer's, a ResNet's, and an LSTM written as a Python loop."""

import numpy

from .special import Exact
from .table import Row

WIDTH, LENGTH, HEADS = 512, 128, 8
CHANNELS, PIXELS = 64, 56
STEPS, HIDDEN = 32, 256
EPSILON = 1e-5


def transformer_torch(torch):
    from .torch_modules import transformer_block

    return transformer_block(torch, WIDTH, HEADS)


def transformer_array(library, count=HEADS):
    """For NumPy and what is written like it; softmax and erf are the library's own where it has them."""
    softmax = library.softmax

    def norm(x, weights, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / library.sqrt(variance + EPSILON) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x, weights, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def f(x, weights):
        size, length, width = x.shape

        def heads(y):
            return y.reshape(size, length, count, width // count).swapaxes(1, 2)

        y = norm(x, weights, "norm1")
        query, key, value = (heads(linear(y, weights, name)) for name in ("query", "key", "value"))
        mixed = softmax(query @ key.swapaxes(-2, -1) * (width // count) ** -0.5, axis=-1) @ value
        x = x + linear(mixed.swapaxes(1, 2).reshape(size, length, width), weights, "output")
        y = linear(norm(x, weights, "norm2"), weights, "expand")
        y = 0.5 * y * (1 + library.erf(y * 0.7071067811865476))
        return x + linear(y, weights, "contract")

    return f


def transformer_weights(rng, width=WIDTH):
    sizes = dict.fromkeys(("query", "key", "value", "output"), (width, width))
    sizes |= {"expand": (4 * width, width), "contract": (width, 4 * width)}
    weights = {}
    for name, (outputs, inputs) in sizes.items():
        weights[f"{name}.weight"] = rng.standard_normal((outputs, inputs)) / inputs**0.5
        weights[f"{name}.bias"] = rng.standard_normal(outputs)
    for name in ("norm1", "norm2"):
        weights[f"{name}.weight"] = 1 + 0.1 * rng.standard_normal(width)
        weights[f"{name}.bias"] = rng.standard_normal(width)
    return weights


def transformer_row(batch):
    return Row(
        "transformer block d=512 S=128",
        f"batch {batch}",
        "float32",
        "models",
        lambda rng: [rng.standard_normal((batch, LENGTH, WIDTH))],
        transformer_array(Exact),
        {"torch": transformer_torch, "numpy": transformer_array, "jax": transformer_array, "mlx": transformer_array},
        weights=transformer_weights,
        products=batch * LENGTH * (2.0 * 12 * WIDTH * WIDTH + 4.0 * LENGTH * WIDTH),
        is_headline=batch == 1,
    )


def resnet_torch(torch):
    from .torch_modules import resnet_block

    return resnet_block(torch, CHANNELS)


def resnet_array(library):
    """convolution(x, weight) is the library's own, same size, no bias."""

    def norm(x, weights, name):
        scale = weights[f"{name}.weight"] / library.sqrt(weights[f"{name}.running_var"] + EPSILON)
        shift = weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * scale
        return x * scale[:, None, None] + shift[:, None, None]

    def f(x, weights):
        y = library.maximum(norm(library.convolution(x, weights["conv1.weight"]), weights, "bn1"), 0)
        y = norm(library.convolution(y, weights["conv2.weight"]), weights, "bn2")
        return library.maximum(x + y, 0)

    return f


def resnet_reference(x, weights):
    class Library:
        sqrt, maximum = numpy.sqrt, numpy.maximum

        @staticmethod
        def convolution(x, weight):
            padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
            result = numpy.zeros_like(x)
            for i in range(3):
                for j in range(3):
                    window = padded[:, :, i : i + PIXELS, j : j + PIXELS]
                    product = weight[:, :, i, j] @ window.reshape(len(x), CHANNELS, -1)
                    result += product.reshape(x.shape)
            return result

    return resnet_array(Library)(x, weights)


def resnet_weights(rng):
    weights = {}
    for i in (1, 2):
        weights[f"conv{i}.weight"] = rng.standard_normal((CHANNELS, CHANNELS, 3, 3)) / (CHANNELS * 9) ** 0.5
        weights[f"bn{i}.weight"] = 1 + 0.1 * rng.standard_normal(CHANNELS)
        weights[f"bn{i}.bias"] = rng.standard_normal(CHANNELS)
        weights[f"bn{i}.running_mean"] = rng.standard_normal(CHANNELS)
        weights[f"bn{i}.running_var"] = rng.uniform(0.5, 2, CHANNELS)
    return weights


def resnet_row(batch):
    return Row(
        "ResNet block 64 channels 56x56",
        f"batch {batch}",
        "float32",
        "models",
        lambda rng: [rng.standard_normal((batch, CHANNELS, PIXELS, PIXELS))],
        resnet_reference,
        {"torch": resnet_torch, "jax": resnet_array},
        weights=resnet_weights,
        products=batch * 2 * 2.0 * CHANNELS * CHANNELS * 9 * PIXELS * PIXELS,
        is_headline=batch == 1,
    )


def lstm_torch(torch):
    from .torch_modules import lstm_loop

    return lstm_loop(torch, HIDDEN, STEPS)


def lstm_array(library):
    def f(x, weights):
        weight_x, weight_h, bias = weights["input.weight"].T, weights["hidden.weight"].T, weights["input.bias"]
        h = c = x[0] * 0
        outputs = []
        for step in range(STEPS):
            gates = x[step] @ weight_x + bias + h @ weight_h
            i = 1 / (1 + library.exp(-gates[:, :HIDDEN]))
            f = 1 / (1 + library.exp(-gates[:, HIDDEN : 2 * HIDDEN]))
            g = library.tanh(gates[:, 2 * HIDDEN : 3 * HIDDEN])
            o = 1 / (1 + library.exp(-gates[:, 3 * HIDDEN :]))
            c = f * c + i * g
            h = o * library.tanh(c)
            outputs.append(h)
        return library.stack(outputs), c

    return f


def lstm_row(batch):
    return Row(
        f"LSTM as a loop, {STEPS} steps h={HIDDEN}",
        f"batch {batch}",
        "float32",
        "models",
        lambda rng: [rng.standard_normal((STEPS, batch, HIDDEN))],
        lstm_array(Exact),
        {"torch": lstm_torch, "numpy": lstm_array, "jax": lstm_array, "mlx": lstm_array},
        weights=lambda rng: {
            "input.weight": rng.standard_normal((4 * HIDDEN, HIDDEN)) / 16,
            "input.bias": rng.standard_normal(4 * HIDDEN),
            "hidden.weight": rng.standard_normal((4 * HIDDEN, HIDDEN)) / 16,
        },
        products=STEPS * batch * 2.0 * 4 * HIDDEN * 2 * HIDDEN,
        is_headline=batch == 1,
    )


ROWS = [build(batch) for build in (transformer_row, resnet_row, lstm_row) for batch in (1, 32)]
