"""Matrix products with what surrounds them in models: linear layers, attention, a multilayer perceptron."""

from .special import Exact
from .table import Row

ATTENTION = (4, 8, 256, 64)  # batch, heads, length, width of a head
WIDTHS = (784, 512, 512, 10)


def linear_gelu_torch(torch):
    def build(inputs, outputs):
        class LinearGelu(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(inputs, outputs)

            def forward(self, x):
                return torch.nn.functional.gelu(self.linear(x))

        return LinearGelu()

    return build


def linear_gelu_array(library):
    def f(x, weights):
        y = x @ weights["linear.weight"].T + weights["linear.bias"]
        return 0.5 * y * (1 + library.erf(y * 0.7071067811865476))

    return f


def linear_gelu_jax(jnp):
    def f(x, weights):
        return jnp.nn.gelu(x @ weights["linear.weight"].T + weights["linear.bias"], approximate=False)

    return f


def linear_gelu_row(rows, inputs, outputs, dtype):
    forms = {
        "torch": lambda torch: linear_gelu_torch(torch)(inputs, outputs),
        "jax": linear_gelu_jax,
        "mlx": linear_gelu_array,
    }
    if dtype != "bfloat16":
        forms["numpy"] = linear_gelu_array
    return Row(
        "linear + bias + gelu",
        f"{rows}x{inputs}x{outputs}",
        dtype,
        "products",
        lambda rng: [rng.standard_normal((rows, inputs))],
        linear_gelu_array(Exact),
        forms,
        weights=lambda rng: {
            "linear.weight": rng.standard_normal((outputs, inputs)) / inputs**0.5,
            "linear.bias": rng.standard_normal(outputs),
        },
        products=2.0 * rows * inputs * outputs,
        is_headline=rows == 64,
    )


def attention_torch(torch):
    def f(query, key, value):
        scores = query @ key.transpose(-2, -1) * 0.125
        return torch.softmax(scores, dim=-1) @ value

    return f


def attention_array(library):
    def f(query, key, value):
        scores = query @ key.swapaxes(-2, -1) * 0.125
        e = library.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True) @ value

    return f


def attention_jax(jnp):
    def f(query, key, value):
        return jnp.nn.softmax(query @ key.swapaxes(-2, -1) * 0.125, axis=-1) @ value

    return f


def attention_mlx(mx):
    def f(query, key, value):
        return mx.softmax(query @ key.swapaxes(-2, -1) * 0.125, axis=-1) @ value

    return f


def perceptron_torch(torch):
    class Perceptron(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(*WIDTHS[0:2])
            self.second = torch.nn.Linear(*WIDTHS[1:3])
            self.third = torch.nn.Linear(*WIDTHS[2:4])

        def forward(self, x):
            x = torch.nn.functional.relu(self.first(x))
            x = torch.nn.functional.relu(self.second(x))
            return self.third(x)

    return Perceptron()


def perceptron_array(library):
    def f(x, weights):
        x = library.maximum(x @ weights["first.weight"].T + weights["first.bias"], 0)
        x = library.maximum(x @ weights["second.weight"].T + weights["second.bias"], 0)
        return x @ weights["third.weight"].T + weights["third.bias"]

    return f


def perceptron_weights(rng):
    weights = {}
    for name, inputs, outputs in zip(("first", "second", "third"), WIDTHS, WIDTHS[1:], strict=False):
        weights[f"{name}.weight"] = rng.standard_normal((outputs, inputs)) / inputs**0.5
        weights[f"{name}.bias"] = rng.standard_normal(outputs)
    return weights


def perceptron_row(batch):
    return Row(
        "MLP 784-512-512-10",
        f"batch {batch}",
        "float32",
        "models",
        lambda rng: [rng.standard_normal((batch, WIDTHS[0]))],
        perceptron_array(Exact),
        {
            "torch": perceptron_torch,
            "numpy": perceptron_array,
            "jax": perceptron_array,
            "mlx": perceptron_array,
        },
        weights=perceptron_weights,
        products=2.0 * batch * sum(a * b for a, b in zip(WIDTHS, WIDTHS[1:], strict=False)),
        is_headline=batch == 1,
    )


batch, heads, length, width = ATTENTION
ROWS = [
    *(
        linear_gelu_row(*shape, dtype)
        for dtype in ("float32", "bfloat16")
        for shape in ((1, 1024, 1024), (64, 1024, 4096), (512, 1024, 1024))
    ),
    Row(
        "attention from primitives",
        "x".join(map(str, ATTENTION)),
        "float32",
        "products",
        lambda rng: [rng.standard_normal(ATTENTION) for _ in range(3)],
        attention_array(Exact),
        {"torch": attention_torch, "numpy": attention_array, "jax": attention_jax, "mlx": attention_mlx},
        products=4.0 * batch * heads * length * length * width,
        is_headline=True,
    ),
    perceptron_row(1),
    perceptron_row(32),
]
